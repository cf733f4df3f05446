package ledger

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// attends is a sign of life, and what the store knows of the process then.
func (w *world) attends(me gate.Member) (all []gate.Member, mine gate.Member) {
	w.Helper()
	all, err := w.Store.Attend(w.Ctx, me, gate.VoidAfter)
	w.Must(err)
	seen, err := w.Store.RateMembers(w.Ctx)
	w.Must(err)
	if !slices.Equal(seen, all) {
		w.Errorf("who only looks sees %+v, not %+v", seen, all)
	}
	return all, all[slices.IndexFunc(all, func(m gate.Member) bool { return m.ID == me.ID })]
}

func (s suite) rateMembers(t *testing.T) {
	s.test(t, "who joins is seen, with a number above all others", func(w *world) {
		_, a := w.attends(gate.Member{ID: "a", Executes: true})
		_, b := w.attends(gate.Member{ID: "b"})
		if a.No != 1 || a.Seen != 1 || b.No != 2 || b.Seen != 2 || b.Executes {
			w.Errorf("joined as %+v and %+v", a, b)
		}
		if all, _ := w.attends(a); gate.StakeOf("b", all).Takes {
			w.Error("b takes a share before a has made room")
		}
		a.Seen = 2
		all, _ := w.attends(a)
		if got := gate.StakeOf("b", all); got != (gate.Stake{Rank: 1, N: 2, Takes: true}) {
			w.Errorf("b has %+v among %+v", got, all)
		}
	})
	s.test(t, "who is void joins again, and no number comes twice", func(w *world) {
		_, a := w.attends(gate.Member{ID: "a"})
		w.Clock.Advance(gate.VoidAfter)
		if all, same := w.attends(a); same.No != 1 || len(all) != 1 {
			w.Errorf("the last moment still counts: %+v", all)
		}
		w.Clock.Advance(gate.VoidAfter + time.Microsecond)
		all, b := w.attends(gate.Member{ID: "b"})
		if len(all) != 1 || b.No != 2 {
			w.Errorf("after the void time: %+v", all)
		}
		if _, a = w.attends(a); a.No != 3 {
			w.Errorf("who was void came back as %+v", a)
		}
		w.Must(w.Store.Depart(w.Ctx, "a"))
		w.Must(w.Store.Depart(w.Ctx, "a"))
		if all, c := w.attends(gate.Member{ID: "c"}); len(all) != 2 || c.No != 4 {
			w.Errorf("after a has left: %+v", all)
		}
		w.Must(w.Store.Farewell(w.Ctx, "c"))
		w.Must(w.Store.Bury(w.Ctx, "b"))
		if all, _ := w.attends(gate.Member{ID: "d"}); len(all) != 1 {
			w.Errorf("who said farewell or was buried is still there: %+v", all)
		}
	})
	s.test(t, "of many that join at once each sees all with a lower number", func(w *world) {
		handles := w.Handles(3)
		var all sync.WaitGroup
		for i := range 12 {
			all.Go(func() {
				me := gate.Member{ID: fmt.Sprint("p", i)}
				seen, err := handles[i%3].Attend(w.Ctx, me, gate.VoidAfter)
				if err != nil {
					w.Error(err)
					return
				}
				mine := seen[slices.IndexFunc(seen, func(m gate.Member) bool { return m.ID == me.ID })]
				if int64(len(seen)) != mine.No || mine.Seen != mine.No {
					w.Errorf("%+v sees %d", mine, len(seen))
				}
			})
		}
		all.Wait()
	})
	s.test(t, "instants of a key are given once", func(w *world) {
		handles := w.Handles(3)
		var all sync.WaitGroup
		var mu sync.Mutex
		var got []time.Duration
		for i := range 12 {
			all.Go(func() {
				in, err := handles[i%3].ReserveSends(w.Ctx, "key", gate.Reservation{PerSecond: 10, Burst: 2, Weights: []float64{1, 1}, Within: time.Hour})
				mu.Lock()
				defer mu.Unlock()
				if err != nil || len(in.After) != 2 || !in.Now.Equal(fixture.Noon) {
					w.Errorf("%+v, %v", in, err)
				}
				got = append(got, in.After...)
			})
		}
		all.Wait()
		slices.Sort(got)
		for i, after := range got {
			if want := max(time.Duration(i-1), 0) * 100 * time.Millisecond; after != want {
				w.Errorf("request %d leaves after %v, want %v", i+1, after, want)
			}
		}
	})
	s.test(t, "a stored pause is found, and nothing leaves before it ends", func(w *world) {
		if pause, now, err := w.Store.PauseOf(w.Ctx, "key"); pause != 0 || !now.Equal(fixture.Noon) || err != nil {
			w.Errorf("pause %v at %v, %v", pause, now, err)
		}
		w.Must(w.Store.NoteCooling(w.Ctx, "key", 2*time.Second))
		if pause, _, err := w.Store.PauseOf(w.Ctx, "key"); pause != 2*time.Second || err != nil {
			w.Errorf("pause %v, %v", pause, err)
		}
		in, err := w.Store.ReserveSends(w.Ctx, "key", gate.Reservation{PerSecond: 10, Burst: 5, Weights: []float64{1, 1}, Within: time.Hour})
		w.Must(err)
		if in.Pause != 2*time.Second || !slices.Equal(in.After, []time.Duration{2 * time.Second, 2100 * time.Millisecond}) {
			w.Errorf("%+v", in)
		}
		w.Clock.Advance(3 * time.Second)
		if pause, _, err := w.Store.PauseOf(w.Ctx, "key"); pause != 0 || err != nil {
			w.Errorf("a pause that is over: %v, %v", pause, err)
		}
	})
}
