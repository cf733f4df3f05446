package storetest

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
)

// acquire asks for a lease.
func (w *world) acquire(owner string) (epoch int64, held bool) {
	w.Helper()
	epoch, held, err := w.store.AcquireLease(w.ctx, "planner", owner, lease)
	w.must(err)
	return epoch, held
}

// holds asks for a lease that must be had with an epoch; 0 is that it must not.
func (w *world) holds(owner string, want int64) {
	w.Helper()
	if epoch, held := w.acquire(owner); held != (want > 0) || held && epoch != want {
		w.Errorf("%s: held %v with epoch %d, want %d", owner, held, epoch, want)
	}
}

func (s suite) namedLeases(t *testing.T) {
	s.test(t, "one owner has it until it runs out", func(w *world) {
		w.holds("a", 1)
		w.holds("b", 0)
		w.clock.advance(lease) // the last moment still counts
		w.holds("b", 0)
		w.clock.advance(time.Microsecond)
		w.holds("b", 2)
		w.holds("a", 0)
	})
	s.test(t, "who has it asks again and keeps its epoch", func(w *world) {
		w.holds("a", 1)
		w.clock.advance(lease / 2)
		w.holds("a", 1)
		w.clock.advance(lease)
		w.holds("b", 0)
		w.clock.advance(lease) // long gone, but nobody took it
		w.holds("a", 1)
	})
	s.test(t, "renewing keeps it", func(w *world) {
		w.holds("a", 1)
		for range 3 {
			w.clock.advance(lease - time.Second)
			w.must(w.store.RenewLease(w.ctx, "planner", "a", 1, lease))
			w.must(w.store.RenewLease(w.ctx, "planner", "a", 1, lease)) // at the same instant
		}
		w.holds("b", 0)
	})
	s.test(t, "a lease that was taken over cannot be renewed or released", func(w *world) {
		w.holds("a", 1)
		w.clock.advance(2 * lease)
		w.holds("b", 2)
		w.unchanged("what the old owner does", func() {
			w.refuses(w.store.RenewLease(w.ctx, "planner", "a", 1, lease), fault.ErrStale, "renewal")
			w.refuses(w.store.RenewLease(w.ctx, "planner", "b", 1, lease), fault.ErrStale, "renewal of an old epoch")
			w.refuses(w.store.RenewLease(w.ctx, "other", "b", 2, lease), fault.ErrStale, "renewal of another name")
			w.must(w.store.ReleaseLease(w.ctx, "planner", "a", 1))
			w.must(w.store.ReleaseLease(w.ctx, "planner", "b", 1))
			w.must(w.store.ReleaseLease(w.ctx, "other", "b", 2))
		})
	})
	s.test(t, "a released lease is free at once, with a new epoch", func(w *world) {
		w.holds("a", 1)
		w.must(w.store.ReleaseLease(w.ctx, "planner", "a", 1))
		w.refuses(w.store.RenewLease(w.ctx, "planner", "a", 1, lease), fault.ErrStale, "renewal after release")
		w.holds("b", 2)
		w.must(w.store.ReleaseLease(w.ctx, "planner", "b", 2))
		w.holds("b", 3)
	})
	s.test(t, "the lease of a buried process is free at once", func(w *world) {
		w.holds("a", 1)
		w.must(w.store.Bury(w.ctx, "b"))
		w.holds("b", 0)
		w.must(w.store.Bury(w.ctx, "a"))
		w.holds("b", 2)
		w.must(w.store.Bury(w.ctx, "a"))
		w.refuses(w.store.RenewLease(w.ctx, "planner", "a", 1, lease), fault.ErrStale, "renewal of a buried process")
		w.holds("c", 0)
	})
	s.test(t, "who was buried alive keeps its lease unless another took it", func(w *world) {
		w.holds("a", 1)
		w.must(w.store.Bury(w.ctx, "a"))
		w.must(w.store.RenewLease(w.ctx, "planner", "a", 1, lease))
		w.holds("b", 0)
	})
	s.test(t, "owners are listed until they give their leases back", func(w *world) {
		lists := func(want ...string) {
			w.Helper()
			if got, err := w.store.LeaseOwners(w.ctx); err != nil || !slices.Equal(got, want) {
				w.Errorf("owners %v, want %v (%v)", got, want, err)
			}
		}
		lists()
		w.holds("b", 1)
		for name, owner := range map[string]string{"one": "b", "two": "a"} {
			_, _, err := w.store.AcquireLease(w.ctx, name, owner, lease)
			w.must(err)
		}
		w.clock.advance(2 * lease)
		lists("a", "b")
		w.must(w.store.ReleaseLease(w.ctx, "two", "a", 1))
		lists("b")
	})
	s.test(t, "names have nothing to do with one another", func(w *world) {
		w.holds("a", 1)
		if _, held, err := w.store.AcquireLease(w.ctx, "Planner", "b", lease); err != nil || !held {
			w.Errorf("another spelling is another lease: held %v, %v", held, err)
		}
		w.holds("a", 1)
	})
	s.test(t, "of many that ask at once one gets it, first and at every takeover", func(w *world) {
		handles := w.handles(3)
		for round := range int64(4) {
			var winners atomic.Int64
			w.together(8, func(i int) error {
				epoch, held, err := handles[i%3].AcquireLease(w.ctx, "planner", fmt.Sprintf("%d-%d", round, i), lease)
				if held {
					winners.Add(1)
					if epoch != round+1 {
						return fmt.Errorf("round %d: epoch %d", round, epoch)
					}
				}
				return err
			})
			if n := winners.Load(); n != 1 {
				w.Errorf("round %d: %d hold it", round, n)
			}
			w.clock.advance(lease + time.Microsecond)
		}
	})
}

func lossyNamedLease() []lossy {
	held := func(w *world) { w.holds("me", 1); w.clock.advance(time.Second) }
	acquire := func(w *world) func() (answer, error) {
		return func() (answer, error) {
			epoch, held, err := w.store.AcquireLease(w.ctx, "planner", "me", lease)
			return []any{epoch, held}, err
		}
	}
	return []lossy{
		{"acquire named lease", "acquire named lease", acquire},
		{"acquire named lease", "take over named lease", func(w *world) func() (answer, error) {
			w.holds("other", 1)
			w.clock.advance(2 * lease)
			return acquire(w)
		}},
		{"renew named lease", "renew named lease", func(w *world) func() (answer, error) {
			held(w)
			return func() (answer, error) { return nil, w.store.RenewLease(w.ctx, "planner", "me", 1, lease) }
		}},
		{"release named lease", "release named lease", func(w *world) func() (answer, error) {
			held(w)
			return func() (answer, error) { return nil, w.store.ReleaseLease(w.ctx, "planner", "me", 1) }
		}},
	}
}
