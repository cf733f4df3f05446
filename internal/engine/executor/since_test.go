package executor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/engine/planner"
	"github.com/patra-ingest/patra/internal/testkit/simulated"
	"github.com/patra-ingest/patra/internal/upsim"
)

// sinceOnly turns a list that takes both ends into one that takes the lower one.
func sinceOnly(settings ...string) []string {
	return append([]string{"filter.bounds=FROM", "request.query.until="}, settings...)
}

// sinceForms are lists that take a lower bound alone: sorted by stamp, and by id.
func sinceForms(t *testing.T) (out []simulated.Form) {
	for _, name := range []string{"token", "token-same", "links", "keyset-stamp", "keyset", "offset", "page", "offset-blind"} {
		out = append(out, formNamed(t, name))
	}
	return out
}

func sortedByStamp(f simulated.Form) bool { return f.Name != "keyset" }

// moves reports whether places are counted, so that what changes moves the rest.
func moves(f simulated.Form) bool { return strings.HasPrefix(f.Name, "offset") || f.Name == "page" }

// until is where the window of these tests ends: a third of the works lies behind it.
var until = dayFrom.Add(16 * time.Hour)

// planSince plans the window and returns how many slices there are.
func (w *formWorld) planSince(from, to time.Time) int {
	w.Helper()
	if w.origin.IsZero() || from.Before(w.origin) {
		w.origin = from
	}
	_, d, err := planner.New(w.store).Plan(w.Context(), w.compiled, planner.Request{
		Now: w.clock.read(), From: &from, To: &to, TriggerKey: fmt.Sprint("test ", from, to), Scheduler: "TEST", Type: ingest.TriggerManual,
	})
	w.must(err)
	return len(d.Slices)
}

// disturb lets the upstream change between two answers: works of the window change, which
// moves them behind it, new ones appear there, and some vanish.
func (w *formWorld) disturb(chance *rand.Rand, times int) {
	w.Helper()
	w.must(w.server.SetFaults([]upsim.Fault{{Kind: upsim.FaultSlow, Delay: time.Microsecond, When: func(upsim.Hit) bool {
		if times == 0 || chance.IntN(2) == 0 {
			return false
		}
		times--
		var all []upsim.Truth
		for truth := range w.data.Heads() {
			all = append(all, truth)
		}
		one, at := all[chance.IntN(len(all))], dayTo.Add(time.Duration(times)*time.Second)
		switch chance.IntN(4) {
		case 0:
			_, _ = w.data.Add(fmt.Sprintf("10.5555/new-%d", times), at)
		case 1:
			_ = w.data.Remove(one.DOI)
		default:
			_ = w.data.Touch(one.DOI, at, true)
		}
		return false
	}}}))
}

// watermark returns where the watermark stands; the start of the day before the first one.
func (w *formWorld) watermark() time.Time {
	w.Helper()
	cursors, err := w.store.Cursors(w.Context(), w.compiled.Snapshot.Source)
	w.must(err)
	if len(cursors) == 0 || cursors[0].Instant.IsZero() {
		return dayFrom
	}
	return cursors[0].Instant
}

// claimsNoMoreThanIsRead expects every work below the watermark to be stored as it is (I2).
func (w *formWorld) claimsNoMoreThanIsRead() {
	w.Helper()
	records, err := w.store.Records(w.Context(), w.compiled.Snapshot.Source, simulated.Endpoint, nil, 10_000)
	w.must(err)
	stored := map[string]view.Record{}
	for _, r := range records {
		stored[r.ID] = r
	}
	claimed := window.Window{From: w.origin, To: w.watermark()}
	for truth := range w.data.Heads() {
		if claimed.Contains(truth.Indexed) && !stored[truth.DOI].UpdatedAt.Equal(truth.Indexed) {
			w.Fatalf("%s of %s is missing, and the watermark stands at %s\n  %s", truth.DOI, window.Text(truth.Indexed), window.Text(claimed.To), w.story())
		}
	}
}

// workAndDie works until nothing is left to do, with workers that die at some commit, and
// looks after every step whether more is claimed than was read.
func (w *formWorld) workAndDie(chance *rand.Rand, deaths int) {
	w.Helper()
	plans := planner.New(w.store)
	for round := range 200 {
		work, err := w.store.Claim(w.Context(), ingest.ClaimRequest{PartitionID: 1, Owner: "worker", Token: fmt.Sprint("round-", round), Lease: time.Minute, Max: 1})
		w.must(err)
		switch {
		case len(work) == 1 && deaths > 0 && chance.IntN(2) == 0:
			deaths--
			dying := &dyingAfter{Store: w.store, commits: chance.IntN(6)}
			out, err := New(dying, w.chain, nil, w.config, slog.New(slog.DiscardHandler)).Execute(w.Context(), work[0])
			if err != nil && !errors.Is(err, errDied) && !errors.Is(err, context.Canceled) {
				w.Fatal(err)
			}
			w.outcomes = append(w.outcomes, out)
			w.clock.advance(time.Hour)
			_, err = w.store.Reap(w.Context(), 100)
			w.must(err)
		case len(work) == 1:
			out, err := New(w.store, w.chain, nil, w.config, slog.New(slog.DiscardHandler)).Execute(w.Context(), work[0])
			w.must(err)
			w.outcomes = append(w.outcomes, out)
		default:
			w.clock.advance(time.Hour)
			promoted, err := w.store.Promote(w.Context(), 100)
			w.must(err)
			replaced, err := plans.Reslice(w.Context())
			w.must(err)
			if promoted == 0 && replaced == 0 {
				return
			}
		}
		w.claimsNoMoreThanIsRead()
	}
	w.Fatal("the work does not end\n  " + w.story())
}

// A list that takes only a lower bound is read by one slice. Whatever changes, appears or
// vanishes while it is read, and however often its worker dies: nothing counts as read
// that is not there (I2), after every step, and in the end all of the window is read.
func TestSinceClaimsWhatWasRead(t *testing.T) {
	for _, f := range sinceForms(t) {
		for seed := range uint64(5) {
			t.Run(fmt.Sprint(f.Name, "/", seed), func(t *testing.T) {
				sinceClaimsWhatWasRead(t, f, seed, inFile)
			})
		}
	}
}

func sinceClaimsWhatWasRead(t *testing.T, f simulated.Form, seed uint64, at place) {
	chance := rand.New(rand.NewPCG(seed, 21))
	settings := sinceOnly(fmt.Sprint("window.ordered=", sortedByStamp(f)))
	w := startForm(t, f, 60+chance.IntN(60), "", settings...)
	at(w)
	w.disturb(chance, 12)
	if n := w.planSince(dayFrom, until); n != 1 {
		t.Errorf("%d slices", n)
	}
	w.workAndDie(chance, int(seed%3))
	if at := w.watermark(); !at.Equal(until) {
		t.Errorf("the watermark stands at %s\n  %s", at, w.story())
	}
	w.checked()
}

// A slice that comes to its limit keeps what it has passed where the list is sorted by the
// date, upwards, and was seen to be. What is left is asked for from there.
func TestSinceKeepsASortedPrefix(t *testing.T) {
	for _, f := range sinceForms(t) {
		for seed := range uint64(4) {
			t.Run(fmt.Sprint(f.Name, "/", seed), func(t *testing.T) {
				chance := rand.New(rand.NewPCG(seed, 22))
				limit := fmt.Sprint("slicing.maxRequests=", 3+chance.IntN(4))
				w := startForm(t, f, 110, "", sinceOnly(fmt.Sprint("window.ordered=", sortedByStamp(f)), limit)...)
				w.disturb(chance, 6)
				w.planSince(dayFrom, until)
				w.workAndDie(chance, int(seed%2))
				whole := w.watermark().Equal(until)
				switch keeps := sortedByStamp(f) && !moves(f); {
				case keeps && !whole:
					t.Errorf("the watermark stands at %s\n  %s", w.watermark(), w.story())
				case !keeps && (whole || !strings.Contains(w.story(), "BUDGET")):
					t.Errorf("nothing shows how far such a list was read, and the watermark stands at %s\n  %s", w.watermark(), w.story())
				}
				w.checked()
			})
		}
	}
}

// Behind the window a list without an upper bound grows all the time. Where its dates were
// seen to rise, two readings agree all the same.
func TestSinceSettlesOnAListThatGrows(t *testing.T) {
	for _, name := range []string{"offset", "offset-blind", "page"} {
		t.Run(name, func(t *testing.T) {
			w := startForm(t, formNamed(t, name), 60, "", sinceOnly("retry.taskAttempts=1")...)
			n := 0
			w.must(w.server.SetFaults([]upsim.Fault{{Kind: upsim.FaultSlow, Delay: time.Microsecond, When: func(upsim.Hit) bool {
				n++
				_, err := w.data.Add(fmt.Sprintf("10.5555/new-%d", n), dayTo.Add(time.Duration(n)*time.Second))
				w.must(err)
				return false
			}}}))
			w.planSince(dayFrom, until)
			w.workAndDie(rand.New(rand.NewPCG(1, 1)), 0)
			if !w.watermark().Equal(until) {
				t.Errorf("the watermark stands at %s\n  %s", w.watermark(), w.story())
			}
			w.checked()
		})
	}
}

// Items of many works have the same stamp: one that is on the next page must not be taken
// for read because the last one of this page has its stamp.
func TestSinceStopsBeforeAStampThatGoesOn(t *testing.T) {
	for _, name := range []string{"token", "keyset-stamp"} {
		for requests := 2; requests < 7; requests++ {
			t.Run(fmt.Sprint(name, "/", requests), func(t *testing.T) {
				w := startForm(t, formNamed(t, name), 60, "", sinceOnly("window.ordered=true", fmt.Sprint("slicing.maxRequests=", requests))...)
				at := dayFrom.Add(2 * time.Hour)
				n := 0
				for truth := range w.data.Heads() {
					if n++; truth.Indexed.Before(until) {
						w.must(w.data.Touch(truth.DOI, at.Add(time.Duration(n/25)*time.Minute), false))
					}
				}
				w.planSince(dayFrom, until)
				w.workAndDie(rand.New(rand.NewPCG(1, 1)), 0)
				w.checked()
			})
		}
	}
}

// A list that is not sorted as its file says, or by other dates than it shows, leaves no
// prefix: all of the slice stays owed.
func TestSinceBelievesNoOrderThatWasOnlyPromised(t *testing.T) {
	for _, off := range []time.Duration{time.Hour, -time.Hour, -10 * time.Minute} {
		t.Run(off.String(), func(t *testing.T) {
			f := formNamed(t, "token")
			f.Options.Forms.Lies.FilterOff = off
			w := startForm(t, f, 200, "", sinceOnly("slicing.maxRequests=6", "window.ordered=true")...)
			w.planSince(dayFrom.AddDate(0, 0, -1), until)
			w.workAndDie(rand.New(rand.NewPCG(1, 1)), 0)
			if off < 0 && w.watermark().After(dayFrom) {
				t.Errorf("a part counts as read, and the filter means other dates\n  %s", w.story())
			}
			w.checked()
		})
	}
}

// I2: the upstream says what lies behind a lower bound. What it shows is kept, also behind
// the end of the window: where its filter means another date than it shows, the harvest
// that follows would not get it.
func TestSinceKeepsWhatTheUpstreamChose(t *testing.T) {
	for _, off := range []time.Duration{0, time.Hour, -time.Hour} {
		t.Run(off.String(), func(t *testing.T) {
			f := formNamed(t, "token")
			f.Options.Forms.Lies.FilterOff = off
			w := startForm(t, f, 100, "", sinceOnly()...)
			w.planSince(dayFrom.AddDate(0, 0, -1), until)
			w.work()
			w.planSince(until, dayTo.AddDate(0, 0, 1))
			w.work()
			if gone := w.unread(window.Window{From: dayFrom, To: dayTo}); len(gone) > 0 {
				t.Errorf("%d works are missing, and all of the time counts as read\n  %s", len(gone), w.story())
			}
			w.checked()
		})
	}
}

// A harvest that owes two stretches with something settled between them asks once, from
// the older one on.
func TestSinceReadsTwoStretchesAsOne(t *testing.T) {
	w := startForm(t, formNamed(t, "token"), 60, "500@*", sinceOnly("retry.taskAttempts=1", "retry.maxAttempts=1")...)
	w.planSince(dayFrom, dayFrom.Add(8*time.Hour))
	w.work()
	w.must(w.server.SetFaults(nil))
	w.planSince(dayFrom.Add(8*time.Hour), until)
	w.work()
	if at := w.watermark(); !at.Equal(dayFrom) {
		t.Fatalf("the watermark stands at %s", at)
	}
	w.clock.advance(48 * time.Hour)
	before := len(w.server.Log())
	if n := w.planSince(dayFrom, dayTo); n != 1 {
		t.Errorf("%d slices", n)
	}
	w.work()
	if gone := w.unread(window.Window{From: dayFrom, To: dayTo}); len(gone) > 0 {
		t.Errorf("%d works are missing", len(gone))
	}
	if walks := slices.DeleteFunc(w.server.Log()[before:], func(e upsim.Entry) bool { return e.Query.Get("token") != "" }); len(walks) != 1 || !w.watermark().Equal(dayTo) {
		t.Errorf("%d walks, the watermark stands at %s\n  %s", len(walks), w.watermark(), w.story())
	}
	w.checked()
}
