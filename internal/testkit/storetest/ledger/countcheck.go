package ledger

import (
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// compared is a comparison of a window in which some items are to be read.
func compared(w window.Window, upstream, read int64, verdict view.CountVerdict) view.CountCheck {
	return view.CountCheck{Question: fingerprint.Key("all"), Enough: upstream, Reconciled: view.Reconciled{
		Source: "crossref", Endpoint: "works", Window: w, Upstream: &upstream, Read: &read, Verdict: verdict,
	}}
}

// countChecks: how counts of upstreams compared, the newest of each window.
func (s suite) countChecks(t *testing.T) {
	works := ingest.Dataset{Source: "crossref", Endpoint: "works"}
	short := func(w *world, source string, want int) []view.CountCheck {
		w.Helper()
		got, err := w.Store.ShortCounts(w.Ctx, source, 10)
		w.Must(err)
		if len(got) != want {
			w.Fatalf("%d short windows, want %d: %+v", len(got), want, got)
		}
		return got
	}
	s.test(t, "a comparison takes the place of the one before", func(w *world) {
		w.Must(w.Store.NoteCounts(w.Ctx, []view.CountCheck{compared(fixture.March(1, 2), 12, 9, view.CountsShort), compared(fixture.March(2, 3), 5, 5, view.CountsAgree)}))
		short(w, "pubmed", 0)
		c := short(w, "", 1)[0]
		if c.Window != fixture.March(1, 2) || *c.Upstream != 12 || *c.Read != 9 || c.Enough != 12 || c.Missing() != 3 || c.Question != fingerprint.Key("all") || !c.CheckedAt.Equal(w.Clock.Read()) {
			w.Errorf("%+v", c)
		}
		for _, q := range []struct {
			within window.Window
			want   int
		}{{fixture.March(1, 3), 2}, {fixture.March(2, 3), 1}, {fixture.March(3, 4), 0}} {
			if got, err := w.Store.CountChecks(w.Ctx, works, q.within, 10); err != nil || len(got) != q.want {
				w.Errorf("%s: %+v %v", q.within, got, err)
			}
		}
		w.Clock.Advance(time.Minute)
		w.Must(w.Store.NoteCounts(w.Ctx, []view.CountCheck{compared(fixture.March(1, 2), 12, 12, view.CountsAgree)}))
		short(w, "crossref", 0)
		if n := w.Number("SELECT COUNT(*) FROM ing_count_check"); n != 2 {
			w.Errorf("%d rows", n)
		}
	})
	s.test(t, "what agreed long ago goes, what is short stays", func(w *world) {
		w.Must(w.Store.NoteCounts(w.Ctx, []view.CountCheck{compared(fixture.March(1, 2), 12, 9, view.CountsShort), compared(fixture.March(2, 3), 5, 5, view.CountsAgree)}))
		w.Clock.Advance(91 * 24 * time.Hour)
		w.Must(w.Store.NoteCounts(w.Ctx, []view.CountCheck{compared(fixture.March(3, 4), 5, 5, view.CountsAgree)}))
		short(w, "crossref", 1)
		if n := w.Number("SELECT COUNT(*) FROM ing_count_check"); n != 2 {
			w.Errorf("%d rows", n)
		}
	})
}

func lossyCounts() []lossy {
	return []lossy{{"note counts", "note counts", func(w *world) func() (answer, error) {
		return func() (answer, error) {
			return nil, w.Store.NoteCounts(w.Ctx, []view.CountCheck{compared(fixture.March(1, 2), 12, 9, view.CountsShort)})
		}
	}}}
}
