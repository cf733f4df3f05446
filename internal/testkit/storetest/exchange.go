package storetest

import (
	"testing"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
)

// exchanges: a run is explained page by page, with what was asked and answered.
func (s suite) exchanges(t *testing.T) {
	s.test(t, "each page of a run comes with its evidence, newest first", func(w *world) {
		h := harvest{days: 2}
		w.plan(h)
		a, other := w.begin(h), w.begin(h)
		a.commit(item("a", "x", noon))
		page := a.page(item("b", "x", noon))
		page.Request, page.Response, page.Raw = []byte(`{"url":"y"}`), []byte(`{"status":200,"tookMs":7}`), "kept"
		a.store(page)
		other.commit(item("c", "x", noon))
		end := a.ending(failed)
		end.Failed = &ingest.FailedBatch{No: 3, Pass: 1, PageNo: 3, Error: "no answer", Request: []byte(`{"url":"z"}`)}
		w.must(w.store.FinishRun(w.ctx, end))
		got, err := w.store.Exchanges(w.ctx, view.Filter{RunID: a.run.ID, Limit: 10})
		w.must(err)
		if len(got) != 3 || got[0].No != 3 || got[2].No != 1 {
			w.Fatalf("%+v", got)
		}
		if b := got[0]; b.Status != "FAILED" || b.Error != "no answer" || string(b.Request) != `{"url":"z"}` || b.Response != nil || b.Raw != "" {
			w.Errorf("%+v", b)
		}
		if b := got[1]; b.Status != "SUCCEEDED" || string(b.Request) != `{"url":"y"}` || string(b.Response) != `{"status":200,"tookMs":7}` || b.Raw != "kept" || b.Stats.Inserted != 1 {
			w.Errorf("%+v", b)
		}
		if part, err := w.store.Exchanges(w.ctx, view.Filter{RunID: a.run.ID, Before: got[1].ID, Limit: 1}); err != nil || len(part) != 1 || part[0].No != 1 {
			w.Errorf("%+v, %v", part, err)
		}
	})
}
