package wording

import (
	"fmt"
	"strings"

	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/health"
	"github.com/patra-ingest/patra/internal/core/view"
)

// ConditionText says what is wrong with an endpoint, what the program does about it
// by itself, and where to look on: at night nobody knows a code by heart.
func ConditionText(c view.Condition) string {
	text := string(c.Condition)
	if what := ConditionWords(c.Condition); what != "" {
		text += ": " + what
	}
	if detail := strings.TrimPrefix(c.Detail, string(c.Condition)+" "); detail != "" {
		text += " (" + strings.NewReplacer(" (", ", ", ")", "").Replace(detail) + ")"
	}
	if acts := actionWords(c); acts != "" {
		text += "; automatic: " + acts
	}
	if !c.Until.IsZero() {
		text += ", until " + MinuteText(c.Until)
	}
	if c.Waits == gate.Quota {
		text += "; sooner: " + QuotaWayOut(c.RateKey)
	}
	if c.Condition == health.Down {
		text += fmt.Sprintf("; patra retries and continues automatically when the upstream answers. `patra source test %s` shows what it answers now. If it stays down, check its status page and http.baseUrl", c.Source)
	}
	return text
}

func ConditionWords(c health.Condition) string {
	switch c {
	case health.Throttled:
		return "the upstream asks for fewer requests"
	case health.Held:
		return "a limit of our own lets nothing leave"
	case health.Slow:
		return "pages take long"
	case health.Failing:
		return "pages do not come at the first try"
	case health.RunsFailing:
		return "runs fail for reasons that pass"
	case health.Down:
		return "several runs in a row failed"
	case health.HeavyPages:
		return "pages are large"
	case health.Late:
		return "items appear behind the watermark"
	case health.StoreBusy:
		return "writes wait for the database"
	case health.Overstocked:
		return "enough tasks wait"
	case health.DeadTasks:
		return "most tasks are given up"
	}
	return ""
}

// actionWords are the steps that are in force at the level of a condition.
func actionWords(c view.Condition) string {
	rule, known := health.RuleOf(c.Condition)
	if !known {
		return ""
	}
	words := map[health.Action]string{
		health.LowerRate: "a lower rate", health.LowerConcurrency: "fewer tasks at once", health.ShrinkPage: "smaller pages", health.RaiseLag: "a longer safety lag",
		health.Reslice: "smaller slices", health.OpenCircuit: "nothing is asked", health.PausePlanning: "no further tasks are planned",
	}
	var out []string
	for _, a := range c.Actions {
		if word := words[a]; word != "" && rule.Does(a, max(c.Level, 1)) {
			out = append(out, word)
		}
	}
	return strings.Join(out, ", ")
}
