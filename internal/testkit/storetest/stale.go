package storetest

import (
	"errors"
	"testing"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
)

func isStale(err error) bool { return errors.Is(err, fault.ErrStale) }

// writes are all the ways in which an attempt can write (I7).
func (a *attempt) writes() map[string]func() error {
	ctx, s := a.w.ctx, a.w.store
	page := a.page(item("new", "x", noon), item("known", "changed", noon.Add(day)), gone("old", noon.Add(day)))
	page.Rejects, page.Seen = []record.Reject{{Reason: record.BadID, Raw: []byte("{}")}}, 4
	all := map[string]func() error{
		"renew":   func() error { _, err := s.Renew(ctx, a.work.Lease, lease); return err },
		"start":   func() error { _, err := s.StartRun(ctx, a.work, lease); return err },
		"commit":  func() error { _, err := s.CommitBatch(ctx, page); return err },
		"reslice": func() error { return s.RequestReslice(ctx, a.tooMuch(a.work.Window)) },
	}
	for name, o := range map[string]ingest.Outcome{
		"succeed": succeeded, "fail": failed, "stop half-way": partial, "cancel": cancelled, "try again": again, "try later": later,
	} {
		all[name] = func() error { return s.FinishRun(ctx, a.ending(o)) }
	}
	all["fail with a page"] = func() error {
		end := a.ending(failed)
		end.Failed = &ingest.FailedBatch{No: a.pages + 1, Pass: 1, Error: "no answer", Request: []byte("{}")}
		return s.FinishRun(ctx, end)
	}
	return all
}

func (s suite) staleWrites(t *testing.T) {
	h := harvest{days: 1}
	expire := func(w *world) {
		w.clock.advance(2 * lease)
		w.reaps(10, 1)
	}
	for name, lose := range map[string]func(w *world){
		"after the lease was reaped":     expire,
		"after another worker claimed":   func(w *world) { expire(w); w.claim(h, 1) },
		"after another worker started":   func(w *world) { expire(w); w.begin(h) },
		"after another worker committed": func(w *world) { expire(w); w.begin(h).commit(item("known", "other", noon.Add(day))) },
		"after another worker finished":  func(w *world) { expire(w); w.work(h, succeeded) },
		"after another worker failed":    func(w *world) { expire(w); w.work(h, failed) },
		"after another worker gave back": func(w *world) {
			expire(w)
			w.must(w.store.Release(w.ctx, w.claim(h, 1)[0].Lease))
		},
	} {
		s.test(t, name, func(w *world) {
			w.plan(h)
			zombie := w.begin(h)
			zombie.commit(item("known", "x", noon), item("old", "x", noon))
			lose(w)
			for write, do := range zombie.writes() {
				w.unchanged(write, func() { w.refuses(do(), fault.ErrStale, write) })
			}
			w.unchanged("release", func() { w.must(w.store.Release(w.ctx, zombie.work.Lease)) })
		})
	}
	s.test(t, "work that was claimed and never started", func(w *world) {
		w.plan(h)
		work := w.claim(h, 1)[0]
		expire(w)
		w.unchanged("start", func() {
			_, err := w.store.StartRun(w.ctx, work, lease)
			w.refuses(err, fault.ErrStale, "start")
		})
	})
	s.test(t, "a lease of the future does not write either", func(w *world) {
		w.plan(h)
		a := w.begin(h)
		a.work.Lease.Epoch++
		w.unchanged("renew", func() {
			_, err := w.store.Renew(w.ctx, a.work.Lease, lease)
			w.refuses(err, fault.ErrStale, "renew")
		})
		w.unchanged("commit", func() {
			_, err := w.store.CommitBatch(w.ctx, a.page(item("a", "x", noon)))
			w.refuses(err, fault.ErrStale, "commit")
		})
	})
	s.test(t, "the attempt that was put back is over", func(w *world) {
		w.plan(h)
		a := w.begin(h)
		a.finish(again)
		w.unchanged("commit", func() {
			_, err := w.store.CommitBatch(w.ctx, a.page(item("a", "x", noon)))
			w.refuses(err, fault.ErrStale, "commit")
		})
		w.unchanged("success after failure", func() {
			w.refuses(w.store.FinishRun(w.ctx, a.ending(succeeded)), fault.ErrStale, "finish")
		})
	})
}
