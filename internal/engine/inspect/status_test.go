package inspect

import (
	"slices"
	"testing"
	"time"

	"github.com/patra-ingest/patra/catalog"
	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/health"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/integrity"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/threshold"
	"github.com/patra-ingest/patra/internal/core/trust"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

// crossref is a source with one endpoint that was harvested from 1 to 5 March: the
// first day was read, the second failed, the third is owed.
func crossref(t *testing.T) *ledger {
	t.Helper()
	text, err := catalog.Read("crossref")
	if err != nil {
		t.Fatal(err)
	}
	src, _, err := registry.Decode("crossref.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	l := &ledger{now: march(20), sources: map[string]*registry.Source{"crossref": src}, executors: 1}
	compiled, err := l.CompileSource(src, "works", ingest.Harvest)
	if err != nil {
		t.Fatal(err)
	}
	at, err := compiled.Namespace()
	if err != nil {
		t.Fatal(err)
	}
	l.cursors = []view.Cursor{{ID: 1, Source: "crossref", Endpoint: "works", Operation: string(at.Operation), Key: at.CursorKey, Scope: string(at.Scope),
		NamespaceKey: at.Key, Type: string(ingest.CursorTime), Origin: march(1), Instant: march(2)}}
	l.segments = map[int64][]coverage.Segment{1: {
		{Window: days(1, 2), Want: march(9), Have: march(9)}, {Window: days(2, 3), Want: march(9), Fails: 2, RetryAfter: march(21)}, {Window: days(3, 4), Want: march(9)},
	}}
	return l
}

func codes(s view.Status) (out []view.FindingCode) {
	for _, f := range s.Findings {
		out = append(out, f.Code)
	}
	return out
}

func (l *ledger) status(t *testing.T, q StatusQuery) view.Status {
	t.Helper()
	s, err := l.inspector().Status(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStatusTellsGapsThatNobodyWorksOn(t *testing.T) {
	l := crossref(t)
	l.tasks = []view.Task{{ID: 7, Window: days(2, 3), Status: string(ingest.TaskFailed), Error: "no"}}
	l.open = []window.Window{days(3, 4)}
	s := l.status(t, StatusQuery{})
	if len(s.Sources) != 1 || s.Sources[0].InWork != 1 || s.Sources[0].Failed != 1 || s.Sources[0].LagSec != (18*24*time.Hour).Seconds() {
		t.Errorf("%+v", s.Sources)
	}
	if got := codes(s); !slices.Equal(got, []view.FindingCode{view.FoundGap}) {
		t.Fatalf("%v", got)
	}
	f := s.Findings[0]
	if f.Severity != view.Critical || f.Gap.Window != days(2, 3) || f.Gap.Reason != view.GapFailed || !f.Gap.Waits || !f.Until.Equal(march(21)) || f.Subject != (view.Subject{Source: "crossref", Endpoint: "works", CursorID: 1}) {
		t.Errorf("%+v %+v", f, f.Gap)
	}
	if f.Task == nil || f.Task.ID != 7 || f.Error != "no" || f.Heals || f.Next != "patra harvest crossref --endpoint works --retry" {
		t.Errorf("the failure is no fact of its gap: %+v", f)
	}
}

// One source that cannot be read is told, and hides no other.
// What rules of a source left out is told of the last week, whatever the operation, and is no finding.
func TestStatusTellsWhatRulesLeftOut(t *testing.T) {
	l := crossref(t)
	l.open = []window.Window{days(2, 3), days(3, 4)}
	sum := func(endpoint string, op ingest.Operation, at time.Time, n int64) view.WorkSum {
		return view.WorkSum{Source: "crossref", Endpoint: endpoint, Operation: op, From: at, Items: view.ItemSums{Seen: n, Excluded: n}}
	}
	l.sums = []view.WorkSum{sum("works", ingest.Harvest, l.now.Add(-8*24*time.Hour), 1000), sum("works", ingest.Harvest, l.now.Add(-6*24*time.Hour), 30),
		sum("works", ingest.Backfill, l.now.Add(-time.Hour), 4), sum("other", ingest.Harvest, l.now.Add(-time.Hour), 500)}
	s := l.status(t, StatusQuery{})
	if len(s.Sources) != 1 || s.Sources[0].Excluded != 34 {
		t.Errorf("%+v", s.Sources)
	}
	if got := codes(s); len(got) != 0 {
		t.Errorf("findings %v", got)
	}
}

func TestStatusTellsOfSourcesItCannotRead(t *testing.T) {
	l := crossref(t)
	l.cursors = append(l.cursors, view.Cursor{ID: 2, Source: "lost", Endpoint: "e", Operation: string(ingest.Harvest), Type: string(ingest.CursorTime), Instant: march(5)})
	s := l.status(t, StatusQuery{})
	if len(s.Sources) != 2 || s.Sources[1].Source != "lost" || !s.Sources[1].FreshTo.Equal(march(5)) {
		t.Errorf("%+v", s.Sources)
	}
	if f := s.Findings[len(s.Findings)-1]; f.Code != view.FoundUnreadable || f.Subject.Source != "lost" || f.Error == "" {
		t.Errorf("%+v", f)
	}
}

func TestStatusTellsWhatBelongsToNoWatermark(t *testing.T) {
	week := 7 * 24 * time.Hour
	backfill := ingest.Campaign{NewCampaign: ingest.NewCampaign{Name: "old", Dataset: ingest.Dataset{Source: "crossref", Endpoint: "works"}}, State: ingest.CampaignActive, CursorID: 9}
	stuck := backfill
	stuck.Note = "no rights"
	for name, c := range map[string]struct {
		set  func(*ledger)
		want []view.FindingCode
	}{
		"nothing":                 {func(*ledger) {}, nil},
		"tasks wait for a worker": {func(l *ledger) { l.workload = []view.Workload{{Waiting: 2}} }, nil},
		"tasks wait for nobody":   {func(l *ledger) { l.workload, l.executors = []view.Workload{{Waiting: 2}}, 0 }, []view.FindingCode{view.FoundNoWorker}},
		"a slice begins again":    {func(l *ledger) { l.restarts = []view.StartedOver{{Restarts: 3}} }, []view.FindingCode{view.FoundStartedOver}},
		"rejected items":          {func(l *ledger) { l.rejects = map[ingest.Dataset]int64{{Source: "s"}: 1} }, []view.FindingCode{view.FoundQuarantined}},
		"paused":                  {func(l *ledger) { l.pauses = []ingest.Pause{{}} }, []view.FindingCode{view.FoundPaused}},
		"a condition":             {func(l *ledger) { l.conditions = []view.Condition{{Condition: health.Slow}} }, []view.FindingCode{view.FoundCondition}},
		"a broken order":          {func(l *ledger) { l.doubts = []view.Doubt{{Unsorted: 1}} }, []view.FindingCode{view.FoundUnsorted}},
		"unannounced records":     {func(l *ledger) { l.doubts = []view.Doubt{{Swept: 1}} }, []view.FindingCode{view.FoundUnannounced}},
		"vanished and held":       {func(l *ledger) { l.doubts = []view.Doubt{{Held: "too many"}} }, []view.FindingCode{view.FoundVanished}},
		"short lists":             {func(l *ledger) { l.doubts = []view.Doubt{{ShortLists: 1}} }, []view.FindingCode{view.FoundShortLists}},
		"dead events":             {func(l *ledger) { l.backlogs = []view.Backlog{{Dead: 1}} }, []view.FindingCode{view.FoundDeadEvents}},
		"events for nobody":       {func(l *ledger) { l.backlogs = []view.Backlog{{Waiting: 1, Since: march(1)}} }, nil},
		"events that were relayed": {func(l *ledger) {
			l.backlogs = []view.Backlog{{Waiting: 1, Since: march(1), Relayed: true, TriedAt: march(19)}}
		}, []view.FindingCode{view.FoundUnrelayed}},
		"a relay that falls behind": {func(l *ledger) { l.relays, l.backlogs = 1, []view.Backlog{{Waiting: 1, Since: march(1)}} }, []view.FindingCode{view.FoundEventsBehind}},
		"a receiver that is away": {func(l *ledger) {
			l.relays, l.backlogs = 1, []view.Backlog{{Waiting: 1, Since: march(1), Away: []view.Away{{}}}}
		}, []view.FindingCode{view.FoundReceiverAway}},
		"away, and nobody misses it":   {func(l *ledger) { l.relays, l.backlogs = 1, []view.Backlog{{Away: []view.Away{{}}}} }, nil},
		"damage":                       {func(l *ledger) { l.check = integrity.Last{Found: 1} }, []view.FindingCode{view.FoundDamaged}},
		"undelivered":                  {func(l *ledger) { l.undelivered = []view.Undelivered{{Receiver: "mail", Messages: 2}} }, []view.FindingCode{view.FoundUndelivered}},
		"never checked":                {func(l *ledger) { l.check = integrity.Last{CreatedAt: march(1)} }, []view.FindingCode{view.FoundNeverChecked}},
		"checked long ago":             {func(l *ledger) { l.check = integrity.Last{At: march(1)} }, []view.FindingCode{view.FoundCheckTooOld}},
		"a clock that is ahead":        {func(l *ledger) { l.apart = time.Minute }, []view.FindingCode{view.FoundClockOff}},
		"a clock that is behind":       {func(l *ledger) { l.apart = -time.Minute }, []view.FindingCode{view.FoundClockOff}},
		"a clock that is nearly right": {func(l *ledger) { l.apart = -threshold.Default().ClockOff }, nil},
		"nobody agreed":                {func(l *ledger) { l.untrusted = []trust.Stopped{{What: "source mine"}} }, []view.FindingCode{view.FoundUntrusted}},
		"a campaign somebody works on": {func(l *ledger) { l.campaigns = []ingest.Campaign{backfill} }, nil},
		"alerts that do not arrive":    {func(l *ledger) { l.undelivered = []view.Undelivered{{Receiver: "mail"}} }, []view.FindingCode{view.FoundUndelivered}},
		"a campaign that waits":        {func(l *ledger) { l.campaigns, l.executors = []ingest.Campaign{backfill}, 0 }, []view.FindingCode{view.FoundCampaignIdle}},
		"a campaign that is stuck":     {func(l *ledger) { l.campaigns = []ingest.Campaign{stuck} }, []view.FindingCode{view.FoundCampaignStuck}},
	} {
		l := &ledger{now: march(20), executors: 1}
		c.set(l)
		got := l.status(t, StatusQuery{EventsAge: UsualEventsAge, CheckAge: week})
		if !slices.Equal(codes(got), c.want) {
			t.Errorf("%s: %v, want %v", name, codes(got), c.want)
		}
		for _, f := range got.Findings {
			if f.Severity == "" || f.Next == "" {
				t.Errorf("%s: %s has severity %q and next %q", name, f.Code, f.Severity, f.Next)
			}
		}
	}
}

// What failed in the book of a campaign is told with its name, unless it was cancelled.
func TestStatusTellsWhatCampaignsGaveUp(t *testing.T) {
	for state, want := range map[ingest.CampaignState]int{ingest.CampaignActive: 1, ingest.CampaignCancelled: 0} {
		l := &ledger{now: march(20), executors: 1, segments: map[int64][]coverage.Segment{9: {{Window: days(1, 2), Want: march(9), Fails: 1}}}}
		l.campaigns = []ingest.Campaign{{NewCampaign: ingest.NewCampaign{Name: "old"}, State: state, CursorID: 9}}
		l.cursors = []view.Cursor{{ID: 9, Source: "lost", Endpoint: "e", Operation: string(ingest.Backfill), Type: string(ingest.CursorTime)}}
		s := l.status(t, StatusQuery{})
		found := slices.DeleteFunc(s.Findings, func(f view.Finding) bool { return f.Code != view.FoundRanges })
		if len(found) != want || want > 0 && (found[0].Subject.Campaign != "old" || found[0].Windows[0] != days(1, 2)) {
			t.Errorf("%s: %+v", state, found)
		}
	}
}
