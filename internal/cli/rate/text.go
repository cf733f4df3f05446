package rate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

func rateColumns() term.Columns[view.RateKey] {
	return term.NewColumns([]string{"key", "group of", "allowed", "now", "quota left", "used by", "state"}, func(k view.RateKey) []any {
		return []any{
			k.Key, rateGroup(k), limitsText(k.Limits), rateNow(k), foldAt(quotaLeft(k), ", "), len(k.Processes),
			foldAt(strings.Join(rateState(k), "\n"), ": "),
		}
	})
}

// foldAt breaks a text of a table at every mark.
func foldAt(text, mark string) string {
	return strings.ReplaceAll(text, mark, strings.TrimSpace(mark)+"\n")
}

// rateGroup names the sources of a key that is not called like its only one.
func rateGroup(k view.RateKey) string {
	sources := rateSources(k)
	if len(sources) == 1 && sources[0] == k.Key {
		return "-"
	}
	return wording.OrDash(wording.Shorten(strings.Join(sources, ", "), 20))
}

func rateSources(k view.RateKey) (out []string) {
	for _, u := range k.Uses {
		if !slices.Contains(out, u.Source) {
			out = append(out, u.Source)
		}
	}
	return out
}

// limitsText is the rate of a key in a few words.
func limitsText(l *gate.Limits) string {
	if l == nil {
		return "not declared any more"
	}
	return fmt.Sprintf("%s/s, burst %d, %d at once", numberText(l.PerSecond), l.Burst, l.Concurrency)
}

func rateNow(k view.RateKey) string {
	if k.PerSecond == nil {
		return "-"
	}
	return numberText(*k.PerSecond) + "/s"
}

func quotaLeft(k view.RateKey) string {
	var out []string
	for _, q := range k.Quotas {
		out = append(out, q.Name+" "+numberText(q.Left))
	}
	return wording.OrDash(strings.Join(out, ", "))
}

// rateState lists what keeps requests of a key from leaving; "open" if nothing.
func rateState(k view.RateKey) (out []string) {
	if !k.CoolingUntil.IsZero() {
		out = append(out, fmt.Sprintf("%s until %s", gate.Cooling, wording.SecondText(k.CoolingUntil)))
	}
	for _, u := range k.Uses {
		if b := u.Breaker; b != nil && b.State != fault.BreakerClosed {
			line := fmt.Sprintf("%s of %s/%s: %s", gate.Breaker, u.Source, u.Endpoint, breakerText(b))
			if !slices.Contains(out, line) {
				out = append(out, line)
			}
		}
	}
	for _, q := range k.Quotas {
		if q.Left < 1 && q.Name != "money" || q.Left <= 0 {
			out = append(out, fmt.Sprintf("%s of the %s until %s", gate.Quota, q.Name, wording.SecondText(q.Reset)))
		}
	}
	for _, h := range k.Holds {
		if line := holdText(k, h); line != "" && !slices.Contains(out, line) {
			out = append(out, line)
		}
	}
	if opens := k.Uses; len(opens) > 0 && !slices.ContainsFunc(opens, func(u view.RateUse) bool { return u.Opens.IsZero() }) {
		first := slices.MinFunc(opens, func(a, b view.RateUse) int { return a.Opens.Compare(b.Opens) })
		out = append(out, fmt.Sprintf("%s until %s", gate.ClosedHours, wording.SecondText(first.Opens)))
	}
	if len(out) == 0 {
		return []string{"open"}
	}
	return out
}

func breakerText(b *view.RateBreaker) string {
	if b == nil {
		return "closed"
	}
	text := strings.ReplaceAll(strings.ToLower(string(b.State)), "_", " ")
	switch b.State {
	case fault.BreakerOpen:
		text += " until " + wording.SecondText(b.Until)
	case fault.BreakerHalfOpen:
		text += ", one run looks"
	}
	if b.Failures > 0 {
		text += fmt.Sprintf(": %d failed in a row: last %s", b.Failures, wording.OrDash(b.LastError))
	}
	return text
}

func rateFacts(k view.RateKey) []term.Fact {
	facts := []term.Fact{{"key", k.Key}, {"state", term.Wrap(strings.Join(rateState(k), "\n"))}, {"allowed", limitsText(k.Limits)}, {"now", term.Wrap(rateReason(k))}}
	if l := k.Limits; l != nil {
		facts = append(facts,
			term.Fact{"under complaints", fmt.Sprintf("divided by %s, not below %s/s, back by %s/s every %s", numberText(l.Demote), numberText(l.MinPerSecond), numberText(l.Recover), l.RecoverEvery)},
			term.Fact{"announced limits", map[bool]string{true: "obeyed", false: "not obeyed (rate.obeyHeaders)"}[*l.ObeyHeaders]},
		)
		if l.Warmup > 0 {
			facts = append(facts, term.Fact{"warm-up", l.Warmup.String()})
		}
	}
	for _, q := range k.Quotas {
		name := "quota of the " + q.Name
		if q.Name == "money" {
			name = "money of the day"
		}
		facts = append(facts, term.Fact{name, term.Wrap(quotaText(q))})
	}
	return append(facts, term.Fact{"shared by", processesText(k)})
}

// rateReason is the rate of this moment and what made it so.
func rateReason(k view.RateKey) string {
	if k.PerSecond == nil {
		return "not known: no process at work has used it"
	}
	text := numberText(*k.PerSecond) + "/s"
	var why []string
	for _, r := range k.Processes {
		s := r.State
		if s.LoweredBy != "" {
			why = append(why, fmt.Sprintf("lowered %d times, last by %s at %s", s.Demotions, s.LoweredBy, wording.SecondText(s.LoweredAt)))
		} else if s.Shared && s.Demotions > 0 && s.PerSecond < s.Declared {
			why = append(why, fmt.Sprintf("lowered %d times", s.Demotions))
		}
		if k.Limits != nil && s.Declared != k.Limits.PerSecond {
			why = append(why, fmt.Sprintf("what runs now declares %s/s", numberText(s.Declared)))
		}
		if a := s.Announced.PerSecond; a > 0 && a < s.Declared && s.PerSecond <= a {
			why = append(why, fmt.Sprintf("the upstream announces %s/s", numberText(s.Announced.PerSecond)))
		}
	}
	slices.Sort(why)
	if why = slices.Compact(why); len(why) > 0 {
		text += ": " + strings.Join(why, "; ")
	}
	return text
}

func quotaText(q view.RateQuota) string {
	text := fmt.Sprintf("%s used of %s, %s left until %s", numberText(q.Used), numberText(q.Usable), numberText(q.Left), wording.SecondText(q.Reset))
	if q.Usable < q.Limit {
		text += fmt.Sprintf(" (%s declared, the rest is the margin)", numberText(q.Limit))
	}
	if q.Reserved > 0 {
		text += fmt.Sprintf("; open tasks are expected to take %s", numberText(q.Reserved))
	}
	return text
}

func processesText(k view.RateKey) string {
	if k.Living == 0 {
		return "no process at work"
	}
	return fmt.Sprintf("%d at work, %d of them have used it", k.Living, len(k.Processes))
}

func rateUseColumns() term.Columns[view.RateUse] {
	return term.NewColumns([]string{"source/endpoint", "operations", "allowed", "costs", "hours", "breaker"}, func(u view.RateUse) []any {
		cost := numberText(u.Limits.Cost)
		if u.Limits.PricePerRequest > 0 {
			cost += ", price " + numberText(u.Limits.PricePerRequest)
		}
		hours := wording.OrDash(u.Limits.Hours)
		if !u.Opens.IsZero() {
			hours += "\nopen again " + wording.SecondText(u.Opens)
		}
		return []any{u.Source + "/" + u.Endpoint, strings.Join(u.Operations, "\n"), foldAt(limitsText(&u.Limits), ", "), foldAt(cost, ", "), hours, foldAt(breakerText(u.Breaker), ": ")}
	})
}

func rateReportColumns() term.Columns[view.RateReport] {
	return term.NewColumns([]string{"process", "rate", "under way", "waiting", "burst left", "gate", "reported"}, func(r view.RateReport) []any {
		s := r.State
		gate := "its own part"
		if s.Shared {
			gate = "shared"
		}
		return []any{
			fmt.Sprintf("%s %d", daemon.HostName(r.Host), r.PID), numberText(s.PerSecond) + "/s", fmt.Sprintf("%d of %d", s.InFlight, s.Concurrency), s.Waiting,
			numberText(s.BurstLeft), gate, r.At,
		}
	})
}

// numberText writes a number without digits nobody wants.
func numberText(n float64) string { return strconv.FormatFloat(roundTo3(n), 'f', -1, 64) }

func roundTo3(n float64) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(n, 'f', 3, 64), 64)
	if err != nil {
		return n
	}
	return rounded
}
