package executor

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/driver/store"
)

// An id that waits for its second look is not forgotten when the search starts
// over, which does not find it again.
func TestMissingDetailOutlivesTheWalk(t *testing.T) {
	l := &list{things: things(40)}
	l.search = func(l *list, r *http.Request, found []thing) any {
		if at(r) == 20 && l.calls["/search"] == 3 {
			return refusal(404)
		}
		return leaf(found, at(r))
	}
	l.fetch = func(l *list, _ *http.Request, asked []thing) any {
		if l.calls["/fetch"] == 1 {
			asked = asked[:4]
		}
		return map[string]any{"items": asked}
	}
	w := byHand(t, l, inTwoSteps)
	w.harvest()
	w.holds(l.things)
	if w.outcomes[0].Stats.Restarts != 1 {
		t.Error(w.story())
	}
}

// Trouble that passes blames nobody, whenever it comes and goes.
func TestTroubleThatPasses(t *testing.T) {
	for _, span := range [][2]int{{0, 8}, {0, 10}, {0, 14}, {1, 9}, {1, 10}, {2, 11}, {2, 22}} {
		t.Run(fmt.Sprint(span), func(t *testing.T) {
			l := &list{things: things(20)}
			l.fetch = func(l *list, _ *http.Request, asked []thing) any {
				if n := l.calls["/fetch"]; n > span[0] && n <= span[1] {
					return nonsense{}
				}
				return map[string]any{"items": asked}
			}
			w := byHand(t, l, inTwoSteps)
			w.harvest()
			w.holds(l.things)
			if blamed := w.aside(); len(blamed) > 0 {
				t.Errorf("%v", blamed)
			}
		})
	}
}

// Several bad ids, also the last one alone.
func TestBadIDsAreFound(t *testing.T) {
	for _, bad := range [][]string{{"t000"}, {"t019"}, {"t003", "t004"}, {"t000", "t001", "t002", "t019"}} {
		t.Run(fmt.Sprint(bad), func(t *testing.T) {
			l := &list{things: things(20)}
			l.fetch = func(_ *list, _ *http.Request, asked []thing) any {
				if slices.ContainsFunc(asked, func(t thing) bool { return slices.Contains(bad, t.ID) }) {
					return nonsense{}
				}
				return map[string]any{"items": asked}
			}
			w := byHand(t, l, inTwoSteps)
			w.harvest()
			if aside := w.aside(); len(aside) != len(bad) || aside[bad[0]] != "DETAIL_FAILED" || !w.believed() {
				t.Errorf("%v %s", aside, w.story())
			}
			w.holds(slices.DeleteFunc(slices.Clone(l.things), func(t thing) bool { return slices.Contains(bad, t.ID) }))
		})
	}
}

// D§5.16: the ids of a search are no excuse for details that do not come, nor is
// a second reading of them.
func TestNoDetailAtAll(t *testing.T) {
	for _, policy := range []string{"RECHECK", "QUARANTINE", "GONE"} {
		for _, stable := range []string{"true", "false"} {
			t.Run(policy+"/"+stable, func(t *testing.T) {
				l := &list{things: things(20), fetch: func(*list, *http.Request, []thing) any { return map[string]any{"items": []thing{}} }}
				w := byHand(t, l, inTwoSteps, "details.missing="+policy, "paging.stable="+stable)
				w.harvest()
				want := "REJECT_RATE"
				if policy == "GONE" {
					want = "BAD_BODY"
				}
				if last := w.outcomes[len(w.outcomes)-1]; w.believed() || last.Task != ingest.TaskFailed || last.Code != want {
					t.Error(w.story())
				}
				shown := w.batches()
				if last := shown[len(shown)-1]; policy == "GONE" && (last.Status != "FAILED" || !strings.Contains(last.Error, "none of the first")) {
					t.Errorf("the answer that was not believed is not in the ledger: %+v", last)
				}
				w.checked()
			})
		}
	}
}

// §4.13: details nobody can understand are a changed format too, one piece of news
// and no rows of quarantine.
func TestChangedFormatOfDetails(t *testing.T) {
	l := &list{things: things(20)}
	l.fetch = func(_ *list, _ *http.Request, asked []thing) any {
		items := []map[string]any{}
		for _, t := range asked {
			items = append(items, map[string]any{"id": t.ID, "updated": "soon"})
		}
		return map[string]any{"items": items}
	}
	w := byHand(t, l, inTwoSteps)
	w.harvest()
	if out := w.outcomes[0]; len(w.outcomes) != 1 || out.Task != ingest.TaskFailed || out.Code != "SCHEMA_CHANGE" || len(w.aside()) > 0 || l.calls["/fetch"] != 1 {
		t.Errorf("%d requests, %v aside\n  %s", l.calls["/fetch"], w.aside(), w.story())
	}
	_, stopped, err := w.store.Paused(t.Context(), ingest.Partition{Dataset: ingest.Dataset{Source: "hand", Endpoint: "works"}, Operation: ingest.Harvest})
	if err != nil || !stopped {
		t.Error("nobody was told", err)
	}
}

// A record that left the window between search and detail was delivered: it is
// neither missing nor gone.
func TestDetailOutsideTheWindow(t *testing.T) {
	for _, policy := range []string{"GONE", "RECHECK"} {
		t.Run(policy, func(t *testing.T) {
			l := &list{things: things(20)}
			w := byHand(t, l, inTwoSteps, "details.missing="+policy, "paging.replayable=false")
			w.planDay()
			if _, err := w.executor(&dyingAfter{Store: w.store, commits: 3}).Execute(t.Context(), w.claim("first")); err == nil {
				t.Fatal("it lived")
			}
			l.fetch = func(l *list, _ *http.Request, asked []thing) any {
				for i := range asked {
					if asked[i].ID == "t003" {
						asked[i].Updated = dayTo.Add(time.Hour)
					}
				}
				return map[string]any{"items": asked}
			}
			w.takeOver()
			w.work()
			w.holds(l.things)
			if aside := w.aside(); len(aside) > 0 {
				t.Errorf("%v", aside)
			}
		})
	}
}

// A run that dies when the search is over needs no token to go on.
func TestDetailsNeedNoToken(t *testing.T) {
	l := &list{things: things(10)}
	w := byHand(t, l, inTwoSteps, "paging.replayable=false")
	w.planDay()
	if _, err := w.executor(&dyingAfter{Store: w.store, commits: 2}).Execute(t.Context(), w.claim("first")); err == nil {
		t.Fatal("it lived")
	}
	w.takeOver()
	w.work()
	w.holds(l.things)
	if l.calls["/search"] != 1 {
		t.Errorf("%v", l.calls)
	}
}

// I4: a batch that failed, was asked for in halves and whose commit was in doubt
// stands in the ledger once.
func TestDoubtAfterAFailure(t *testing.T) {
	l := &list{things: things(20)}
	l.fetch = func(l *list, _ *http.Request, asked []thing) any {
		if l.calls["/fetch"] <= 2 {
			return nonsense{}
		}
		return map[string]any{"items": asked}
	}
	w := byHand(t, l, inTwoSteps)
	w.planDay()
	if out, err := w.executor(&stuttering{Store: w.store, good: 1, bad: 2}).Execute(t.Context(), w.claim("first")); err != nil {
		t.Fatal(out, err)
	}
	w.clock.advance(time.Hour)
	_, err := w.store.Promote(t.Context(), 10)
	w.must(err)
	w.work()
	w.holds(l.things)
}

// stuttering is a store that refuses some commits.
type stuttering struct {
	*store.Store
	good, bad int
}

func (s *stuttering) CommitBatch(ctx context.Context, b ingest.BatchCommit) (ingest.BatchResult, error) {
	if s.good--; s.good < 0 && s.bad > 0 {
		s.bad--
		return ingest.BatchResult{}, errDied
	}
	return s.Store.CommitBatch(ctx, b)
}
