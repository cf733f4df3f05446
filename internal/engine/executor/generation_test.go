package executor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/engine/planner"
	"github.com/patra-ingest/patra/internal/testkit/simulated"
	"github.com/patra-ingest/patra/internal/upsim"
)

// startWhole starts a list that takes no date and is read whole.
func startWhole(t *testing.T, form string, items int, settings ...string) *formWorld {
	w := startForm(t, formNamed(t, form), items, "", append([]string{"filter.bounds=NONE", "request.query.until=", "request.query.from=", "snapshot.every=P1D"}, settings...)...)
	if !w.compiled.Snapshot.ReadsWhole() {
		t.Fatal("the list is not read whole")
	}
	return w
}

// readWhole reads the list once, hours after the last reading, with workers that die a few times.
func (w *formWorld) readWhole(after time.Duration, deaths int) (last ingest.Outcome) {
	w.Helper()
	w.clock.advance(after)
	now := w.clock.read().Truncate(time.Microsecond)
	plan, d, err := planner.New(w.store).Plan(w.Context(), w.compiled, planner.Request{Now: now, TriggerKey: fmt.Sprint("whole ", now), Scheduler: "TEST", Type: ingest.TriggerManual})
	w.must(err)
	if len(d.Slices) != 1 || !plan.Window.To.Equal(now) {
		w.Fatalf("%d slices over %s", len(d.Slices), plan.Window)
	}
	chance := rand.New(rand.NewPCG(uint64(now.Unix()), 4))
	for round := range 100 {
		work, err := w.store.Claim(w.Context(), ingest.ClaimRequest{PartitionID: 1, Owner: "worker", Token: fmt.Sprint("whole-", now.Unix(), "-", round), Lease: time.Minute, Max: 1})
		w.must(err)
		switch {
		case len(work) == 1 && deaths > 0:
			deaths--
			dying := &dyingAfter{Store: w.store, commits: chance.IntN(5)}
			if _, err := New(dying, w.chain, nil, w.config, slog.New(slog.DiscardHandler)).Execute(w.Context(), work[0]); err != nil && !errors.Is(err, errDied) && !errors.Is(err, context.Canceled) {
				w.Fatal(err)
			}
			w.clock.advance(2 * time.Minute)
			_, err = w.store.Reap(w.Context(), 100)
			w.must(err)
		case len(work) == 1:
			last, err = New(w.store, w.chain, nil, w.config, slog.New(slog.DiscardHandler)).Execute(w.Context(), work[0])
			w.must(err)
			w.outcomes = append(w.outcomes, last)
			if last.Task.Terminal() {
				return last
			}
		default:
			w.clock.advance(time.Hour)
			_, err := w.store.Promote(w.Context(), 100)
			w.must(err)
		}
	}
	w.Fatal("the reading does not end\n  " + w.story())
	return last
}

// countStates counts the stored records by their state.
func (w *formWorld) countStates() map[string]int {
	w.Helper()
	records, err := w.store.Records(w.Context(), w.compiled.Snapshot.Source, simulated.Endpoint, nil, 10_000)
	w.must(err)
	out := map[string]int{}
	for _, r := range records {
		out[string(r.State)]++
	}
	return out
}

// drop removes so many works from the upstream.
func (w *formWorld) drop(n int) {
	w.Helper()
	var all []upsim.Truth
	for truth := range w.data.Heads() {
		all = append(all, truth)
	}
	for _, truth := range all[:n] {
		w.must(w.data.Remove(truth.DOI))
	}
}

// A list that is read whole is read at every harvest. Whatever appears, changes and vanishes
// while it is read, and however often its worker dies: if the reading counts, everything is
// stored that was there all the time, and in the end all that is there (I2).
func TestWholeListClaimsWhatWasRead(t *testing.T) {
	for _, form := range []string{"token", "links", "offset", "page"} {
		for seed := range uint64(4) {
			t.Run(fmt.Sprint(form, "/", seed), func(t *testing.T) {
				wholeClaimsWhatWasRead(t, form, seed, inFile)
			})
		}
	}
}

func wholeClaimsWhatWasRead(t *testing.T, form string, seed uint64, at place) {
	chance := rand.New(rand.NewPCG(seed, 8))
	w := startWhole(t, form, 60+chance.IntN(60))
	at(w)
	before := map[string]time.Time{}
	for truth := range w.data.Heads() {
		before[truth.DOI] = truth.Indexed
	}
	w.disturb(chance, 12)
	o := w.readWhole(time.Hour, int(seed%3))
	w.must(w.server.SetFaults(nil))
	if stays := map[string]time.Time{}; o.Task == ingest.TaskSucceeded {
		for truth := range w.data.Heads() {
			if before[truth.DOI].Equal(truth.Indexed) {
				stays[truth.DOI] = truth.Indexed
			}
		}
		w.storedAre(stays)
	}
	if o := w.readWhole(25*time.Hour, int(seed%2)); o.Task != ingest.TaskSucceeded {
		t.Fatalf("%+v\n  %s", o, w.story())
	}
	all := map[string]time.Time{}
	for truth := range w.data.Heads() {
		all[truth.DOI] = truth.Indexed
	}
	w.storedAre(all)
	w.checked()
}

// storedAre expects works to be stored as they are.
func (w *formWorld) storedAre(want map[string]time.Time) {
	w.Helper()
	records, err := w.store.Records(w.Context(), w.compiled.Snapshot.Source, simulated.Endpoint, nil, 10_000)
	w.must(err)
	stored := map[string]view.Record{}
	for _, r := range records {
		stored[r.ID] = r
	}
	for id, at := range want {
		if stored[id].UpdatedAt.Before(at) { // the stamps of one that changes twice fall
			w.Fatalf("%s of %s is not stored\n  %s", id, at, w.story())
		}
	}
}

// Records that leave the list are gone when two readings lack them, most of a day apart.
func TestWholeListBuriesWhatVanished(t *testing.T) {
	w := startWhole(t, "token", 100)
	w.readWhole(time.Hour, 0)
	w.drop(5)
	w.readWhole(25*time.Hour, 0)
	w.readWhole(time.Hour, 0)
	if n := w.countStates(); n["GONE"] != 0 || n["ACTIVE"] != 100 {
		t.Fatalf("too soon: %v", n)
	}
	if o := w.readWhole(25*time.Hour, 2); o.Task != ingest.TaskSucceeded {
		t.Fatalf("%+v", o)
	}
	if n := w.countStates(); n["GONE"] != 5 || n["ACTIVE"] != 95 {
		t.Fatalf("a day later: %v\n  %s", n, w.story())
	}
	w.drop(30)
	for range 3 {
		w.readWhole(25*time.Hour, 0)
	}
	if n := w.countStates(); n["GONE"] != 5 {
		t.Fatalf("more than snapshot.maxGone: %v", n)
	}
	w.checked()
}

// A list that lacks more than half of what it had is stored and does not count, until a reading
// most of a day later shows the same.
func TestShrunkListDoesNotCount(t *testing.T) {
	w := startWhole(t, "offset", 100)
	w.readWhole(time.Hour, 0)
	at := w.watermark()
	w.drop(60)
	for _, after := range []time.Duration{25 * time.Hour, time.Hour} {
		if o := w.readWhole(after, 1); o.Task != ingest.TaskFailed || o.Code != "SHRUNK" || !strings.Contains(o.Error, "40 of the 100 ids") {
			t.Fatalf("%+v", o)
		}
		if got := w.watermark(); !got.Equal(at) {
			t.Fatalf("the watermark moved to %s", got)
		}
	}
	if o := w.readWhole(24*time.Hour, 0); o.Task != ingest.TaskSucceeded {
		t.Fatalf("%+v", o)
	}
	if got := w.watermark(); !got.After(at.Add(40 * time.Hour)) {
		t.Errorf("the watermark stands at %s", got)
	}
	w.checked()
}
