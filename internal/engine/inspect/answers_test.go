package inspect

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/health"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

func TestBooksIgnoreWhatTheSourceNoLongerAsks(t *testing.T) {
	l := crossref(t)
	other, field := l.cursors[0], l.cursors[0]
	other.ID, other.NamespaceKey, other.Origin = 2, "else", march(1).AddDate(0, -1, 0)
	field.ID, field.Key = 3, "deposited"
	l.cursors = append(l.cursors, other, field)
	books, err := l.inspector().CoverageOf(t.Context(), l.sources["crossref"])
	if err != nil || len(books.All) != 1 || books.All[0].Cursor.ID != 1 {
		t.Fatalf("%+v %v", books, err)
	}
	if i := books.Ignored; len(i) != 2 || i[0].Cursor.ID != 2 || i[0].OtherField || i[1].Cursor.ID != 3 || !i[1].OtherField {
		t.Errorf("%+v", i)
	}
	b := books.All[0]
	if b.Earlier.CursorID != 0 { // both are newer, and were not the source's own
		t.Errorf("%+v", b.Earlier)
	}
	r, err := b.Range(RangeQuery{})
	if err != nil || r.Window != days(1, 4) || !r.Before || !r.SafeTo.After(march(4)) || r.Cut != nil {
		t.Errorf("%+v %v", r, err)
	}
	far := march(1).AddDate(90, 0, 0)
	if r, err = b.Range(RangeQuery{To: &far}); err != nil || r.Cut == nil || !r.Window.To.Equal(b.Safe) {
		t.Errorf("%+v %v", r, err)
	}
}

func TestAnEndpointThatNobodyHarvestedHasNoRange(t *testing.T) {
	l := crossref(t)
	l.cursors = nil
	books, err := l.inspector().CoverageOf(t.Context(), l.sources["crossref"])
	if err != nil || len(books.All) != 1 || books.All[0].Expected() {
		t.Fatalf("%+v %v", books, err)
	}
	if _, err := books.All[0].Range(RangeQuery{}); !errors.Is(err, fault.ErrNotFound) {
		t.Errorf("%v", err)
	}
	known := EndpointCoverage{Cursor: view.Cursor{ID: 1}}
	if q := (RangeQuery{}); !q.Skips(books.All[0], append(books.All, known)) || q.Skips(books.All[0], books.All) || q.Skips(known, []EndpointCoverage{known}) {
		t.Error("an endpoint is skipped only where others were harvested")
	}
}

func TestReasonsOfGaps(t *testing.T) {
	l := crossref(t)
	l.failed = []view.Marked{{Window: days(2, 3), Code: string(fault.Capped)}}
	l.cursors[0].Left = []window.Window{{From: march(1).AddDate(0, 0, -2), To: march(1)}}
	books, err := l.inspector().CoverageOf(t.Context(), l.sources["crossref"])
	if err != nil {
		t.Fatal(err)
	}
	b := books.All[0]
	b.Earlier = Earlier{CursorID: 4, Origin: march(1).AddDate(0, 0, -1)}
	var got []view.GapReason
	for _, g := range b.Gaps(window.Window{From: march(1).AddDate(0, 0, -2), To: march(5)}, true) {
		if got = append(got, g.Reason); g.State != g.Reason.State() || g.State == "" {
			t.Errorf("%+v", g)
		}
	}
	if want := []view.GapReason{view.GapLeft, view.GapCapped, view.GapOwed, view.GapOtherQuestion}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestPlannedPartsOfGapsAreToldApart(t *testing.T) {
	l := crossref(t)
	books, err := l.inspector().CoverageOf(t.Context(), l.sources["crossref"])
	if err != nil {
		t.Fatal(err)
	}
	b := books.All[0]
	half := march(2).Add(12 * time.Hour)
	l.open = []window.Window{{From: march(2), To: half}}
	l.campaigns = []ingest.Campaign{{NewCampaign: ingest.NewCampaign{Name: "c", Dataset: b.dataset(), ExprProtoHash: b.Asks.Question, Range: days(3, 4)}, State: ingest.CampaignActive}}
	gaps, err := l.inspector().MarkPlanned(t.Context(), b, b.Gaps(days(1, 4), true))
	if err != nil || len(gaps) != 3 {
		t.Fatalf("%+v %v", gaps, err)
	}
	if gaps[0].Planned == nil || gaps[0].Planned.Campaign != "" || gaps[1].Planned != nil || gaps[1].Window.From != half || gaps[2].Planned == nil || gaps[2].Planned.Campaign != "c" {
		t.Errorf("%+v", gaps)
	}
	missing, err := l.inspector().Missing(t.Context(), b, b.Gaps(window.Window{From: march(1).AddDate(0, 0, -1), To: march(4)}, false))
	if err != nil || missing.Open != 1 || !slices.Equal(missing.Owed, []window.Window{{From: half, To: march(4)}}) || !slices.Equal(missing.History, []window.Window{{From: march(1).AddDate(0, 0, -1), To: march(1)}}) {
		t.Errorf("%+v %v", missing, err)
	}
}

// What failed is tried again from its retry time on, or at once after what may have
// made it fail was changed.
func TestOwed(t *testing.T) {
	l := crossref(t)
	compiled, err := l.Compile(t.Context(), "crossref", "works", ingest.Harvest, nil)
	if err != nil {
		t.Fatal(err)
	}
	owed, err := l.inspector().Owed(t.Context(), compiled)
	if err != nil || !slices.Equal(owed.Windows, []window.Window{days(2, 3)}) || !owed.RetryFrom.Equal(march(21)) || owed.OnlyCapped() {
		t.Errorf("%+v %v", owed, err)
	}
	l.mended, l.failed = march(30), []view.Marked{{Window: days(2, 3), Code: string(fault.Capped)}}
	if owed, err = l.inspector().Owed(t.Context(), compiled); err != nil || !owed.RetryFrom.IsZero() || !owed.OnlyCapped() {
		t.Errorf("%+v %v", owed, err)
	}
}

func TestStandstills(t *testing.T) {
	task := func(status ingest.TaskStatus, change func(*view.Task)) []view.Task {
		t := view.Task{ID: 1, Operation: string(ingest.Harvest), Status: string(status)}
		change(&t)
		return []view.Task{t}
	}
	ended := []view.Run{{ID: 5, Operation: string(ingest.Harvest), Error: "no such host", ErrorCode: "NETWORK", FinishedAt: march(1)}}
	vanished := []view.Run{{Operation: string(ingest.Harvest), Error: "gone", ErrorCode: ingest.LeaseExpired, FinishedAt: march(1)}}
	for name, c := range map[string]struct {
		ledger ledger
		want   view.StandstillReason
		failed bool
	}{
		"no cause is known":         {ledger{}, view.StandsSilently, false},
		"a run failed":              {ledger{runs: ended}, view.StandsRepeating, true},
		"a worker vanished":         {ledger{runs: vanished}, view.StandsSilently, false},
		"tries of ours failed":      {ledger{tries: 2}, view.StandsRepeating, true},
		"a task waits at the gate":  {ledger{tasks: task(ingest.TaskQueued, func(t *view.Task) { t.Waits = &view.Waiting{} })}, view.StandsAtGate, false},
		"of another operation":      {ledger{tasks: task(ingest.TaskQueued, func(t *view.Task) { t.Waits, t.Operation = &view.Waiting{}, "UPDATE" })}, view.StandsSilently, false},
		"a task is tried again":     {ledger{tasks: task(ingest.TaskScheduled, func(t *view.Task) { t.Attempts = 1 }), runs: ended}, view.StandsForRetry, true},
		"tasks are due later":       {ledger{tasks: task(ingest.TaskScheduled, func(*view.Task) {}), due: march(3)}, view.StandsNotDue, false},
		"nothing is planned":        {ledger{conditions: []view.Condition{{Source: "s", Condition: health.Overstocked}}}, view.StandsHeld, false},
		"trouble of another source": {ledger{conditions: []view.Condition{{Source: "other", Condition: health.Overstocked}}}, view.StandsSilently, false},
	} {
		got, err := c.ledger.inspector().Standstill(t.Context(), ingest.Partition{Dataset: ingest.Dataset{Source: "s"}, Operation: ingest.Harvest})
		if err != nil || got.Reason != c.want || got.Failed() != c.failed {
			t.Errorf("%s: %+v %v", name, got, err)
		}
	}
}

func TestVerdicts(t *testing.T) {
	down := view.Failure{Code: "REFUSED", Slices: 2}
	rejected := ingest.RunStats{BatchStats: ingest.BatchStats{Quarantined: 3, Known: 1}}
	for name, c := range map[string]struct {
		result Result
		want   view.VerdictCode
		count  int
	}{
		"all covered":                  {Result{Slices: map[string]int{"SUCCEEDED": 2}}, view.Complete, 0},
		"some failed":                  {Result{Slices: map[string]int{"SUCCEEDED": 1, "FAILED": 2}, Failures: []view.Failure{down}}, view.NotCovered, 2},
		"all failed alike":             {Result{Slices: map[string]int{"FAILED": 2}, Failures: []view.Failure{down}}, view.OneCause, 2},
		"all failed, not alike":        {Result{Slices: map[string]int{"FAILED": 2}, Failures: []view.Failure{down, {Code: "BAD_BODY"}}}, view.NotCovered, 2},
		"cancelled":                    {Result{Slices: map[string]int{"SUCCEEDED": 1, "CANCELLED": 2}}, view.AllCancelled, 2},
		"cut smaller":                  {Result{Slices: map[string]int{"SUCCEEDED": 2, "PARTIAL": 1}, Replaced: 1}, view.Complete, 0},
		"failed before and read since": {Result{Slices: map[string]int{"FAILED": 2}, Continued: true, Owed: &view.Owed{}}, view.Complete, 0},
		"failed before, nobody looked": {Result{Slices: map[string]int{"FAILED": 2}, Continued: true}, view.NotCovered, 2},
		"waits for its retry":          {Result{Waiting: []window.Window{days(1, 2)}}, view.StillWaiting, 0},
		"rejected items":               {Result{Stats: rejected}, view.ItemsRejected, 2},
		"decided about":                {Result{Stats: rejected, Decided: true}, view.Complete, 0},
	} {
		if got := c.result.HarvestVerdict(); got.Code != c.want || got.Count != c.count {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := (Result{Stats: ingest.RunStats{Refresh: ingest.RefreshTally{Left: 4}}}).UpdateVerdict(1); got.Code != view.RecordsLeft || got.Count != 4 {
		t.Errorf("%+v", got)
	}
	before, after := view.Campaign{}, view.Campaign{Stats: rejected}
	if got := CampaignVerdict(ingest.CampaignCompleted, "", before, after); got.Code != view.ItemsRejected || got.Count != 2 {
		t.Errorf("%+v", got)
	}
	if got := CampaignVerdict(ingest.CampaignPaused, "somebody", before, after); got.Code != view.Incomplete || got.Reason != "somebody" {
		t.Errorf("%+v", got)
	}
	if got := PartsOf([]window.Window{days(1, 2), days(3, 4)}, 36*time.Hour); got != 2 {
		t.Errorf("%d parts", got)
	}
}

// The same reason in two plans is one reason; the most frequent one comes first.
func TestFailuresOfPlansAreJoined(t *testing.T) {
	l := &ledger{failures: map[int64][]view.Failure{1: {{Code: "A", Slices: 2}, {Code: "B", Slices: 1}}, 2: {{Code: "B", Slices: 4}}}}
	if got := l.inspector().Failures(t.Context(), []int64{1, 2}); len(got) != 2 || got[0] != (view.Failure{Code: "B", Slices: 5}) || got[1].Slices != 2 {
		t.Errorf("%+v", got)
	}
}

func TestPendingVersions(t *testing.T) {
	l := crossref(t)
	stored := l.sources["crossref"]
	changed := *stored
	changed.Name = "another name"
	line := VersionLine{Begins: []time.Time{march(1), march(25)}, Now: march(20)}
	for name, c := range map[string]struct {
		src        *registry.Source
		options    registry.ApplyOptions
		want       view.ApplyOutcome
		superseded int
		until      time.Time
	}{
		"the same":                {stored, registry.ApplyOptions{}, view.Unchanged, 0, march(25)},
		"a change, now":           {&changed, registry.ApplyOptions{}, view.Pending, 0, march(25)},
		"a change, takes back":    {&changed, registry.ApplyOptions{CancelScheduled: true}, view.Pending, 1, time.Time{}},
		"in place of a scheduled": {&changed, registry.ApplyOptions{From: march(25)}, view.Pending, 1, time.Time{}},
	} {
		got, err := line.Pending(stored, c.src, c.options)
		if err != nil || got.Outcome != c.want || got.Superseded != c.superseded || !got.Until.Equal(c.until) || (got.Rows > 0) != (c.src == &changed) {
			t.Errorf("%s: %+v %v", name, got, err)
		}
	}
	var past PastError
	if _, err := line.Pending(stored, &changed, registry.ApplyOptions{From: march(2)}); !errors.As(err, &past) || !errors.Is(err, fault.ErrInvalid) {
		t.Errorf("%v", err)
	}
	if got := line.Outcome(registry.Applied{Rows: 1, From: march(30)}); got.Outcome != view.Scheduled || !got.Waits {
		t.Errorf("%+v", got)
	}
}
