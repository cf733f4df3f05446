package ledger

import (
	"errors"
	"testing"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

func isStale(err error) bool { return errors.Is(err, fault.ErrStale) }

func (s suite) staleWrites(t *testing.T) {
	h := fixture.Harvest{Days: 1}
	expire := func(w *world) {
		w.Clock.Advance(2 * fixture.Lease)
		w.reaps(10, 1)
	}
	for name, lose := range map[string]func(w *world){
		"after the lease was reaped":   expire,
		"after another worker claimed": func(w *world) { expire(w); w.Claim(h, 1) },
		"after another worker started": func(w *world) { expire(w); w.Begin(h) },
		"after another worker committed": func(w *world) {
			expire(w)
			w.Begin(h).Commit(fixture.Item("known", "other", fixture.Noon.Add(fixture.Day)))
		},
		"after another worker finished": func(w *world) { expire(w); w.Work(h, fixture.Succeeded) },
		"after another worker failed":   func(w *world) { expire(w); w.Work(h, fixture.Failed) },
		"after another worker gave back": func(w *world) {
			expire(w)
			w.Must(w.Store.Release(w.Ctx, w.Claim(h, 1)[0].Lease))
		},
	} {
		s.test(t, name, func(w *world) {
			w.Plan(h)
			zombie := w.Begin(h)
			zombie.Commit(fixture.Item("known", "x", fixture.Noon), fixture.Item("old", "x", fixture.Noon))
			lose(w)
			for write, do := range zombie.Writes() {
				w.Unchanged(write, func() { w.Refuses(do(), fault.ErrStale, write) })
			}
			w.Unchanged("release", func() { w.Must(w.Store.Release(w.Ctx, zombie.Work.Lease)) })
		})
	}
	s.test(t, "work that was claimed and never started", func(w *world) {
		w.Plan(h)
		work := w.Claim(h, 1)[0]
		expire(w)
		w.Unchanged("start", func() {
			_, err := w.Store.StartRun(w.Ctx, work, fixture.Lease)
			w.Refuses(err, fault.ErrStale, "start")
		})
	})
	s.test(t, "a lease of the future does not write either", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		a.Work.Lease.Epoch++
		w.Unchanged("renew", func() {
			_, err := w.Store.Renew(w.Ctx, a.Work.Lease, fixture.Lease)
			w.Refuses(err, fault.ErrStale, "renew")
		})
		w.Unchanged("commit", func() {
			_, err := w.Store.CommitBatch(w.Ctx, a.Page(fixture.Item("a", "x", fixture.Noon)))
			w.Refuses(err, fault.ErrStale, "commit")
		})
	})
	s.test(t, "the attempt that was put back is over", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		a.Finish(fixture.Again)
		w.Unchanged("commit", func() {
			_, err := w.Store.CommitBatch(w.Ctx, a.Page(fixture.Item("a", "x", fixture.Noon)))
			w.Refuses(err, fault.ErrStale, "commit")
		})
		w.Unchanged("success after failure", func() {
			w.Refuses(w.Store.FinishRun(w.Ctx, a.Ending(fixture.Succeeded)), fault.ErrStale, "finish")
		})
	})
}
