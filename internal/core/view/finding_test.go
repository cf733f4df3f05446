package view

import (
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/health"
	"github.com/patra-ingest/patra/internal/core/threshold"
	"github.com/patra-ingest/patra/internal/core/window"
)

// A condition heals until it lasts; one that stopped the source never does.
func TestConditionsHealUntilTheyLast(t *testing.T) {
	now := time.Date(2025, 3, 9, 3, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		condition Condition
		heals     bool
		next      string
	}{
		"slow for a minute":         {Condition{Source: "s", Condition: health.Slow, Level: 1, Since: now.Add(-time.Minute)}, true, "patra run list --source s"},
		"slow for an hour":          {Condition{Source: "s", Condition: health.Slow, Level: 1, Since: now.Add(-threshold.Default().ConditionLasts)}, false, "patra run list --source s"},
		"told to wait":              {Condition{Condition: health.Throttled, Level: 1, Until: now.Add(5 * time.Hour)}, true, "patra rate list"},
		"a quota until midnight":    {Condition{Condition: health.Held, Waits: gate.Quota, RateKey: "k", Until: now.Add(9 * time.Hour)}, true, "patra rate release k --reason …"},
		"a circuit that opened":     {Condition{Source: "s", Condition: health.Down, Level: 1, Until: now.Add(time.Minute)}, true, "patra source test s"},
		"a circuit that stays open": {Condition{Source: "s", Condition: health.Down, Level: threshold.Default().CircuitOpens, Until: now.Add(time.Minute)}, false, "patra source test s"},
		"a circuit left behind":     {Condition{Source: "s", Condition: health.Down, Level: 1, Until: now.Add(-threshold.Default().ConditionLasts)}, false, "patra source test s"},
		"late items":                {Condition{Source: "s", Condition: health.Late, Level: 1, Since: now.Add(-48 * time.Hour)}, true, "patra plan list --source s"},
		"stopped":                   {Condition{Source: "s", Condition: health.Fatal, Level: 1, Since: now}, false, "patra run list --source s"},
		"unknown":                   {Condition{Source: "s", Condition: "NEW", Since: now}, false, "patra run list --source s"},
	} {
		f := Finding{Code: FoundCondition, Condition: &c.condition}.Complete(threshold.Default(), now)
		if f.Heals != c.heals || f.Next != c.next || (f.Severity == Notice) != c.heals {
			t.Errorf("%s: heals %t, next %q", name, f.Heals, f.Next)
		}
	}
}

// Each reason of a gap has the command that reads it, or accepts what cannot be read.
func TestGapsNameTheirCommand(t *testing.T) {
	day := time.Date(2025, 3, 9, 0, 0, 0, 0, time.UTC)
	for reason, want := range map[GapReason]string{
		GapCapped:        "patra coverage waive s --from 2025-03-09 --to 2025-03-09T12:00:00Z --reason …",
		GapPaused:        "patra source resume s --reason …",
		GapFailed:        "patra harvest s --endpoint e --retry",
		GapLeft:          "patra coverage fill s --reason …",
		GapOtherQuestion: "patra coverage fill s --reason …",
		GapNeverAsked:    "patra coverage fill s --reason …",
		GapOwed:          "patra harvest s --endpoint e",
		GapReopened:      "patra harvest s --endpoint e",
	} {
		f := Finding{Code: FoundGap, Subject: Subject{Source: "s", Endpoint: "e"}, Gap: &Gap{Reason: reason, Window: window.Window{From: day, To: day.Add(12 * time.Hour)}}}.Complete(threshold.Default(), day)
		if f.Next != want || f.Heals {
			t.Errorf("%s: %q, heals %t", reason, f.Next, f.Heals)
		}
	}
}
