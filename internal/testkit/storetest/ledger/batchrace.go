package ledger

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

func (s suite) batchRaces(t *testing.T) {
	for _, handles := range []int{1, 4} {
		s.test(t, fmt.Sprintf("overlapping pages from %d processes", handles), func(w *world) {
			const workers, pages, size, ids = 6, 6, 60, 150
			attempts := w.StartAll(fixture.Harvest{Days: workers})
			stores := w.Handles(handles)
			var mu sync.Mutex
			newest := map[string]int{}
			var sum ingest.BatchStats
			w.Together(workers, func(i int) error {
				dice := rand.New(rand.NewPCG(uint64(i), 7))
				for range pages {
					records, ages := fixture.RandomPage(dice, size, ids)
					result, err := fixture.CommitWith(stores[i%len(stores)], attempts[i], records)
					if err != nil {
						return fmt.Errorf("worker %d: %w", i, err)
					}
					mu.Lock()
					sum = sum.Add(result.Stats)
					for id, age := range ages {
						newest[id] = max(newest[id], age)
					}
					mu.Unlock()
				}
				return nil
			})
			for id, age := range newest {
				if got, ok := w.Record(id); !ok || string(got.Payload) != fixture.Content(age) {
					w.Errorf("%s is %q, the newest that was sent is %q", id, got.Payload, fixture.Content(age))
				}
			}
			if !sum.Balanced() || sum.Inserted != len(newest) || int64(len(newest)) != w.Number("SELECT COUNT(*) FROM ing_record") {
				w.Errorf("%d ids, accounted as %+v", len(newest), sum)
			}
			if n := len(w.Versions()); n != sum.Inserted+sum.Updated {
				w.Errorf("%d bodies for %+v", n, sum)
			}
			w.eventsMatchBodies()
		})
	}
	s.test(t, "workers that reject the same items store each once", func(w *world) {
		const workers = 6
		attempts := w.StartAll(fixture.Harvest{Days: workers})
		stores := w.Handles(3)
		w.Together(workers, func(i int) error {
			var rejects []record.Reject
			for n := range 20 {
				rejects = append(rejects, record.Reject{Index: n, Reason: record.BadItem, Raw: fmt.Append(nil, (n*7+i)%20)})
			}
			_, err := stores[i%len(stores)].CommitBatch(w.Ctx, attempts[i].WithRejects(rejects...))
			return err
		})
		w.quarantined(20)
	})
	s.test(t, "commits, renewals and claims do not block one another for good", func(w *world) {
		const workers = 4
		h := fixture.Harvest{Days: 3 * workers}
		w.Plan(h)
		partition := w.PartitionID(h)
		stores := w.Handles(2)
		w.Together(workers, func(i int) error {
			s := stores[i%len(stores)]
			for n := range 3 {
				work, err := s.Claim(w.Ctx, ingest.ClaimRequest{PartitionID: partition, Owner: "w", Token: fmt.Sprint(i, n), Lease: fixture.Lease, Max: 1})
				if err != nil {
					return err
				}
				for _, one := range work {
					if err := wholeAttempt(w, s, one); err != nil {
						return err
					}
				}
			}
			return nil
		})
		if n := w.Number("SELECT COUNT(*) FROM ing_task WHERE status_code = 'SUCCEEDED'"); n != 3*workers {
			w.Errorf("%d tasks succeeded, want %d", n, 3*workers)
		}
		w.Verified(h)
		w.eventsMatchBodies()
	})
}

// wholeAttempt is a worker's life: start, renew, two pages, end.
func wholeAttempt(w *world, s *store.Store, work ingest.Work) error {
	run, err := s.StartRun(w.Ctx, work, fixture.Lease)
	if err != nil {
		return err
	}
	work.Lineage.RunID = run.ID
	a := &fixture.Attempt{W: w.World, Work: work, Run: run}
	for n := range 2 {
		if _, err := s.Renew(w.Ctx, work.Lease, fixture.Lease); err != nil {
			return err
		}
		records := []record.Incoming{fixture.Item(fmt.Sprint("own", work.Lease.TaskID, n), "x", fixture.Noon), fixture.Item("shared", fixture.Content(n), fixture.Noon.Add(time.Duration(n)*time.Minute))}
		if _, err := fixture.CommitWith(s, a, records); err != nil {
			return err
		}
	}
	return s.FinishRun(w.Ctx, a.Ending(fixture.Succeeded))
}
