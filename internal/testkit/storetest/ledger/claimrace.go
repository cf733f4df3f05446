package ledger

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

func (s suite) claimRace(t *testing.T) {
	for _, handles := range []int{1, 4} {
		for _, most := range []int{1, 7} {
			s.test(t, fmt.Sprintf("%d processes, %d at a time", handles, most), func(w *world) {
				w.claimEverything(8, handles, most, 400)
			})
		}
	}
}

// claimEverything lets workers empty three partitions and checks that each task
// went to exactly one of them, in order.
func (w *world) claimEverything(workers, handles, most, total int) {
	w.Helper()
	partitions := w.threePartitions(total)
	stores := w.Handles(handles)
	var mu sync.Mutex
	owner := map[int64]string{}
	order := map[int64][]claimPlace{} // partition → what each claim returned
	w.Together(workers, func(i int) error {
		name := fmt.Sprintf("worker-%d", i)
		for n := 0; ; n++ {
			took := 0
			for _, partition := range partitions {
				work, err := stores[i%len(stores)].Claim(w.Ctx, ingest.ClaimRequest{
					PartitionID: partition, Owner: name, Token: fmt.Sprintf("%s-%d-%d", name, n, partition), Lease: fixture.Lease, Max: most,
				})
				if err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
				if len(work) > most {
					return fmt.Errorf("%s asked for %d tasks and got %d", name, most, len(work))
				}
				mu.Lock()
				for _, one := range work {
					if before := owner[one.Lease.TaskID]; before != "" {
						w.Errorf("task %d went to %s and to %s", one.Lease.TaskID, before, name)
					}
					if one.Lease.Epoch != 1 || one.Lease.Owner != name {
						w.Errorf("task %d: lease %+v for %s", one.Lease.TaskID, one.Lease, name)
					}
					owner[one.Lease.TaskID] = name
				}
				order[partition] = append(order[partition], places(work))
				mu.Unlock()
				took += len(work)
			}
			if took == 0 {
				return nil
			}
		}
	})
	if len(owner) != total {
		w.Errorf("%d tasks were claimed, want %d", len(owner), total)
	}
	if n := w.Number("SELECT COUNT(*) FROM ing_task WHERE status_code <> 'DISPATCHED' OR lease_epoch <> 1"); n != 0 {
		w.Errorf("%d tasks are not leased exactly once", n)
	}
	for partition, claims := range order {
		for _, claim := range claims {
			if !slices.IsSorted(claim) {
				w.Errorf("partition %d: a claim got its tasks in the order %v", partition, claim)
			}
		}
	}
}

// claimPlace are the task ids of one claim; with one priority and one due time
// the id decides.
type claimPlace []int64

func places(work []ingest.Work) (out claimPlace) {
	for _, one := range work {
		out = append(out, one.Lease.TaskID)
	}
	return out
}

func (w *world) threePartitions(total int) (ids []int64) {
	w.Helper()
	left := total
	for i, source := range []string{"large", "middle", "small"} {
		n := left
		if i < 2 {
			n = left * 2 / 3
		}
		left -= n
		h := fixture.Harvest{Source: source, Days: n}
		w.Plan(h)
		ids = append(ids, w.PartitionID(h))
	}
	return ids
}
