package storetest

import (
	"time"

	"github.com/patra-ingest/patra/internal/core/retention"
)

func lossyArchive() []lossy {
	h := harvest{days: 4, asOf: midnight(40)}
	ended := func(w *world) (plan int64, cut time.Time) {
		plan = w.endedPlan(h)
		return plan, w.clock.read()
	}
	begun := func(w *world) retention.Archive {
		_, cut := ended(w)
		a, _ := w.beginEvents(h, cut)
		return a
	}
	return []lossy{
		{"begin event archive", "begin event archive", func(w *world) func() (answer, error) {
			_, cut := ended(w)
			return func() (answer, error) {
				a, _, err := w.store.BeginEventArchive(w.ctx, w.cursorID(h), cut, 2)
				return a, err
			}
		}},
		{"name archive", "name archive", func(w *world) func() (answer, error) {
			a := begun(w)
			return func() (answer, error) {
				_, err := w.store.NameArchive(w.ctx, a.ID, a.FileName("e1"))
				return nil, err
			}
		}},
		{"seal events", "seal events", func(w *world) func() (answer, error) {
			a := begun(w)
			f, signed := w.writeEvents(newShelf(), a)
			return func() (answer, error) { return nil, w.store.SealEvents(w.ctx, a.ID, f, signed) }
		}},
		{"delete archived", "delete archived events", func(w *world) func() (answer, error) {
			a := begun(w)
			f, signed := w.writeEvents(newShelf(), a)
			w.must(w.store.SealEvents(w.ctx, a.ID, f, signed))
			return func() (answer, error) { _, err := w.store.DeleteArchived(w.ctx, a.ID, 100); return nil, err }
		}},
		{"begin plan archive", "begin plan archive", func(w *world) func() (answer, error) {
			plan, _ := ended(w)
			return func() (answer, error) { return w.store.BeginPlanArchive(w.ctx, []int64{plan}) }
		}},
		{"abandon archive", "abandon archive", func(w *world) func() (answer, error) {
			plan, _ := ended(w)
			a, err := w.store.BeginPlanArchive(w.ctx, []int64{plan})
			w.must(err)
			return func() (answer, error) { return nil, w.store.AbandonArchive(w.ctx, a.ID) }
		}},
		{"seal plans", "seal plans", func(w *world) func() (answer, error) {
			plan, _ := ended(w)
			a, err := w.store.BeginPlanArchive(w.ctx, []int64{plan})
			w.must(err)
			_, err = w.store.NameArchive(w.ctx, a.ID, a.FileName("e1"))
			w.must(err)
			f := newShelf().put(a.FileName("e1"), w.planRows(plan))
			return func() (answer, error) { return nil, w.store.SealPlans(w.ctx, a.ID, f) }
		}},
		{"finish archive", "finish archive", func(w *world) func() (answer, error) {
			plan, _ := ended(w)
			a := w.sealPlans(newShelf(), plan)
			return func() (answer, error) { return nil, w.store.FinishArchive(w.ctx, a.ID) }
		}},
		{"prune versions", "prune versions", func(w *world) func() (answer, error) {
			w.plan(h)
			a := w.begin(h)
			a.commit(fetched("a", "1", noon))
			a.commit(fetched("a", "2", noon))
			w.exec("DELETE FROM ing_outbox_message")
			return func() (answer, error) {
				_, _, _, err := w.store.PruneVersions(w.ctx, noon.Add(day), 1, -1, 100)
				return nil, err
			}
		}},
		{"prune messages", "prune messages", func(w *world) func() (answer, error) {
			ended(w)
			return func() (answer, error) {
				_, _, _, err := w.store.PruneMessages(w.ctx, w.clock.read(), -1, 100)
				return nil, err
			}
		}},
		{"seal bodies", "seal bodies", func(w *world) func() (answer, error) {
			w.plan(h)
			w.begin(h).commit(fetched("a", "1", noon))
			var payload []byte
			w.must(w.db.SQL.QueryRow("SELECT payload FROM ing_record_body").Scan(&payload))
			w.exec("UPDATE ing_record_body SET payload = ?, codec = 'plain'", payload[:len(payload)-4])
			_, err := w.store.UnsealedLeft(w.ctx)
			w.must(err)
			return func() (answer, error) { _, err := w.store.SealBodies(w.ctx, 100); return nil, err }
		}},
		{"begin sealing", "begin sealing", func(w *world) func() (answer, error) {
			return func() (answer, error) { left, err := w.store.UnsealedLeft(w.ctx); return left, err }
		}},
		{"recall seal", "recall seal", func(w *world) func() (answer, error) {
			_, err := w.store.UnsealedLeft(w.ctx)
			w.must(err)
			return func() (answer, error) { return nil, w.store.RecallSeal(w.ctx) }
		}},
		{"end check", "end check", func(w *world) func() (answer, error) {
			return func() (answer, error) { return nil, w.store.EndCheck(w.ctx, 2) }
		}},
		{"end upkeep", "end upkeep", func(w *world) func() (answer, error) {
			return func() (answer, error) {
				return nil, w.store.EndUpkeep(w.ctx, "db.prune", "run", tester, map[string]any{"versions": 1})
			}
		}},
	}
}
