package executor

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/testkit/simulated"
)

// I2: a walk by token that names no next page although more is announced is not
// whole, and nobody has to say so in the source file.
func TestBelieve04TokenWalkThatEndsEarly(t *testing.T) {
	l := &list{things: things(200)}
	l.search = func(_ *list, r *http.Request, found []thing) any {
		page := leaf(found, at(r))
		if at(r) == 30 {
			page["next"] = ""
		}
		return page
	}
	w := byHand(t, l, byToken+withTotal)
	w.config.MaxRestarts = 2
	w.harvest()
	if w.believed() || !strings.Contains(w.story(), "SHORT_COUNT: the upstream delivered 40 items; it announced 200") {
		t.Errorf("40 of 200 count as all of them: %s", w.story())
	}
	w.checked()

	honest := byHand(t, &list{things: things(200)}, byToken+withTotal)
	honest.harvest()
	honest.holds(things(200))

	estimate := byHand(t, &list{things: things(20), search: func(_ *list, r *http.Request, found []thing) any {
		page := leaf(found, at(r))
		page["total"] = len(found) + 3
		return page
	}}, byToken+withTotal, "paging.expectTotal=false")
	estimate.harvest()
	estimate.holds(things(20))
}

// The forms of the simulator that announce a total, with nothing said about it.
func TestBelieve04EveryFormExpectsItsTotal(t *testing.T) {
	for _, f := range distinct() {
		if !slices.Contains([]string{"token", "token-same", "links", "links-header", "more"}, f.Name) {
			continue // the others name no next page that could be lost
		}
		t.Run(f.Name, func(t *testing.T) {
			w := startForm(t, f.Silent(), 45, "lost-next@page:2", "retry.taskAttempts=2")
			w.config.MaxRestarts = 2
			w.harvest()
			w.struck()
			if w.believed() || !strings.Contains(w.story(), "SHORT_COUNT") {
				t.Errorf("20 of 45 count as all of them: %s", w.story())
			}
			w.checked()
		})
	}
}

// A total that never comes is told by its path.
func TestBelieve04MissingTotalIsNamed(t *testing.T) {
	f := simulated.Form{}
	for _, one := range distinct() {
		if one.Name == "token" {
			f = one.Silent()
		}
	}
	w := startForm(t, f, 45, "total-missing@*", "retry.taskAttempts=1")
	w.config.MaxRestarts = 1
	w.harvest()
	w.struck()
	story := w.story()
	if w.believed() || !strings.Contains(story, "$.total") || !strings.Contains(story, "response.total") || strings.Contains(story, "-1") {
		t.Error(story)
	}
}
