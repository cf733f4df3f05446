package executor

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/upsim"
)

// shrinking is a day of 1,000 works on twenty pages, some of which are dated anew
// while the day is read.
func shrinking(every int) setup {
	s := setup{settings: []string{"slicing.maxRequests=100000"}}
	s.data.PerDay = 1000
	s.server.Shrinking = upsim.Shrinking{Every: every, At: dayTo.AddDate(0, 0, 2)}
	return s
}

// A day that shrinks while it is read is read in one pass. What left it lies in a
// later window; everything that is still of the day is stored.
func TestBelieve09ShrinkingDayEnds(t *testing.T) {
	inWorld(t, shrinking(4), func(w *world) {
		out := w.run()
		if out.Task != ingest.TaskSucceeded || out.Stats.Restarts != 0 {
			t.Fatalf("%s %s after %d passes: %s", out.Task, out.Code, out.Stats.Restarts+1, out.Error)
		}
		w.covered()
		records, err := w.store.Records(t.Context(), "crossref", "works", nil, 10_000)
		w.must(err)
		stored := map[string]bool{}
		for _, r := range records {
			stored[r.ID] = true
		}
		left := 0
		for truth := range w.data.Heads() {
			switch inDay := truth.Indexed.Before(dayTo); {
			case !inDay:
				left++
			case !stored[strings.ToLower(truth.DOI)]:
				t.Errorf("%s is of the day and is missing", truth.DOI)
			}
		}
		if left < 4 || len(stored) >= perDay*10 && left == 0 {
			t.Errorf("only %d left: this tests nothing", left)
		}
		w.sane()
	})
}

// A day that loses far more than a few is not believed: it is read anew until it
// stands still.
func TestBelieve09LargeFallStartsOver(t *testing.T) {
	s := shrinking(1)
	s.config.MaxRestarts = 1
	inWorld(t, s, func(w *world) {
		if out := w.run(); out.Task == ingest.TaskSucceeded || out.Code != "SHORT_COUNT" {
			t.Errorf("%s %s: %s", out.Task, out.Code, out.Error)
		}
		w.owed()
	})
}

// I2: where pages are counted, an item that was read and leaves moves all others up
// one place, and one of them is on no page. A stable order does not help, and the
// total that fell agrees with what came; so the list is read once more.
func TestBelieve09ItemThatLeavesACountedList(t *testing.T) {
	for name, reading := range map[string]string{"OFFSET": byOffset, "PAGE": byPage} {
		t.Run(name, func(t *testing.T) {
			all := things(200)
			l := &list{things: all}
			l.search = func(l *list, r *http.Request, found []thing) any {
				if l.calls["/list"] == 4 {
					l.things = slices.Clone(l.things[1:])
					found = found[1:]
				}
				return leaf(found, at(r))
			}
			w := byHand(t, l, reading+withTotal, "paging.stable=true")
			w.harvest()
			w.holds(all[1:])
			if calls := l.calls["/list"]; calls != 40 {
				t.Errorf("%d requests: a pass that loses nothing is enough", calls)
			}
		})
	}
}
