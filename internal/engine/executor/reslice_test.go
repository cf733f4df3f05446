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
	rose := func(at time.Time) ingest.Reached { return ingest.Reached{At: at, Rose: true} }
	cut := func(t time.Time) time.Time { return t.Truncate(time.Minute) }
	for name, tc := range map[string]struct {
		walk    listPass
		ordered bool
		want    window.Window
	}{
		"in the middle":             {listPass{latest: latest{reached: rose(minute(14).Add(30 * time.Second))}}, true, window.Window{From: minute(14), To: minute(20)}},
		"no order declared":         {listPass{latest: latest{reached: rose(minute(14))}}, false, whole},
		"out of order":              {listPass{latest: latest{reached: ingest.Reached{At: minute(14), Rose: true, Fell: true}}}, true, whole},
		"no order seen":             {listPass{latest: latest{reached: ingest.Reached{At: minute(14)}}}, true, whole},
		"no date seen":              {listPass{}, true, whole},
		"still in the first minute": {listPass{latest: latest{reached: rose(minute(10).Add(time.Second))}}, true, whole},
		"before the slice":          {listPass{latest: latest{reached: rose(minute(5))}}, true, whole},
		"behind the slice":          {listPass{latest: latest{reached: rose(minute(25))}}, true, whole},
	} {
		if got := tc.walk.leftOf(whole, tc.ordered, cut); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

// S appendix B: a sorted slice whose pages come badly is ended, and what is left
// of it is cut smaller; nothing is read twice. One without an order is not
// thrown away for that.
func TestHeavySliceIsCutOnTheWay(t *testing.T) {
	for ordered, want := range map[string]ingest.TaskStatus{"true": ingest.TaskPartial, "false": ingest.TaskSucceeded} {
		w := startForm(t, formNamed(t, "token"), 120, "500@every:9", "paging.size=1", "window.ordered="+ordered)
		w.harvest()
		w.whole()
		if first := w.outcomes[0]; first.Task != want || want == ingest.TaskPartial && first.Stats.Pages != 50 {
			t.Errorf("ordered %s: %s", ordered, w.story())
		}
	}
}
