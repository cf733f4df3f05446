package executor

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// I2: an item beyond what was asked for pushes no real one out, whether pages are
// counted by items or by number, with an announced total and without one.
func TestBelieve03SurplusItemOnAPage(t *testing.T) {
	for _, f := range distinct() {
		for _, fault := range []string{
			"pinned-item@page:2", "foreign-item@page:2", "pinned-item@*", "foreign-item@*", "pinned-item@page:1:times=1",
		} {
			for _, items := range []int{45, 44, 40} {
				if f.Name == "time" || f.Name == "offset-blind" && fault == "foreign-item@*" {
					continue // another item in every reading: no two agree, and nothing else tells
				}
				t.Run(fmt.Sprint(f.Name, "/", fault, "/", items), func(t *testing.T) {
					w := startForm(t, f, items, fault, "paging.stable=true")
					w.harvest()
					w.struck()
					w.whole()
				})
			}
		}
	}
}

// A rejected item inside the asked size counts as delivered; the surplus beside it
// does not.
func TestBelieve03RejectedItemCounts(t *testing.T) {
	l := &list{things: things(45)}
	l.search = func(_ *list, r *http.Request, found []thing) any {
		page := leaf(found, at(r))
		items := page["items"].([]thing)
		if at(r) == 10 {
			items = append([]thing{{ID: "", Updated: items[0].Updated}}, items[1:]...) // the place of t010, without its id
			items = append(items, thing{ID: "ad", Updated: items[1].Updated})
		}
		page["items"] = items
		return page
	}
	w := byHand(t, l, byOffset+withTotal, "paging.expectTotal=true", "paging.stable=true")
	w.harvest()
	w.holds(slices.Delete(slices.Clone(l.things), 10, 11))
	if aside := w.aside(); len(aside) != 1 {
		t.Errorf("%v", aside)
	}
	if s := w.states(); s["ad"] != "ACTIVE" {
		t.Error("what came beyond the asked size is kept all the same")
	}
}

// An upstream that ignores the size it is asked for is read, item by item.
func TestBelieve03SizeIgnored(t *testing.T) {
	for _, n := range []int{25, 1000} {
		l := &list{things: things(100)}
		l.search = func(_ *list, r *http.Request, found []thing) any {
			from := min(at(r), len(found))
			return map[string]any{"items": found[from:min(from+n, len(found))], "total": len(found)}
		}
		w := byHand(t, l, byOffset+withTotal, "paging.expectTotal=true")
		w.harvest()
		w.holds(l.things)
		if len(w.outcomes) != 1 || w.outcomes[0].Stats.Restarts != 0 {
			t.Errorf("pages of %d: %s", n, w.story())
		}
	}
}

// A page in the place of another is not made up for by surplus items elsewhere.
func TestBelieve03SurplusHidesNoHole(t *testing.T) {
	l := &list{things: things(45)}
	l.search = func(_ *list, r *http.Request, found []thing) any {
		page := leaf(found, at(r))
		switch items := page["items"].([]thing); at(r) {
		case 0:
			for i := range 10 {
				items = append(items, thing{ID: fmt.Sprint("ad", i), Updated: found[0].Updated})
			}
			page["items"] = items
		case 30:
			page["items"] = leaf(found, 20)["items"]
		}
		return page
	}
	w := byHand(t, l, byOffset+withTotal, "paging.expectTotal=true", "paging.stable=true")
	w.config.MaxRestarts = 2
	w.harvest()
	if w.believed() || !strings.Contains(w.story(), "SHORT_COUNT") && !strings.Contains(w.story(), "TOKEN_LOOP") {
		t.Errorf("ten items are missing, and the day counts as read: %s", w.story())
	}
}
