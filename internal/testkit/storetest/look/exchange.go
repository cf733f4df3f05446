package look

import (
	"testing"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// exchanges: a run is explained page by page, with what was asked and answered.
func (s suite) exchanges(t *testing.T) {
	s.test(t, "each page of a run comes with its evidence, newest first", func(w *world) {
		h := fixture.Harvest{Days: 2}
		w.Plan(h)
		a, other := w.Begin(h), w.Begin(h)
		a.Commit(fixture.Item("a", "x", fixture.Noon))
		page := a.Page(fixture.Item("b", "x", fixture.Noon))
		page.Request, page.Response, page.Raw = []byte(`{"url":"y"}`), []byte(`{"status":200,"tookMs":7}`), "kept"
		a.Store(page)
		other.Commit(fixture.Item("c", "x", fixture.Noon))
		end := a.Ending(fixture.Failed)
		end.Failed = &ingest.FailedBatch{No: 3, Pass: 1, PageNo: 3, Error: "no answer", Request: []byte(`{"url":"z"}`)}
		w.Must(w.Store.FinishRun(w.Ctx, end))
		got, err := w.Store.Exchanges(w.Ctx, view.Filter{RunID: a.Run.ID, Limit: 10})
		w.Must(err)
		if len(got) != 3 || got[0].No != 3 || got[2].No != 1 {
			w.Fatalf("%+v", got)
		}
		if b := got[0]; b.Status != "FAILED" || b.Error != "no answer" || string(b.Request) != `{"url":"z"}` || b.Response != nil || b.Raw != "" {
			w.Errorf("%+v", b)
		}
		if b := got[1]; b.Status != "SUCCEEDED" || string(b.Request) != `{"url":"y"}` || string(b.Response) != `{"status":200,"tookMs":7}` || b.Raw != "kept" || b.Stats.Inserted != 1 {
			w.Errorf("%+v", b)
		}
		if part, err := w.Store.Exchanges(w.Ctx, view.Filter{RunID: a.Run.ID, Before: got[1].ID, Limit: 1}); err != nil || len(part) != 1 || part[0].No != 1 {
			w.Errorf("%+v, %v", part, err)
		}
	})
}
