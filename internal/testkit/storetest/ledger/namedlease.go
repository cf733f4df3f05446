package ledger

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// acquire asks for a lease.
func (w *world) acquire(owner string) (epoch int64, held bool) {
	w.Helper()
	epoch, held, err := w.Store.AcquireLease(w.Ctx, "planner", owner, fixture.Lease)
	w.Must(err)
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
		w.Clock.Advance(fixture.Lease) // the last moment still counts
		w.holds("b", 0)
		w.Clock.Advance(time.Microsecond)
		w.holds("b", 2)
		w.holds("a", 0)
	})
	s.test(t, "who has it asks again and keeps its epoch", func(w *world) {
		w.holds("a", 1)
		w.Clock.Advance(fixture.Lease / 2)
		w.holds("a", 1)
		w.Clock.Advance(fixture.Lease)
		w.holds("b", 0)
		w.Clock.Advance(fixture.Lease) // long gone, but nobody took it
		w.holds("a", 1)
	})
	s.test(t, "renewing keeps it", func(w *world) {
		w.holds("a", 1)
		for range 3 {
			w.Clock.Advance(fixture.Lease - time.Second)
			w.Must(w.Store.RenewLease(w.Ctx, "planner", "a", 1, fixture.Lease))
			w.Must(w.Store.RenewLease(w.Ctx, "planner", "a", 1, fixture.Lease)) // at the same instant
		}
		w.holds("b", 0)
	})
	s.test(t, "a lease that was taken over cannot be renewed or released", func(w *world) {
		w.holds("a", 1)
		w.Clock.Advance(2 * fixture.Lease)
		w.holds("b", 2)
		w.Unchanged("what the old owner does", func() {
			w.Refuses(w.Store.RenewLease(w.Ctx, "planner", "a", 1, fixture.Lease), fault.ErrStale, "renewal")
			w.Refuses(w.Store.RenewLease(w.Ctx, "planner", "b", 1, fixture.Lease), fault.ErrStale, "renewal of an old epoch")
			w.Refuses(w.Store.RenewLease(w.Ctx, "other", "b", 2, fixture.Lease), fault.ErrStale, "renewal of another name")
			w.Must(w.Store.ReleaseLease(w.Ctx, "planner", "a", 1))
			w.Must(w.Store.ReleaseLease(w.Ctx, "planner", "b", 1))
			w.Must(w.Store.ReleaseLease(w.Ctx, "other", "b", 2))
		})
	})
	s.test(t, "a released lease is free at once, with a new epoch", func(w *world) {
		w.holds("a", 1)
		w.Must(w.Store.ReleaseLease(w.Ctx, "planner", "a", 1))
		w.Refuses(w.Store.RenewLease(w.Ctx, "planner", "a", 1, fixture.Lease), fault.ErrStale, "renewal after release")
		w.holds("b", 2)
		w.Must(w.Store.ReleaseLease(w.Ctx, "planner", "b", 2))
		w.holds("b", 3)
	})
	s.test(t, "the lease of a buried process is free at once", func(w *world) {
		w.holds("a", 1)
		w.Must(w.Store.Bury(w.Ctx, "b"))
		w.holds("b", 0)
		w.Must(w.Store.Bury(w.Ctx, "a"))
		w.holds("b", 2)
		w.Must(w.Store.Bury(w.Ctx, "a"))
		w.Refuses(w.Store.RenewLease(w.Ctx, "planner", "a", 1, fixture.Lease), fault.ErrStale, "renewal of a buried process")
		w.holds("c", 0)
	})
	s.test(t, "who was buried alive keeps its lease unless another took it", func(w *world) {
		w.holds("a", 1)
		w.Must(w.Store.Bury(w.Ctx, "a"))
		w.Must(w.Store.RenewLease(w.Ctx, "planner", "a", 1, fixture.Lease))
		w.holds("b", 0)
	})
	s.test(t, "owners are listed until they give their leases back", func(w *world) {
		lists := func(want ...string) {
			w.Helper()
			if got, err := w.Store.LeaseOwners(w.Ctx); err != nil || !slices.Equal(got, want) {
				w.Errorf("owners %v, want %v (%v)", got, want, err)
			}
		}
		lists()
		w.holds("b", 1)
		for name, owner := range map[string]string{"one": "b", "two": "a"} {
			_, _, err := w.Store.AcquireLease(w.Ctx, name, owner, fixture.Lease)
			w.Must(err)
		}
		w.Clock.Advance(2 * fixture.Lease)
		lists("a", "b")
		w.Must(w.Store.ReleaseLease(w.Ctx, "two", "a", 1))
		lists("b")
	})
	s.test(t, "names have nothing to do with one another", func(w *world) {
		w.holds("a", 1)
		if _, held, err := w.Store.AcquireLease(w.Ctx, "Planner", "b", fixture.Lease); err != nil || !held {
			w.Errorf("another spelling is another lease: held %v, %v", held, err)
		}
		w.holds("a", 1)
	})
	s.test(t, "of many that ask at once one gets it, first and at every takeover", func(w *world) {
		handles := w.Handles(3)
		for round := range int64(4) {
			var winners atomic.Int64
			w.Together(8, func(i int) error {
				epoch, held, err := handles[i%3].AcquireLease(w.Ctx, "planner", fmt.Sprintf("%d-%d", round, i), fixture.Lease)
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
			w.Clock.Advance(fixture.Lease + time.Microsecond)
		}
	})
}

func lossyNamedLease() []lossy {
	held := func(w *world) { w.holds("me", 1); w.Clock.Advance(time.Second) }
	acquire := func(w *world) func() (answer, error) {
		return func() (answer, error) {
			epoch, held, err := w.Store.AcquireLease(w.Ctx, "planner", "me", fixture.Lease)
			return []any{epoch, held}, err
		}
	}
	return []lossy{
		{"acquire named lease", "acquire named lease", acquire},
		{"acquire named lease", "take over named lease", func(w *world) func() (answer, error) {
			w.holds("other", 1)
			w.Clock.Advance(2 * fixture.Lease)
			return acquire(w)
		}},
		{"renew named lease", "renew named lease", func(w *world) func() (answer, error) {
			held(w)
			return func() (answer, error) { return nil, w.Store.RenewLease(w.Ctx, "planner", "me", 1, fixture.Lease) }
		}},
		{"release named lease", "release named lease", func(w *world) func() (answer, error) {
			held(w)
			return func() (answer, error) { return nil, w.Store.ReleaseLease(w.Ctx, "planner", "me", 1) }
		}},
	}
}
