package transport

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
)

// slowGate lets every request wait for a reason.
type slowGate struct {
	turnstile
	told gate.Passage
	wait time.Duration
}

func (s *slowGate) Acquire(ctx context.Context, a gate.Ask) (Permit, error) {
	<-time.After(s.wait) // of the bubble
	*a.Told = s.told
	return s.turnstile.Acquire(ctx, a)
}

// §9.8, §14.3: what a request waited for at the gate stands with its reason, and the rate that
// was in force.
func TestCallTellsWhatItWaitedFor(t *testing.T) {
	const wait = 3 * time.Second
	for name, c := range map[string]struct {
		told gate.Passage
		want gate.Waits
	}{
		"rate":        {gate.Passage{Why: gate.OverDeadline, Rate: 2.5}, gate.Waits{Rate: wait}},
		"concurrency": {gate.Passage{Places: true, Rate: 2.5}, gate.Waits{Concurrency: wait}},
		"quota":       {gate.Passage{Why: gate.Quota, Rate: 2.5}, gate.Waits{Quota: wait}},
		"hours":       {gate.Passage{Why: gate.ClosedHours, Rate: 2.5}, gate.Waits{Hours: wait}},
		"retry after": {gate.Passage{Why: gate.Cooling, Rate: 2.5}, gate.Waits{RetryAfter: wait}},
		"not told":    {gate.Passage{Rate: 2.5}, gate.Waits{Rate: wait}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in := call()
				if _, err := Stack(&upstream{script: []reply{{status: 200}}}, &slowGate{told: c.told, wait: wait}).Do(t.Context(), in); err != nil {
					t.Fatal(err)
				}
				if in.Notes.Waits != c.want || in.Notes.Waited != wait || in.Notes.Rate != 2.5 {
					t.Errorf("%+v, %s in all, %v a second", in.Notes.Waits, in.Notes.Waited, in.Notes.Rate)
				}
			})
		})
	}
}
