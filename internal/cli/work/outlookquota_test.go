package work

import (
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/daemon"
)

// The forecast says what a plan takes of the quotas, what holds it back now, and
// when it can be done.
func TestQuotaOutlook(t *testing.T) {
	at := func(text string) time.Time { out, _ := time.Parse(time.RFC3339, text); return out }
	d := &daemon.PlanDraft{Rolled: 5, Slices: make([]daemon.DraftSlice, 6), Quotas: []gate.Prospect{{
		Key: "crossref", Reserved: 40, CoolingUntil: at("2025-03-10T12:05:00Z"), Opens: at("2025-03-10T21:00:00Z"), Finish: at("2025-03-11T02:00:01Z"),
		Shares: []gate.Part{
			{Quota: "hour", Needed: 600, Limit: 250, Usable: 225, Left: 25, Reset: at("2025-03-10T13:00:00Z")},
			{Quota: "money", Needed: 0.6, Limit: 1, Usable: 1, Left: 0.25, Reset: at("2025-03-11T00:00:00Z")},
		},
	}}}
	got := strings.Join(quotaOutlook(d), "\n")
	for _, want := range []string{
		"quota     hour: 600 of 250 (240 %), 25 left until 2025-03-10T13:00Z", "quota     money: 0.60 of 1.00 (60 %), 0.25 left",
		"reserved  40 requests", "nothing leaves before 2025-03-10T12:05Z", "by rate.hours nothing leaves before 2025-03-10T21:00Z",
		"rolled    5 of 6 slices", "finish    not before 2025-03-11T02:00Z",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	d.Quotas = append(d.Quotas, gate.Prospect{Key: "details", Shares: []gate.Part{{Quota: "day", Limit: 1}}})
	if got := strings.Join(quotaOutlook(d), "\n"); !strings.Contains(got, "day (details):") || !strings.Contains(got, "finish    not within 31 days") {
		t.Error(got)
	}
	plain := &daemon.PlanDraft{Quotas: []gate.Prospect{{Key: "crossref", Finish: at("2025-03-11T02:00:01Z")}}}
	if lines := quotaOutlook(plain); len(lines) != 0 {
		t.Errorf("where only the rate decides, the duration says it all: %q", lines)
	}
}
