package ledger

import (
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

const nightly = "tiny/works/HARVEST"

// fired checks the newest tick of the nightly schedule.
func (w *world) fired(want time.Time) {
	w.Helper()
	last, err := w.Store.FollowSchedule(w.Ctx, nightly)
	w.Must(err)
	if !last.Equal(want) {
		w.Errorf("last tick %v, want %v", last, want)
	}
}

func (s suite) schedules(t *testing.T) {
	s.test(t, "a new schedule counts from when it is first seen", func(w *world) {
		w.fired(fixture.Noon)
		w.Clock.Advance(fixture.Day)
		w.Unchanged("looking again", func() { w.fired(fixture.Noon) })
	})
	s.test(t, "the newest tick stays", func(w *world) {
		w.fired(fixture.Noon)
		w.Must(w.Store.TickFired(w.Ctx, nightly, fixture.Noon.Add(2*fixture.Day), 1, 7))
		w.fired(fixture.Noon.Add(2 * fixture.Day))
		w.Clock.Advance(fixture.Day)
		w.Unchanged("older ticks", func() {
			for _, tick := range []time.Time{fixture.Noon, fixture.Noon.Add(fixture.Day), fixture.Noon.Add(2 * fixture.Day)} {
				w.Must(w.Store.TickFired(w.Ctx, nightly, tick, 9, 8))
			}
		})
		w.Must(w.Store.TickFired(w.Ctx, nightly, fixture.Noon.Add(3*fixture.Day), 0, 8))
		w.fired(fixture.Noon.Add(3 * fixture.Day))
		if got := w.Number("SELECT missed * 100 + schedule_instance_id FROM ing_schedule_state WHERE schedule_name = ?", nightly); got != 8 {
			w.Errorf("missed and trigger %d, want those of the last tick", got)
		}
		if got := w.Number("SELECT followed_since FROM ing_schedule_state"); got != fixture.Noon.UnixMicro() {
			w.Errorf("followed since %d", got)
		}
	})
	s.test(t, "a tick of a schedule nobody follows changes nothing", func(w *world) {
		w.Unchanged("unknown schedule", func() { w.Must(w.Store.TickFired(w.Ctx, nightly, fixture.Noon, 0, 1)) })
	})
	s.test(t, "schedules have ticks of their own", func(w *world) {
		w.fired(fixture.Noon)
		w.Must(w.Store.TickFired(w.Ctx, nightly, fixture.Noon.Add(fixture.Day), 0, 1))
		other, err := w.Store.FollowSchedule(w.Ctx, strings.ToLower(nightly))
		w.Must(err)
		if !other.Equal(fixture.Noon) {
			w.Errorf("another schedule begins at %v", other)
		}
	})
	s.test(t, "the longest name fits", func(w *world) {
		name := strings.Repeat("s", 64) + "/" + strings.Repeat("e", 64) + "/BACKFILL"
		_, err := w.Store.FollowSchedule(w.Ctx, name)
		w.Must(err)
		w.Must(w.Store.TickFired(w.Ctx, name, fixture.Noon.Add(fixture.Day), 0, 1))
		last, err := w.Store.FollowSchedule(w.Ctx, name)
		w.Must(err)
		if !last.Equal(fixture.Noon.Add(fixture.Day)) {
			w.Errorf("last %v", last)
		}
	})
	s.test(t, "planners that see it at once agree", func(w *world) {
		handles := w.Handles(3)
		w.Together(6, func(i int) error {
			if _, err := handles[i%3].FollowSchedule(w.Ctx, nightly); err != nil {
				return err
			}
			return handles[i%3].TickFired(w.Ctx, nightly, fixture.Noon.Add(time.Duration(i)*time.Hour), i, int64(i+1))
		})
		w.fired(fixture.Noon.Add(5 * time.Hour))
	})
}

func lossySchedule() []lossy {
	return []lossy{
		{"follow schedule", "follow schedule", func(w *world) func() (answer, error) {
			return func() (answer, error) { return w.Store.FollowSchedule(w.Ctx, nightly) }
		}},
		{"note fired tick", "note fired tick", func(w *world) func() (answer, error) {
			w.fired(fixture.Noon)
			w.Clock.Advance(time.Second)
			return func() (answer, error) {
				return nil, w.Store.TickFired(w.Ctx, nightly, fixture.Noon.Add(fixture.Day), 2, 1)
			}
		}},
	}
}
