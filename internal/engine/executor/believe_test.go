package executor

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/engine/planner"
	"github.com/patra-ingest/patra/internal/testkit/simulated"
	"github.com/patra-ingest/patra/internal/upsim"
)

// planFrom plans another stretch than the day.
func (w *formWorld) planFrom(from, to time.Time) {
	w.Helper()
	_, _, err := planner.New(w.store).Plan(w.Context(), w.compiled, planner.Request{
		Now: w.clock.read(), From: &from, To: &to, TriggerKey: "test", Scheduler: "TEST", Type: ingest.TriggerManual,
	})
	w.must(err)
}

// lostWorks are works that are not stored at all, whatever their stamp.
func (w *formWorld) lostWorks() (out []string) {
	w.Helper()
	records, err := w.store.Records(w.Context(), w.compiled.Snapshot.Source, simulated.Endpoint, nil, 10_000)
	w.must(err)
	stored := map[string]bool{}
	for _, r := range records {
		stored[r.ID] = true
	}
	for truth := range w.data.Heads() {
		if !stored[truth.DOI] {
			out = append(out, truth.DOI)
		}
	}
	return out
}

// total is the account of all runs.
func (w *formWorld) total() (sum ingest.RunStats) {
	for _, o := range w.outcomes {
		sum = sum.Add(o.Stats)
	}
	return sum
}

// D§5.11: what the upstream's own filter selected is kept, whatever its stamp
// says; that the two disagree is counted, and told with the length of it.
func TestBelieve01WhatTheFilterSelectedIsKept(t *testing.T) {
	for name, tc := range map[string]struct {
		lies    upsim.Lies
		step    string
		outside bool
		says    string
	}{
		"the truth":                      {upsim.Lies{}, "PT3H", false, ""},
		"an hour ahead":                  {upsim.Lies{FilterOff: time.Hour}, "PT3H", true, "the filter and the stamps disagree by about 1 h"},
		"an hour behind":                 {upsim.Lies{FilterOff: -time.Hour}, "PT3H", true, "the filter and the stamps disagree by about 1 h"},
		"eight hours, in slices of one":  {upsim.Lies{FilterOff: 8 * time.Hour}, "PT1H", true, "the filter and the stamps disagree by about 8 h"},
		"stamps rounded up to a minute":  {upsim.Lies{RoundUp: time.Minute}, "PT15M", true, "the filter and the stamps disagree by less than 1 s"},
		"stamps rounded up to ten hours": {upsim.Lies{RoundUp: 10 * time.Hour}, "PT3H", true, "the filter and the stamps disagree by about 9 h"},
	} {
		for _, form := range []string{"offset", "token", "search"} {
			t.Run(name+"/"+form, func(t *testing.T) {
				f := formNamed(t, form)
				f.Options.Forms.Lies = tc.lies
				w := startForm(t, f, 200, "", "slicing.step="+tc.step)
				w.planFrom(dayFrom.AddDate(0, 0, -1), dayTo.AddDate(0, 0, 1))
				w.work()
				if lost := w.lostWorks(); len(lost) > 0 {
					t.Errorf("%d works are missing, and everything counts as read", len(lost))
				}
				sum := w.total()
				if sum.Outside != 0 || !sum.Balanced() || (sum.OutsideKept > 0) != tc.outside || sum.Inserted != 200 {
					t.Errorf("%+v", sum.BatchStats)
				}
				w.checked()
				doubts, err := w.store.Doubts(t.Context(), "")
				w.must(err)
				var told []string
				for _, d := range doubts {
					told = append(told, d.Findings()...)
				}
				if tc.says == "" && len(told) > 0 || !strings.Contains(strings.Join(told, "\n"), tc.says) {
					t.Errorf("told %q, want %q", told, tc.says)
				}
			})
		}
	}
}

// A source that is asked by whole days is not suspect for the rest of a day that
// a window cuts, and what came of that rest is kept.
func TestBelieve01WholeDaysAreNotSuspect(t *testing.T) {
	w := startForm(t, formNamed(t, "token"), 200, "", "filter.precision=DAY", "filter.format=yyyy-MM-ddT00:00:00Z")
	w.planFrom(dayFrom.Add(6*time.Hour), dayTo.Add(-6*time.Hour))
	w.work()
	if sum := w.total(); sum.Outside+sum.OutsideKept != 0 || sum.Inserted != 200 {
		t.Errorf("%+v", sum.BatchStats)
	}
	if doubts, err := w.store.Doubts(t.Context(), ""); err != nil || len(doubts) > 0 && len(doubts[0].Findings()) > 0 {
		t.Errorf("%+v %v", doubts, err)
	}
}

// Where we filter ourselves, what lies outside of the slice is dropped: the list
// has everything, and other slices read the rest.
func TestBelieve01WeDropWhatWeFilter(t *testing.T) {
	f := formNamed(t, "token")
	w := startForm(t, f, 200, "", "window.updatedSince=false", "window.ordered=true", "request.query.from=", "request.query.until=", "slicing.step=PT6H")
	w.harvest()
	w.whole()
	if sum := w.total(); sum.Inserted != 200 || sum.Outside != 3*200 || sum.OutsideKept != 0 {
		t.Errorf("%+v", sum.BatchStats)
	}
	if doubts, err := w.store.Doubts(t.Context(), ""); err != nil || len(doubts) > 0 && len(doubts[0].Findings()) > 0 {
		t.Errorf("%+v %v", doubts, err)
	}
}

// The share that is tolerated is a key of the source.
func TestBelieve01TheShareIsAKey(t *testing.T) {
	for share, found := range map[string]int{"0.9": 0, "0.01": 1} {
		t.Run(share, func(t *testing.T) {
			f := formNamed(t, "token")
			f.Options.Forms.Lies.FilterOff = time.Hour
			w := startForm(t, f, 200, "", "slicing.step=PT3H", "filter.maxOutsideShare="+share)
			w.planFrom(dayFrom.AddDate(0, 0, -1), dayTo.AddDate(0, 0, 1))
			w.work()
			doubts, err := w.store.Doubts(t.Context(), w.compiled.Snapshot.Source)
			w.must(err)
			if len(doubts) != 1 || len(doubts[0].Findings()) != found {
				t.Errorf("%s", fmt.Sprint(doubts))
			}
		})
	}
}

// D§5.15: items that have another name than the source says are not an empty page.
func TestBelieve02RenamedItemsAreNoEmptyPage(t *testing.T) {
	f := formNamed(t, "search-xml")
	f.Options.Forms.Lies.Renamed = true
	w := startForm(t, f, 13, "", "retry.taskAttempts=1")
	w.harvest()
	w.honest()
	if out := w.outcomes[0]; w.believed() || out.Task != ingest.TaskFailed || out.Code != "BAD_BODY" || !strings.Contains(out.Error, "other elements in their place") {
		t.Error(w.story())
	}
}

// A total that is an estimate does not fail a slice; that less came is told.
func TestBelieve02ShortfallOfAnEstimate(t *testing.T) {
	for fault, want := range map[string]string{
		"total-wrong@*:total=60": "1 of 1 lists read in the last 7 days ended with fewer items than the source estimated: 45 of 60",
		"total-wrong@*:total=45": "", "total-wrong@*:total=30": "", "total-missing@*": "",
	} {
		t.Run(fault, func(t *testing.T) {
			w := startForm(t, formNamed(t, "token"), 45, fault, "paging.expectTotal=false")
			w.harvest()
			w.struck()
			w.whole()
			doubts, err := w.store.Doubts(t.Context(), "")
			w.must(err)
			if len(doubts) != 1 {
				t.Fatalf("%+v", doubts)
			}
			if told := strings.Join(doubts[0].Findings(), "\n"); (told == "") != (want == "") || !strings.Contains(told, want) {
				t.Errorf("%q, want %q", told, want)
			}
		})
	}
}
