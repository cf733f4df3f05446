package wording

import (
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/health"
	"github.com/patra-ingest/patra/internal/core/view"
)

func TestConditionsInWords(t *testing.T) {
	for want, c := range map[string]view.Condition{
		"FAILING: pages do not come at the first try (level 1 → 2, 8.0 %); automatic: fewer tasks at once, smaller slices": {
			Condition: health.Failing, Level: 2, Actions: []health.Action{health.LowerConcurrency, health.Reslice}, Detail: "FAILING level 1 → 2 (8.0 %)"},
		"THROTTLED: the upstream asks for fewer requests (level 0 → 1, 6.0 %); automatic: a lower rate": {
			Condition: health.Throttled, Level: 1, Actions: []health.Action{health.LowerRate, health.PausePlanning}, Detail: "THROTTLED level 0 → 1 (6.0 %)"},
		"UPSTREAM_DOWN: several runs in a row failed (NETWORK); automatic: nothing is asked, until 2025-03-01 00:00Z; patra retries and continues automatically when the upstream answers. `patra source test mine` shows what it answers now. If it stays down, check its status page and http.baseUrl": {
			Source: "mine", Condition: health.Down, Level: 1, Actions: []health.Action{health.OpenCircuit}, Detail: "NETWORK", Until: march(1)},
		"NEW_ONE": {Condition: "NEW_ONE"},
	} {
		if got := ConditionText(c); got != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
	}
	for _, rule := range health.Matrix() {
		for _, a := range rule.Actions {
			if a == health.SetAside || a == health.StopSource {
				continue // told as rejects and as a pause
			}
			c := view.Condition{Condition: rule.Condition, Level: 2, Actions: []health.Action{a}}
			if !strings.Contains(ConditionText(c), "automatic: ") {
				t.Errorf("%s of %s has no words", a, rule.Condition)
			}
		}
	}
}
