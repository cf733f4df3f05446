package executor

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/testkit/simulated"
	"github.com/patra-ingest/patra/internal/upsim"
)

// since is where the window of these tests begins: half of the works lie before it.
var since = dayFrom.Add(12 * time.Hour)

// A feed is read from its newest item until the dates have passed the window. Whatever
// changes, appears or vanishes while it is read, and however often its worker dies:
// nothing counts as read that is not there (I2), and in the end the window is read.
func TestFeedClaimsWhatWasRead(t *testing.T) {
	for _, f := range simulated.Feeds() {
		for seed := range uint64(12) {
			t.Run(fmt.Sprint(f.Name, "/", seed), func(t *testing.T) {
				feedClaimsWhatWasRead(t, f, seed, inFile)
			})
		}
	}
}

func feedClaimsWhatWasRead(t *testing.T, f simulated.Form, seed uint64, at place) {
	chance := rand.New(rand.NewPCG(seed, 98))
	w := startForm(t, f, 100+chance.IntN(100), "", fmt.Sprintf("window.lookback=PT%dM", 30*chance.IntN(3)))
	at(w)
	w.disturb(chance, 14)
	if n := w.planSince(since, until); n != 1 {
		t.Errorf("%d slices", n)
	}
	w.workAndDie(chance, int(seed%4))
	w.claimsNoMoreThanIsRead()
	if at := w.watermark(); !at.Equal(until) {
		t.Errorf("the watermark stands at %s\n  %s", at, w.story())
	}
	w.checked()
}

// A feed ends where its dates have passed the window: the rest of it is not asked for.
// Pages that are counted are read twice.
func TestFeedStopsBehindItsWindow(t *testing.T) {
	for _, f := range simulated.Feeds() {
		t.Run(f.Name, func(t *testing.T) {
			w := startForm(t, f, 240, "") // ten an hour, on 24 pages
			w.planSince(dayTo.Add(-3*time.Hour), dayTo)
			w.work()
			if gone := w.unread(window.Window{From: dayTo.Add(-3 * time.Hour), To: dayTo}); len(gone) > 0 || !w.believed() {
				t.Errorf("%d works are missing, read: %v\n  %s", len(gone), w.believed(), w.story())
			}
			most := 4
			if !*w.compiled.Snapshot.Paging.Stable {
				most *= 2
			}
			if n := len(w.server.Log()); n > most {
				t.Errorf("%d requests for three pages of 24", n)
			}
			w.checked()
		})
	}
}

// A list that comes oldest first and takes no date ends behind the window too.
func TestListOldestFirstStopsBehindItsWindow(t *testing.T) {
	for _, name := range []string{"token", "keyset-stamp", "offset-blind", "page"} {
		t.Run(name, func(t *testing.T) {
			settings := []string{"filter.bounds=NONE", "window.order=ASC", "request.query.from=", "request.query.until="}
			w := startForm(t, formNamed(t, name), 240, "", settings...)
			to := dayFrom.Add(3 * time.Hour)
			w.planSince(dayFrom, to)
			w.work()
			if gone := w.unread(window.Window{From: dayFrom, To: to}); len(gone) > 0 || !w.watermark().Equal(to) {
				t.Errorf("%d works are missing, the watermark stands at %s\n  %s", len(gone), w.watermark(), w.story())
			}
			if n := len(w.server.Log()); n > 8 {
				t.Errorf("%d requests for three pages of 24", n)
			}
			w.checked()
		})
	}
}

// A feed that is not sorted as its file says is read to its end: whichever way it lies,
// nothing of the window is missing. What comes too late by no more than the lookback is met
// before the walk would have ended.
func TestFeedBelievesNoOrderThatWasOnlyPromised(t *testing.T) {
	for _, f := range simulated.Feeds() {
		if f.Name == "feed-key" { // goes on behind a key, which tells no lies
			continue
		}
		for lie, name := range map[upsim.FeedOrder]string{upsim.OldestFirst: "oldest first", upsim.ByID: "by id", upsim.Pinned: "pinned", upsim.Misplaced: "misplaced"} {
			for seed := range uint64(4) {
				t.Run(fmt.Sprint(f.Name, "/", name, "/", seed), func(t *testing.T) {
					chance := rand.New(rand.NewPCG(seed, 99))
					f := f
					f.Options.Forms.Lies = upsim.Lies{Feed: lie, MisplacedBy: time.Hour}
					w := startForm(t, f, 240, "", "window.lookback=PT1H")
					if seed > 1 {
						w.disturb(chance, 4)
					}
					w.planSince(since, until)
					w.workAndDie(chance, int(seed%2))
					w.claimsNoMoreThanIsRead()
					if n := len(w.server.Log()); n < 24 || !w.watermark().Equal(until) {
						t.Errorf("%d requests for 24 pages, the watermark stands at %s\n  %s", n, w.watermark(), w.story())
					}
					w.checked()
				})
			}
		}
	}
}

// One work stands too far back, by no more than the lookback: the walk goes on until it
// would have met it.
func TestFeedMeetsAWorkThatStandsTooFarBack(t *testing.T) {
	for _, by := range []time.Duration{time.Hour, 30 * time.Minute} {
		f := simulated.Feeds()[0]
		w := startForm(t, f, 240, "", "window.lookback=PT1H")
		first := upsim.Truth{Indexed: dayTo}
		for truth := range w.data.Heads() {
			if !truth.Indexed.Before(since) && truth.Indexed.Before(first.Indexed) {
				first = truth
			}
		}
		w.server.SetLies(upsim.Lies{Feed: upsim.Misplaced, MisplacedBy: by, MisplacedID: first.DOI})
		w.planSince(since, until)
		w.work()
		w.claimsNoMoreThanIsRead()
		if !w.watermark().Equal(until) {
			t.Errorf("the watermark stands at %s\n  %s", w.watermark(), w.story())
		}
	}
}

// onRequest lets the test act before an answer is made; n counts requests from 1.
func (w *formWorld) onRequest(act func(n int, offset string)) {
	w.Helper()
	n := 0
	w.must(w.server.SetFaults([]upsim.Fault{{Kind: upsim.FaultSlow, Delay: time.Microsecond, When: func(h upsim.Hit) bool {
		n++
		act(n, h.Params.Get("offset"))
		return false
	}}}))
}

// newestOf returns the n-th newest work.
func (w *formWorld) newestOf(n int) string {
	w.Helper()
	var all []upsim.Truth
	for truth := range w.data.Heads() {
		all = append(all, truth)
	}
	slices.SortFunc(all, func(a, b upsim.Truth) int { return b.Indexed.Compare(a.Indexed) })
	return all[n].DOI
}

// A feed grows at its front all the time: what is pushed to a later page is no sign of
// another order, and two readings of the window agree all the same.
func TestFeedSettlesWhileItGrows(t *testing.T) {
	for _, name := range []string{"feed-offset", "feed-page"} {
		t.Run(name, func(t *testing.T) {
			w := startForm(t, feedNamed(t, name), 240, "", "retry.taskAttempts=1")
			w.onRequest(func(n int, _ string) {
				for k := range 3 {
					_, err := w.data.Add(fmt.Sprintf("10.5555/new-%d-%d", n, k), dayTo.Add(time.Duration(3*n+k)*time.Second))
					w.must(err)
				}
			})
			w.planSince(dayTo.Add(-6*time.Hour), dayTo)
			w.work()
			w.claimsNoMoreThanIsRead()
			if n := len(w.server.Log()); !w.believed() || n > 30 {
				t.Errorf("%d requests, read: %v\n  %s", n, w.believed(), w.story())
			}
			w.checked()
		})
	}
}

// Two readings lack the same work, because in both something that stood before it left just
// then. What left is seen by the second, so they do not agree.
func TestFeedIsNotSettledWhileWorksLeaveIt(t *testing.T) {
	w := startForm(t, feedNamed(t, "feed-offset"), 240, "")
	to := dayTo.Add(-90 * time.Minute) // fifteen works lie behind the window
	left, begun := 0, 0
	w.onRequest(func(_ int, offset string) {
		switch {
		case offset == "20" && left < 2:
			w.must(w.data.Remove(w.newestOf(3)))
			left++
		case offset == "0" || offset == "":
			if begun++; begun == 2 {
				_, err := w.data.Add("10.5555/new", dayTo.Add(time.Second))
				w.must(err)
			}
		}
	})
	w.planSince(dayTo.Add(-6*time.Hour), to)
	w.work()
	w.claimsNoMoreThanIsRead()
	if left != 2 || !w.watermark().Equal(to) {
		t.Errorf("%d left, the watermark stands at %s\n  %s", left, w.watermark(), w.story())
	}
	w.checked()
}

// A worker dies in the middle, works come in at the front, and the next one meets items that
// it does not know: they are no sign of another order.
func TestFeedGoesOnAfterItsWorkerDied(t *testing.T) {
	for _, f := range simulated.Feeds() {
		t.Run(f.Name, func(t *testing.T) {
			w := startForm(t, f, 400, "")
			w.planSince(dayTo.Add(-6*time.Hour), dayTo)
			work, err := w.store.Claim(t.Context(), ingest.ClaimRequest{PartitionID: 1, Owner: "worker", Token: "first", Lease: time.Minute, Max: 1})
			w.must(err)
			_, err = New(&dyingAfter{Store: w.store, commits: 3}, w.chain, nil, w.config, slog.New(slog.DiscardHandler)).Execute(t.Context(), work[0])
			if err != nil && !errors.Is(err, errDied) {
				t.Fatal(err)
			}
			for k := range 4 {
				_, err := w.data.Add("", dayTo.Add(time.Duration(k)*time.Second))
				w.must(err)
			}
			w.clock.advance(time.Hour)
			_, err = w.store.Reap(t.Context(), 100)
			w.must(err)
			w.work()
			w.claimsNoMoreThanIsRead()
			if n := len(w.server.Log()); n > 36 || !w.believed() {
				t.Errorf("%d requests of 41 pages, read: %v\n  %s", n, w.believed(), w.story())
			}
			w.checked()
		})
	}
}

// An order that was found broken stays so: a second reading that looks sorted is not enough
// for an early end.
func TestFeedRemembersThatItWasUnsorted(t *testing.T) {
	f := feedNamed(t, "feed-offset")
	f.Options.Forms.Lies = upsim.Lies{Feed: upsim.Pinned}
	w := startForm(t, f, 240, "")
	w.onRequest(func(n int, _ string) {
		if n == 3 {
			w.server.SetLies(upsim.Lies{})
		}
	})
	w.planSince(dayTo.Add(-3*time.Hour), dayTo)
	w.work()
	w.claimsNoMoreThanIsRead()
	if n := len(w.server.Log()); n < 48 || !w.believed() {
		t.Errorf("%d requests, read: %v\n  %s", n, w.believed(), w.story())
	}
	doubts, err := w.store.Doubts(w.Context(), "")
	if err != nil || len(doubts) != 1 || doubts[0].Unsorted != 1 {
		t.Errorf("a broken order is told once: %+v %v", doubts, err)
	}
}

func feedNamed(t *testing.T, name string) simulated.Form {
	t.Helper()
	for _, f := range simulated.Feeds() {
		if f.Name == name {
			return f
		}
	}
	t.Fatal("no feed " + name)
	return simulated.Form{}
}

// Answers that are wrong once, and items that are shown beside the list: nothing of the
// window is missing, although no total is held against a list that is read in part.
func TestFeedSurvivesAFault(t *testing.T) {
	for _, f := range simulated.Feeds() {
		for _, fault := range []string{
			"duplicate-page@page:3:times=1", "duplicate-page@page:2:times=1", "lost-next@page:2:times=1", "short-page@page:2:times=1", "empty-page@page:3:times=1",
			"shift-remove@page:3:times=1", "expire-cursor@page:3:times=1:status=410", "pinned-item@page:2:times=1", "pinned-item@*", "foreign-item@page:3:times=2",
			"missing-id@page:2:times=1", "500@2-3", "html-200@3", "truncate-json@2", "lost-answer@3",
		} {
			t.Run(f.Name+"/"+fault, func(t *testing.T) {
				w := startForm(t, f, 240, fault)
				w.planSince(since, until)
				w.work()
				if !w.watermark().Equal(until) {
					t.Errorf("the watermark stands at %s\n  %s", w.watermark(), w.story())
				}
				if fault != "missing-id@page:2:times=1" {
					w.claimsNoMoreThanIsRead()
				}
				w.checked()
			})
		}
	}
}

// Works of one stamp lie on both sides of a page: the page that ends with the stamp at which
// the window begins is not the last one.
func TestFeedGoesOnThroughOneStamp(t *testing.T) {
	for _, f := range simulated.Feeds() {
		for _, many := range []int{9, 11, 25} {
			t.Run(fmt.Sprint(f.Name, "/", many), func(t *testing.T) {
				w := startForm(t, f, 120, "")
				n := 0
				for truth := range w.data.Heads() {
					if n++; n <= many {
						w.must(w.data.Touch(truth.DOI, since, false))
					}
				}
				w.planSince(since, dayTo)
				w.work()
				w.claimsNoMoreThanIsRead()
				if !w.believed() {
					t.Errorf("the window is not read\n  %s", w.story())
				}
				w.checked()
			})
		}
	}
}

// A feed of one page is read if it reaches back behind the window; if not, what is missing
// is told.
func TestFeedOfOnePage(t *testing.T) {
	for _, c := range []struct {
		from  time.Time
		whole bool
	}{{dayTo.Add(-2 * time.Hour), true}, {dayTo.Add(-20 * time.Hour), false}} {
		w := startForm(t, simulated.FeedOfOnePage(), 240, "", "paging.size=40", "retry.taskAttempts=1")
		w.planSince(c.from, dayTo)
		w.work()
		w.claimsNoMoreThanIsRead()
		if w.believed() != c.whole {
			t.Errorf("from %s: read: %v\n  %s", c.from, w.believed(), w.story())
		}
		w.checked()
	}
}

// A feed that comes to a limit before it has passed the window is not read, and says so.
func TestFeedThatComesToALimit(t *testing.T) {
	for _, limit := range []string{"slicing.maxRequests=4", "paging.maxPages=4", "paging.maxResults=40"} {
		t.Run(limit, func(t *testing.T) {
			w := startForm(t, simulated.Feeds()[0], 240, "", limit, "retry.taskAttempts=1")
			w.planSince(since, dayTo)
			w.work()
			w.claimsNoMoreThanIsRead()
			if w.believed() {
				t.Errorf("four pages of a dozen were read, and the window counts as read\n  %s", w.story())
			}
			w.checked()
		})
	}
}

// A run that went on in the middle did not see the items of the first pages, so it cannot tell
// whether one of them has left: the pass after it proves nothing, and one more is needed.
func TestFeedThatWasResumedProvesNothing(t *testing.T) {
	seen := map[uint64]struct{}{7: {}}
	for _, resumed := range []bool{false, true} {
		pass := feed{order: window.Descending, resumed: resumed, ahead: seen}
		next := pass.again()
		delete(next.missing, 7) // it still stands there
		if next.noneLeft() == resumed {
			t.Errorf("resumed %v: nothing has left: %v", resumed, next.noneLeft())
		}
		seen = map[uint64]struct{}{7: {}}
	}
}
