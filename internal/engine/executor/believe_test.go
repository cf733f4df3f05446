package executor

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/refresh"
	"github.com/patra-ingest/patra/internal/core/skew"
	"github.com/patra-ingest/patra/internal/core/view"
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
		"an hour ahead":                  {upsim.Lies{FilterOff: time.Hour}, "PT3H", true, "FILTER_DISAGREES about 1 h"},
		"an hour behind":                 {upsim.Lies{FilterOff: -time.Hour}, "PT3H", true, "FILTER_DISAGREES about 1 h"},
		"eight hours, in slices of one":  {upsim.Lies{FilterOff: 8 * time.Hour}, "PT1H", true, "FILTER_DISAGREES about 8 h"},
		"stamps rounded up to a minute":  {upsim.Lies{RoundUp: time.Minute}, "PT15M", true, "FILTER_DISAGREES less than 1 s"},
		"stamps rounded up to ten hours": {upsim.Lies{RoundUp: 10 * time.Hour}, "PT3H", true, "FILTER_DISAGREES about 9 h"},
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
					for _, code := range d.Findings() {
						told = append(told, string(code)+" "+skew.About(d.Apart.Typical()))
					}
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

// Where we filter ourselves, what lies outside of the slice is dropped, and the list
// is read once: all that is owed is one slice, whatever slicing.step says.
func TestBelieve01WeDropWhatWeFilter(t *testing.T) {
	f := formNamed(t, "token")
	w := startForm(t, f, 200, "", "window.updatedSince=false", "window.ordered=true", "request.query.from=", "request.query.until=", "slicing.step=PT6H")
	for i := range 50 { // works of the day after
		_, err := w.data.Add(fmt.Sprintf("10.5555/later-%d", i), dayTo.Add(time.Duration(i)*time.Minute))
		w.must(err)
	}
	w.harvest()
	w.whole()
	if sum := w.total(); sum.Inserted != 200 || sum.Outside != 50 || sum.OutsideKept != 0 {
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
	for fault, want := range map[string]view.Doubt{
		"total-wrong@*:total=60": {Lists: 1, ShortLists: 1, Delivered: 45, Announced: 60},
		"total-wrong@*:total=45": {}, "total-wrong@*:total=30": {}, "total-missing@*": {},
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
			got := doubts[0]
			if !slices.Equal(got.Findings(), want.Findings()) || len(want.Findings()) > 0 && (got.Lists != want.Lists || got.ShortLists != want.ShortLists || got.Delivered != want.Delivered || got.Announced != want.Announced) {
				t.Errorf("%+v, want %+v", got, want)
			}
		})
	}
}

// An answer about others than those that were asked for is no answer: nothing of it
// is stored, and nobody is taken for missing or deleted by it.
func TestBelieve11OtherRecordsAreNoAnswer(t *testing.T) {
	for _, policy := range []string{"RECHECK", "QUARANTINE", "GONE"} {
		t.Run(policy, func(t *testing.T) {
			f := formNamed(t, "search")
			f.Options.Forms.Lies.OtherRecords = true
			w := startForm(t, f, 30, "", "details.missing="+policy, "retry.taskAttempts=1")
			w.harvest()
			w.honest()
			if out := w.outcomes[len(w.outcomes)-1]; w.believed() || out.Code != "BAD_BODY" || !strings.Contains(out.Error, "none of the") {
				t.Error(w.story())
			}
			if sum := w.total(); sum.Inserted+sum.Gone+sum.Quarantined != 0 {
				t.Errorf("%+v", sum.BatchStats)
			}
		})
	}
}

// What came beside what was asked for is kept, but speaks for nobody: the ids that
// did not come are missing, and too many of them fail the slice.
func TestBelieve11StrangersSpeakForNobody(t *testing.T) {
	l := &list{things: things(20)}
	l.fetch = func(_ *list, _ *http.Request, asked []thing) any {
		out := asked[:1:1] // one of eight, and as many strangers as anybody could wish for
		for i := range 30 {
			out = append(out, thing{ID: fmt.Sprint("stranger", i), Updated: dayFrom.Add(time.Hour)})
		}
		return map[string]any{"items": out}
	}
	w := byHand(t, l, inTwoSteps)
	w.harvest()
	if out := w.outcomes[len(w.outcomes)-1]; w.believed() || out.Task != ingest.TaskFailed || out.Code != "REJECT_RATE" {
		t.Error(w.story())
	}
	w.checked()
}

// The same holds where stored records are looked at again: answers about others
// bury nobody, and nobody counts as looked at.
func TestBelieve11UpdatesBuryNobodyForOthers(t *testing.T) {
	l := newLibrary(t, things(40))
	l.harvestAll(declared{})
	l.list.fetch = func(_ *list, _ *http.Request, asked []thing) any {
		var out []thing
		for i := range asked {
			out = append(out, thing{ID: fmt.Sprint("stranger", i), Updated: dayFrom.Add(time.Hour)})
		}
		return map[string]any{"items": out}
	}
	began := l.clock.read()
	var ids []string
	for _, one := range things(40) {
		ids = append(ids, one.ID)
	}
	l.signal(refresh.MissingField, ids...)
	l.update(l.compile(ingest.Update, declared{}), refresh.Spec{Policy: refresh.BySignal})
	all := l.records()
	if len(all) != 40 {
		t.Errorf("%d records", len(all))
	}
	for id, r := range all {
		if r.State != "ACTIVE" || !r.CheckedAt.Before(began) {
			t.Errorf("%s is %s, looked at %s", id, r.State, r.CheckedAt)
		}
	}
	if sum := l.total(); sum.Gone+sum.Inserted+sum.Refresh.Checked != 0 {
		t.Errorf("%+v", sum)
	}
	l.isolated()
}

// I2: dates show how far a sorted walk has come only if the filter means the same
// dates. A slice that ends early is not believed to have read what its stamps passed.
func TestBelieve01StampsAheadProveNoPrefix(t *testing.T) {
	for _, off := range []time.Duration{0, time.Hour, -time.Hour, -10 * time.Minute} {
		t.Run(off.String(), func(t *testing.T) {
			f := formNamed(t, "token")
			f.Options.Forms.Lies.FilterOff = off
			w := startForm(t, f, 200, "", "slicing.maxRequests=6", "window.ordered=true")
			w.planFrom(dayFrom.AddDate(0, 0, -1), dayTo.AddDate(0, 0, 1))
			w.work()
			if lost := w.lostWorks(); len(lost) > 0 {
				t.Errorf("%d works are missing, and everything counts as read\n  %s", len(lost), w.story())
			}
			w.checked()
		})
	}
}
