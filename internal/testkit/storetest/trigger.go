package storetest

import (
	"strings"
	"testing"
	"time"
)

const nightly = "tiny/works/HARVEST"

// fired checks the newest tick of the nightly schedule.
func (w *world) fired(want time.Time) {
	w.Helper()
	last, err := w.store.FollowSchedule(w.ctx, nightly)
	w.must(err)
	if !last.Equal(want) {
		w.Errorf("last tick %v, want %v", last, want)
	}
}

func (s suite) schedules(t *testing.T) {
	s.test(t, "a new schedule counts from when it is first seen", func(w *world) {
		w.fired(noon)
		w.clock.advance(day)
		w.unchanged("looking again", func() { w.fired(noon) })
	})
	s.test(t, "the newest tick stays", func(w *world) {
		w.fired(noon)
		w.must(w.store.TickFired(w.ctx, nightly, noon.Add(2*day), 1, 7))
		w.fired(noon.Add(2 * day))
		w.clock.advance(day)
		w.unchanged("older ticks", func() {
			for _, tick := range []time.Time{noon, noon.Add(day), noon.Add(2 * day)} {
				w.must(w.store.TickFired(w.ctx, nightly, tick, 9, 8))
			}
		})
		w.must(w.store.TickFired(w.ctx, nightly, noon.Add(3*day), 0, 8))
		w.fired(noon.Add(3 * day))
		if got := w.number("SELECT missed * 100 + schedule_instance_id FROM ing_schedule_state WHERE schedule_name = ?", nightly); got != 8 {
			w.Errorf("missed and trigger %d, want those of the last tick", got)
		}
		if got := w.number("SELECT followed_since FROM ing_schedule_state"); got != noon.UnixMicro() {
			w.Errorf("followed since %d", got)
		}
	})
	s.test(t, "a tick of a schedule nobody follows changes nothing", func(w *world) {
		w.unchanged("unknown schedule", func() { w.must(w.store.TickFired(w.ctx, nightly, noon, 0, 1)) })
	})
	s.test(t, "schedules have ticks of their own", func(w *world) {
		w.fired(noon)
		w.must(w.store.TickFired(w.ctx, nightly, noon.Add(day), 0, 1))
		other, err := w.store.FollowSchedule(w.ctx, strings.ToLower(nightly))
		w.must(err)
		if !other.Equal(noon) {
			w.Errorf("another schedule begins at %v", other)
		}
	})
	s.test(t, "the longest name fits", func(w *world) {
		name := strings.Repeat("s", 64) + "/" + strings.Repeat("e", 64) + "/BACKFILL"
		_, err := w.store.FollowSchedule(w.ctx, name)
		w.must(err)
		w.must(w.store.TickFired(w.ctx, name, noon.Add(day), 0, 1))
		last, err := w.store.FollowSchedule(w.ctx, name)
		w.must(err)
		if !last.Equal(noon.Add(day)) {
			w.Errorf("last %v", last)
		}
	})
	s.test(t, "planners that see it at once agree", func(w *world) {
		handles := w.handles(3)
		w.together(6, func(i int) error {
			if _, err := handles[i%3].FollowSchedule(w.ctx, nightly); err != nil {
				return err
			}
			return handles[i%3].TickFired(w.ctx, nightly, noon.Add(time.Duration(i)*time.Hour), i, int64(i+1))
		})
		w.fired(noon.Add(5 * time.Hour))
	})
}

func lossySchedule() []lossy {
	return []lossy{
		{"follow schedule", "follow schedule", func(w *world) func() (answer, error) {
			return func() (answer, error) { return w.store.FollowSchedule(w.ctx, nightly) }
		}},
		{"note fired tick", "note fired tick", func(w *world) func() (answer, error) {
			w.fired(noon)
			w.clock.advance(time.Second)
			return func() (answer, error) { return nil, w.store.TickFired(w.ctx, nightly, noon.Add(day), 2, 1) }
		}},
	}
}
