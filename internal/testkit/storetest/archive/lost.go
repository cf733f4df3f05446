package archive

import (
	"time"

	"github.com/patra-ingest/patra/internal/core/retention"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

func lossyArchive() []lossy {
	h := fixture.Harvest{Days: 4, AsOf: fixture.Midnight(40)}
	ended := func(w *world) (plan int64, cut time.Time) {
		plan = w.EndedPlan(h)
		return plan, w.Clock.Read()
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
				a, _, err := w.Store.BeginEventArchive(w.Ctx, w.CursorID(h), cut, 2)
				return a, err
			}
		}},
		{"prune sums", "prune sums", func(w *world) func() (answer, error) {
			ended(w)
			return func() (answer, error) {
				_, err := w.Store.PruneSums(w.Ctx, w.Clock.Read().Add(time.Hour))
				return nil, err
			}
		}},
		{"note size", "note size", func(w *world) func() (answer, error) {
			ended(w)
			f, err := w.Store.MeasureSize(w.Ctx, false)
			w.Must(err)
			return func() (answer, error) { return nil, w.Store.NoteSize(w.Ctx, f) }
		}},
		{"name archive", "name archive", func(w *world) func() (answer, error) {
			a := begun(w)
			return func() (answer, error) {
				_, err := w.Store.NameArchive(w.Ctx, a.ID, a.FileName("e1"))
				return nil, err
			}
		}},
		{"seal events", "seal events", func(w *world) func() (answer, error) {
			a := begun(w)
			f, signed := w.writeEvents(fixture.NewShelf(), a)
			return func() (answer, error) { return nil, w.Store.SealEvents(w.Ctx, a.ID, f, signed) }
		}},
		{"delete archived", "delete archived events", func(w *world) func() (answer, error) {
			a := begun(w)
			f, signed := w.writeEvents(fixture.NewShelf(), a)
			w.Must(w.Store.SealEvents(w.Ctx, a.ID, f, signed))
			return func() (answer, error) { _, err := w.Store.DeleteArchived(w.Ctx, a.ID, 100); return nil, err }
		}},
		{"begin plan archive", "begin plan archive", func(w *world) func() (answer, error) {
			plan, _ := ended(w)
			return func() (answer, error) { return w.Store.BeginPlanArchive(w.Ctx, []int64{plan}) }
		}},
		{"abandon archive", "abandon archive", func(w *world) func() (answer, error) {
			plan, _ := ended(w)
			a, err := w.Store.BeginPlanArchive(w.Ctx, []int64{plan})
			w.Must(err)
			return func() (answer, error) { return nil, w.Store.AbandonArchive(w.Ctx, a.ID) }
		}},
		{"seal plans", "seal plans", func(w *world) func() (answer, error) {
			plan, _ := ended(w)
			a, err := w.Store.BeginPlanArchive(w.Ctx, []int64{plan})
			w.Must(err)
			_, err = w.Store.NameArchive(w.Ctx, a.ID, a.FileName("e1"))
			w.Must(err)
			f := fixture.NewShelf().Put(a.FileName("e1"), w.PlanRows(plan))
			return func() (answer, error) { return nil, w.Store.SealPlans(w.Ctx, a.ID, f) }
		}},
		{"finish archive", "finish archive", func(w *world) func() (answer, error) {
			plan, _ := ended(w)
			a := w.sealPlans(fixture.NewShelf(), plan)
			return func() (answer, error) { return nil, w.Store.FinishArchive(w.Ctx, a.ID) }
		}},
		{"prune versions", "prune versions", func(w *world) func() (answer, error) {
			w.Plan(h)
			a := w.Begin(h)
			a.Commit(fixture.Fetched("a", "1", fixture.Noon))
			a.Commit(fixture.Fetched("a", "2", fixture.Noon))
			w.Exec("DELETE FROM ing_outbox_message")
			return func() (answer, error) {
				_, _, _, err := w.Store.PruneVersions(w.Ctx, fixture.Noon.Add(fixture.Day), 1, -1, 100)
				return nil, err
			}
		}},
		{"prune messages", "prune messages", func(w *world) func() (answer, error) {
			ended(w)
			return func() (answer, error) {
				_, _, _, err := w.Store.PruneMessages(w.Ctx, w.Clock.Read(), -1, 100)
				return nil, err
			}
		}},
		{"prune unclaimed", "prune unclaimed", func(w *world) func() (answer, error) {
			w.Plan(h)
			w.Begin(h).Commit(fixture.Fetched("a", "1", fixture.Noon))
			return func() (answer, error) {
				_, _, _, err := w.Store.PruneUnclaimed(w.Ctx, w.Clock.Read().Add(time.Hour), -1, 100)
				return nil, err
			}
		}},
		{"seal bodies", "seal bodies", func(w *world) func() (answer, error) {
			w.FrameLeast(-1) // such bodies were rows
			w.Plan(h)
			w.Begin(h).Commit(fixture.Fetched("a", "1", fixture.Noon))
			var payload []byte
			w.Must(w.DB.SQL.QueryRow("SELECT payload FROM ing_record_body").Scan(&payload))
			w.Exec("UPDATE ing_record_body SET payload = ?, codec = 'plain'", payload[:len(payload)-4])
			_, err := w.Store.UnsealedLeft(w.Ctx)
			w.Must(err)
			return func() (answer, error) { _, err := w.Store.SealBodies(w.Ctx, 100); return nil, err }
		}},
		{"begin sealing", "begin sealing", func(w *world) func() (answer, error) {
			return func() (answer, error) { left, err := w.Store.UnsealedLeft(w.Ctx); return left, err }
		}},
		{"recall seal", "recall seal", func(w *world) func() (answer, error) {
			_, err := w.Store.UnsealedLeft(w.Ctx)
			w.Must(err)
			return func() (answer, error) { return nil, w.Store.RecallSeal(w.Ctx) }
		}},
		{"fold versions", "fold versions", func(w *world) func() (answer, error) {
			w.FrameLeast(-1)
			w.Plan(h)
			a := w.Begin(h)
			a.Commit(fixture.Fetched("a", "1", fixture.Noon), fixture.Fetched("b", "1", fixture.Noon))
			a.Commit(fixture.Fetched("a", "2", fixture.Noon.Add(time.Hour)))
			upto, err := w.Store.FoldUpto(w.Ctx, time.Second)
			w.Must(err)
			return func() (answer, error) { _, err := w.Store.FoldBodies(w.Ctx, upto, 100); return nil, err }
		}},
		{"remove old answers", "remove old answers", func(w *world) func() (answer, error) {
			w.Plan(h)
			a := w.Begin(h)
			page, _ := w.answerPage(a, leanItems(2, fixture.Noon)...)
			a.Store(page)
			w.Clock.Advance(20 * time.Second)
			return func() (answer, error) { _, err := w.Store.RemoveLeanAnswers(w.Ctx, time.Second); return nil, err }
		}},
		{"join frames", "join frames", func(w *world) func() (answer, error) {
			w.FrameLeast(1)
			w.Plan(h)
			a := w.Begin(h)
			a.Commit(fixture.Fetched("a", "1", fixture.Noon), fixture.Fetched("b", "1", fixture.Noon))
			a.Commit(fixture.Fetched("a", "2", fixture.Noon.Add(time.Hour)))
			upto, err := w.Store.FoldUpto(w.Ctx, time.Second)
			w.Must(err)
			return func() (answer, error) { _, err := w.Store.RepackFrames(w.Ctx, upto, 100); return nil, err }
		}},
		{"heal frame", "heal frame", func(w *world) func() (answer, error) {
			frame, content := w.brokenFrame(h)
			return func() (answer, error) {
				_, err := w.Store.HealFrame(w.Ctx, frame, content, fixture.Tester)
				return nil, err
			}
		}},
		{"ask frame again", "ask frame again", func(w *world) func() (answer, error) {
			frame, _ := w.brokenFrame(h)
			return func() (answer, error) {
				current, _, _, err := w.Store.AskFrameAgain(w.Ctx, frame, fixture.Tester)
				return current, err
			}
		}},
		{"end check", "end check", func(w *world) func() (answer, error) {
			return func() (answer, error) { return nil, w.Store.EndCheck(w.Ctx, 2) }
		}},
		{"end upkeep", "end upkeep", func(w *world) func() (answer, error) {
			return func() (answer, error) {
				return nil, w.Store.EndUpkeep(w.Ctx, "db.prune", "run", fixture.Tester, map[string]any{"versions": 1})
			}
		}},
	}
}
