package executor

import (
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/window"
)

// D§5.7: what a sorted source was read of before the budget ended stays read;
// of one without an order everything is owed again.
func TestBudgetLeavesTheRest(t *testing.T) {
	for _, name := range []string{"token", "offset", "links", "time"} {
		var requests [2]int
		for i, ordered := range []string{"false", "true"} {
			w := startForm(t, formNamed(t, name), 200, "", "slicing.maxRequests=6", "window.ordered="+ordered, "paging.stable=true")
			w.harvest()
			w.whole()
			first := w.outcomes[0]
			if first.Task != ingest.TaskPartial || first.Code != "BUDGET" {
				t.Fatalf("%s, ordered %s: %s", name, ordered, w.story())
			}
			requests[i] = w.server.Requests()
			if succeeded := w.prefix(); (len(succeeded) > 0) != (ordered == "true") {
				t.Errorf("%s, ordered %s: the first attempt counts as having read %v", name, ordered, succeeded)
			}
		}
		if requests[1] >= requests[0] {
			t.Errorf("%s: %d requests with an order, %d without", name, requests[1], requests[0])
		}
	}
}

// prefix is what the first slice counts as having read.
func (w *formWorld) prefix() (out []window.Window) {
	w.Helper()
	cursors, err := w.store.Cursors(w.Context(), w.compiled.Snapshot.Source)
	w.must(err)
	events, err := w.store.CursorEvents(w.Context(), cursors[0].ID, 0, 1000)
	w.must(err)
	for _, e := range events {
		if e.SliceID == 1 && e.Kind == "SUCCEEDED" {
			out = append(out, e.Windows...)
		}
	}
	return out
}

func TestLeft(t *testing.T) {
	minute := func(n int) time.Time { return dayFrom.Add(time.Duration(n) * time.Minute) }
	whole := window.Window{From: minute(10), To: minute(20)}
	cut := func(t time.Time) time.Time { return t.Truncate(time.Minute) }
	for name, tc := range map[string]struct {
		walk    walk
		ordered bool
		want    window.Window
	}{
		"in the middle":             {walk{reached: minute(14).Add(30 * time.Second)}, true, window.Window{From: minute(14), To: minute(20)}},
		"no order declared":         {walk{reached: minute(14)}, false, whole},
		"out of order":              {walk{reached: minute(14), disorder: true}, true, whole},
		"no date seen":              {walk{}, true, whole},
		"still in the first minute": {walk{reached: minute(10).Add(time.Second)}, true, whole},
		"before the slice":          {walk{reached: minute(5)}, true, whole},
		"behind the slice":          {walk{reached: minute(25)}, true, whole},
	} {
		if got := tc.walk.left(whole, tc.ordered, cut); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}
