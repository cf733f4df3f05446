package executor

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/engine/transport"
)

// D§5.14: pages that move are not read after one pass, sorted or not: what was
// passed on the way must not count when the budget ends.
func TestMovingPagesHaveNoPrefix(t *testing.T) {
	l := &list{things: things(100)}
	l.search = func(l *list, r *http.Request, found []thing) any {
		if l.calls["/list"] == 3 { // the first leaves the window, all others move up
			l.things[0].Updated = dayTo.Add(time.Hour)
			found = found[1:]
		}
		return leaf(found, at(r))
	}
	w := byHand(t, l, byOffset+withTotal, "window.ordered=true", "slicing.maxRequests=6")
	w.harvest()
	w.holds(l.things[1:])
}

// D§5.14: two readings agree if they saw the same versions, not only the same ids.
func TestReadingsAgreeInVersions(t *testing.T) {
	l := &list{things: things(20)}
	l.search = func(l *list, r *http.Request, found []thing) any {
		if l.calls["/list"] == 3 { // the second reading begins
			l.things[15].Updated = l.things[15].Updated.Add(time.Second)
		}
		return leaf(l.within(r), at(r))
	}
	w := byHand(t, l, byOffset+withTotal)
	w.harvest()
	w.holds(l.things)
	if n := l.calls["/list"]; n != 6 {
		t.Errorf("%d requests for three readings of two pages", n)
	}
}

// A list that starts with the newest is sorted as well, but its first page says
// nothing about what is older.
func TestNewestFirstHasNoPrefix(t *testing.T) {
	for name, same := range map[string]bool{"different dates": false, "many of one date": true} {
		t.Run(name, func(t *testing.T) {
			l := &list{things: things(100)}
			for i := 60; same && i < 100; i++ {
				l.things[i].Updated = l.things[99].Updated
			}
			l.search = func(_ *list, r *http.Request, found []thing) any {
				down := slices.Clone(found)
				slices.Reverse(down)
				return leaf(down, at(r))
			}
			w := byHand(t, l, byOffset+withTotal, "window.ordered=true", "paging.maxResults=50", "paging.stable=true")
			w.harvest()
			w.holds(l.things)
		})
	}
}

// What a run saw of the order is known to the next one.
func TestOrderIsRemembered(t *testing.T) {
	l := &list{things: things(100)}
	l.search = func(_ *list, r *http.Request, found []thing) any {
		return leaf(slices.Concat(found[len(found)/2:], found[:len(found)/2]), at(r)) // the later half first
	}
	w := byHand(t, l, byToken+withTotal, "window.ordered=true", "slicing.maxRequests=8")
	w.planDay()
	if _, err := w.executor(&dyingAfter{Store: w.store, commits: 6}).Execute(t.Context(), w.claim("first")); err == nil {
		t.Fatal("it lived")
	}
	w.takeOver()
	work := w.claim("second")
	run, err := w.store.StartRun(t.Context(), work, time.Minute)
	w.must(err)
	if got := run.Checkpoint.Reached; !got.Fell || !got.Rose || !got.At.Equal(l.things[99].Updated) {
		t.Errorf("%+v", got)
	}
}

// D§5.12: a list that ends where the upstream stops serving may go on, whatever
// the upstream says: many stop counting there, too.
func TestEndAtTheCap(t *testing.T) {
	for name, reading := range map[string]string{"total": byOffset + withTotal, "flag": byOffset + withMore, "token": byToken + asIs} {
		t.Run(name, func(t *testing.T) {
			l := &list{things: things(100)}
			l.search = func(_ *list, r *http.Request, found []thing) any { return leaf(found[:min(20, len(found))], at(r)) }
			w := byHand(t, l, reading, "paging.maxResults=20")
			w.harvest()
			w.holds(l.things)
		})
	}
}

// A limit that the upstream keeps to itself shows by the total.
func TestTimeBelowTheTotal(t *testing.T) {
	l := &list{things: things(100)}
	w := byHand(t, l, byTime+withTotal) // asks for 50 and gets 10
	w.harvest()
	w.holds(l.things)
}

// An upstream that does not know the parameter of the page serves its first one
// whatever is asked for. What it holds is read by narrower windows, and nobody is
// asked ten thousand times.
func TestUnknownPageParameter(t *testing.T) {
	for name, reading := range map[string]string{"nothing tells": byOffset + asIs, "total": byOffset + withTotal, "flag": byOffset + withMore} {
		t.Run(name, func(t *testing.T) {
			l := &list{things: things(45)}
			l.search = func(_ *list, _ *http.Request, found []thing) any { return leaf(found, 0) }
			w := byHand(t, l, reading)
			w.harvest()
			w.holds(l.things)
			if n := l.calls["/list"]; n > 60 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

// One full page, and behind it the same again: it is all there is.
func TestOneFullPageAgainAndAgain(t *testing.T) {
	l := &list{things: things(10)}
	l.search = func(_ *list, _ *http.Request, found []thing) any { return leaf(found, 0) }
	w := byHand(t, l, byOffset+asIs)
	w.harvest()
	w.holds(l.things)
}

// A list that stands still and announces more is asked a few times, not until its
// budget is used up.
func TestEmptyPagesThatAnnounceMore(t *testing.T) {
	l := &list{things: things(45)}
	l.search = func(_ *list, r *http.Request, found []thing) any {
		page := leaf(found, at(r))
		if at(r) == 20 {
			page["items"], page["more"] = []thing{}, true
		}
		return page
	}
	w := byHand(t, l, byOffset+withMore)
	w.harvest()
	if last := w.outcomes[len(w.outcomes)-1]; w.believed() || last.Code != "TOKEN_LOOP" || l.calls["/list"] > 40 {
		t.Errorf("%d requests\n  %s", l.calls["/list"], w.story())
	}
}

// The number of items of each page is not the total of the list.
func TestTotalOfAPage(t *testing.T) {
	l := &list{things: things(45)}
	l.search = func(_ *list, r *http.Request, found []thing) any {
		page := leaf(found, at(r))
		page["total"] = len(page["items"].([]thing))
		return page
	}
	for _, expect := range []string{"false", "true"} {
		w := byHand(t, l, byOffset+withTotal, "paging.expectTotal="+expect)
		w.harvest()
		w.holds(l.things)
	}
}

// A total that falls while full pages come is not believed.
func TestFallingTotal(t *testing.T) {
	l := &list{things: things(100)}
	l.search = func(_ *list, r *http.Request, found []thing) any {
		page := leaf(found, at(r))
		if at(r) >= 30 {
			page["total"] = 0
		}
		return page
	}
	w := byHand(t, l, byOffset+withTotal)
	w.harvest()
	w.holds(l.things)
}

// A page that comes again after a crash is no progress, although the ids that
// were seen died with the worker.
func TestPageAgainAfterACrash(t *testing.T) {
	l := &list{things: things(40)}
	w := byHand(t, l, byToken+withTotal, "paging.expectTotal=true")
	w.planDay()
	if _, err := w.executor(&dyingAfter{Store: w.store, commits: 2}).Execute(t.Context(), w.claim("first")); err == nil {
		t.Fatal("it lived")
	}
	again := true
	l.search = func(_ *list, r *http.Request, found []thing) any {
		page := leaf(found, at(r))
		if at(r) == 20 && again {
			again = false
			page["items"] = leaf(found, 10)["items"]
		}
		return page
	}
	w.takeOver()
	w.work()
	w.holds(l.things)
}

// Tokens may be longer than the ledger's column.
func TestLongTokens(t *testing.T) {
	l, long := &list{things: things(30)}, strings.Repeat("é", 3000)
	l.search = func(_ *list, r *http.Request, found []thing) any {
		from := 0
		_, _ = fmt.Sscan(strings.TrimPrefix(r.FormValue("at"), long), &from)
		page := leaf(found, from)
		if page["next"] != "" {
			page["next"] = long + page["next"].(string)
		}
		return page
	}
	w := byHand(t, l, byToken+asIs)
	w.harvest()
	w.holds(l.things)
}

// A token that rested for too long while details were asked for is not sent, and
// asking for details does not make it younger.
func TestTokenRestsDuringDetails(t *testing.T) {
	l := &list{things: things(30)}
	w := byHand(t, l, inTwoSteps, "paging.tokenLife=PT90S")
	slow := 2
	l.fetch = func(l *list, _ *http.Request, asked []thing) any {
		if slow > 0 { // two batches of the first page, a minute each
			slow--
			w.clock.advance(50 * time.Second)
		}
		return map[string]any{"items": asked}
	}
	w.harvest()
	w.holds(l.things)
	if s := w.outcomes[0].Stats; len(w.outcomes) != 1 || s.Restarts != 1 || l.calls["/fetch"] != 6 || l.calls["/search"] != 4 {
		t.Errorf("%v, %s", l.calls, w.story())
	}
}

// A checkpoint nobody can read costs a slice that is read anew, not the process.
func TestUnreadableCheckpoint(t *testing.T) {
	s := setup{}
	replayable(&s)
	inWorld(t, s, func(w *world) {
		if _, err := w.executor(dyingStore{w.store}).Execute(t.Context(), w.claim("first")); err == nil {
			t.Fatal("it lived")
		}
		w.takeOver()
		_, err := w.raw.Exec(`UPDATE ing_task SET checkpoint = '{"pass": 1, "paging": {"pages": "two"}}'`)
		w.must(err)
		if out := w.run(); out.Task != ingest.TaskSucceeded {
			t.Errorf("%+v", out)
		}
		w.covered()
		w.nothingLost()
	})
}

// A defect of ours costs the task it strikes.
func TestPanicCostsOneTask(t *testing.T) {
	l := &list{things: things(10)}
	w := byHand(t, l, byToken+asIs)
	w.chain = broken{}
	w.harvest()
	if out := w.outcomes; len(out) != 1 || out[0].Task != ingest.TaskFailed || out[0].Code != "INTERNAL" || !strings.Contains(out[0].Error, "out of order") {
		t.Error(w.story())
	}
}

// broken is a chain with a defect.
type broken struct{}

func (broken) Do(context.Context, *transport.Call) (*exchange.Response, error) { panic("out of order") }
