package metrics

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/health"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/measure"
	"github.com/patra-ingest/patra/internal/core/view"
)

func partitionNo(n int) ingest.Partition {
	return ingest.Partition{Dataset: ingest.Dataset{Source: fmt.Sprintf("source-%d", n), Endpoint: "works"}, Operation: ingest.Harvest}
}

// work lets a meter see one of everything.
func work(m *Meter, of ingest.Partition) {
	m.NoteAttempt(of, measure.Attempt{Status: 200, Took: time.Second, Waited: time.Millisecond, Bytes: 1000})
	m.NoteAttempt(of, measure.Attempt{Status: 429, Took: time.Second})
	m.NoteAttempt(of, measure.Attempt{Status: 9999})
	m.NoteAttempt(of, measure.Attempt{Unsent: true})
	m.NoteAttempt(of, measure.Attempt{Refused: gate.OverDeadline})
	m.NoteFailure(of, measure.Failure{Level: fault.Transient, Again: true})
	m.NoteBatch(of, measure.Batch{Stored: true, Stats: ingest.BatchStats{Seen: 5, Inserted: 3, Unchanged: 2}, Took: time.Second, Commit: time.Millisecond})
	m.NoteBatch(of, measure.Batch{})
	o := ingest.Outcome{Run: ingest.RunSucceeded}
	o.Stats.Actions.Count(health.Reslice, 2)
	m.NoteRun(of, measure.Run{Outcome: o, Covered: true})
}

// world is what stored rows may say: one of everything.
func world(at time.Time) view.Gauges {
	perSecond := 2.5
	return view.Gauges{
		At: at, Took: time.Second,
		Status: view.Status{
			Now: at, Processes: 1,
			Sources:  []view.SourceStatus{{Source: "source-0", Endpoint: "works", CursorID: 7, FreshTo: at.Add(-time.Hour), LagSec: 3600, Gaps: make([]view.Gap, 2), Quarantined: 4}},
			Events:   []view.Backlog{{Source: "source-0", Endpoint: "works", Waiting: 3, Since: at.Add(-time.Minute)}},
			Findings: []view.Finding{{Code: view.FoundGap, Severity: view.Critical}, {Code: view.FoundGap, Severity: view.Critical}},
		},
		Work: []view.Workload{{Source: "source-0", Endpoint: "works", Operation: "HARVEST", Running: 1, Waiting: 9}},
		Rates: []view.RateKey{{Key: "source-0", PerSecond: &perSecond, Quotas: []view.RateQuota{{Name: "day", Left: 40, Usable: 100}},
			Processes: []view.RateReport{{}, {State: gate.Snapshot{Shared: true}}}}},
		Breakers: map[ingest.Dataset]view.RateBreaker{{Source: "source-0", Endpoint: "works"}: {State: fault.BreakerOpen}},
		Raw:      &view.RawRoom{Bytes: 1000, Limit: 5000},
		Backfill: []view.CampaignLag{{Source: "source-0", Endpoint: "works", Ahead: 48 * time.Hour}},
	}
}

func about() About {
	return About{Version: "1.2.3", Database: "sqlite", Store: func() (begun, redone int64, waited time.Duration) { return 10, 2, time.Second }}
}

func textOf(t *testing.T, m *Meter) string {
	t.Helper()
	families, err := newRegistry(m, about()).Gather()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := writeFamilies(&out, families); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestWhatWasDoneIsShown(t *testing.T) {
	m := NewMeter()
	work(m, partitionNo(0))
	m.NoteTakeovers(3)
	m.Show(world(time.Now()), time.Now())
	text := textOf(t, m)
	of := `endpoint="works",op="HARVEST"`
	for _, want := range []string{
		`patra_ingest_batches_total{` + of + `,outcome="stored",source="source-0"} 1`,
		`patra_ingest_batches_total{` + of + `,outcome="failed",source="source-0"} 1`,
		`patra_ingest_items_total{action="insert",` + of + `,source="source-0"} 3`,
		`patra_ingest_http_requests_total{class="2xx",` + of + `,source="source-0"} 1`,
		`patra_ingest_http_requests_total{class="4xx",` + of + `,source="source-0"} 1`,
		`patra_ingest_http_requests_total{class="none",` + of + `,source="source-0"} 1`,
		`patra_ingest_http_received_bytes_total{` + of + `,source="source-0"} 1000`,
		`patra_ingest_429_total{` + of + `,source="source-0"} 1`,
		`patra_ingest_retries_total{` + of + `,source="source-0"} 1`,
		`patra_ingest_errors_total{endpoint="works",level="L1",op="HARVEST",source="source-0"} 1`,
		`patra_ingest_errors_total{endpoint="works",level="L4",op="HARVEST",source="source-0"} 0`,
		`patra_ingest_permits_refused_total{reason="` + string(gate.OverDeadline) + `",source="source-0"} 1`,
		`patra_ingest_permit_wait_seconds_count{source="source-0"} 4`,
		`patra_ingest_http_latency_seconds_count{` + of + `,source="source-0"} 3`,
		`patra_ingest_batch_latency_seconds_count{` + of + `,source="source-0"} 1`,
		`patra_ingest_commit_seconds_count 1`,
		`patra_ingest_self_heal_events_total{` + of + `,source="source-0",type="RESLICE"} 2`,
		`patra_ingest_runs_total{` + of + `,source="source-0",status="SUCCEEDED"} 1`,
		`patra_ingest_cursor_advance_events_total{direction="FORWARD",` + of + `,source="source-0"} 1`,
		`patra_ingest_lease_takeovers_total 3`,
		`patra_ingest_store_redone_total 2`,
		`patra_ingest_tasks_queued{` + of + `,source="source-0"} 9`,
		`patra_ingest_coverage_gaps{endpoint="works",source="source-0"} 2`,
		`patra_ingest_findings{code="GAP",severity="CRITICAL"} 2`,
		`patra_ingest_budget_remaining{key="source-0",quota="day"} 40`,
		`patra_ingest_gate_mode{key="source-0",mode="shared"} 1`,
		`patra_ingest_breaker_state{endpoint="works",source="source-0",state="OPEN"} 1`,
		`patra_ingest_cursor_lag_seconds{endpoint="works",ns="worst",op="BACKFILL",source="source-0"} 172800`,
		"patra_ingest_raw_bytes 1000", "patra_ingest_raw_limit_bytes 5000",
		"go_goroutines", `version="1.2.3"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %s", want)
		}
	}
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, prefix) {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}

// A lag that cannot be read must not look well.
func TestLagGrowsWhileNothingIsRead(t *testing.T) {
	m, at := NewMeter(), time.Now()
	m.Show(world(at), at)
	got := map[string]float64{}
	m.gauges.collectGauges(at.Add(10*time.Minute), func(of *Definition, value float64, labels ...string) {
		got[of.Name+strings.Join(labels, ",")] = value
	})
	for name, want := range map[string]float64{
		lag.Name + "source-0,works,HARVEST,7": 4200, eventLag.Name + "source-0,works": 660, queued.Name + "source-0,works,HARVEST": 9,
	} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
}

// 1,000 sources with 10,000 namespaces, nine of ten of them campaigns, and processes that
// met more partitions than anybody declares.
func TestSeriesAreBounded(t *testing.T) {
	m, at := NewMeter(), time.Now()
	g := view.Gauges{At: at, Status: view.Status{Now: at}}
	for n := range 1000 {
		source := partitionNo(n).Source
		g.Status.Sources = append(g.Status.Sources, view.SourceStatus{Source: source, Endpoint: "works", CursorID: int64(n + 1), FreshTo: at, LagSec: float64(n)})
		g.Backfill = append(g.Backfill, view.CampaignLag{Source: source, Endpoint: "works", Ahead: time.Hour})
		for range 10 {
			g.Status.Findings = append(g.Status.Findings, view.Finding{Code: view.FoundGap, Severity: view.Critical, Subject: view.Subject{Source: source}})
		}
	}
	m.Show(g, at)
	text := textOf(t, m)
	if n := strings.Count(text, "\n"+lag.Name+"{"); n != 2000 {
		t.Errorf("%d series of lag, want one for each watermark and one for the campaigns of each source", n)
	}
	if n := strings.Count(text, "\n"+findings.Name+"{"); n != 1 {
		t.Errorf("%d series of findings", n)
	}

	for n := range 10_000 - 1000 { // watermarks without end: the worst are shown
		g.Status.Sources = append(g.Status.Sources, view.SourceStatus{Source: "many", Endpoint: fmt.Sprint(n), CursorID: int64(2000 + n), FreshTo: at, LagSec: float64(10_000 + n)})
	}
	m.Show(g, at)
	for n := range mostPartitions + 500 {
		m.NoteBatch(partitionNo(n), measure.Batch{Stored: true})
	}
	text = textOf(t, m)
	if n := strings.Count(text, "\n"+lag.Name+"{"); n != mostSeries {
		t.Errorf("%d series of lag", n)
	}
	if !strings.Contains(text, leftOut.Name+`{metric="`+lag.Name+`"} 6000`) {
		t.Error("nobody is told how many are left out")
	}
	if !strings.Contains(text, `ns="10999"`) || strings.Contains(text, `ns="1"`) {
		t.Error("what is shown of the lag is not the worst")
	}
	if n := strings.Count(text, "\n"+batches.Name+"{"); n != mostPartitions+1 {
		t.Errorf("%d series of batches", n)
	}
	if !strings.Contains(text, batches.Name+`{endpoint="",op="",outcome="stored",source="_others"} 500`) {
		t.Error("what is beyond the bound is not counted together")
	}
}

// Files of several harvests lie in one folder: a series in two of them is an error.
func TestFileOfAHarvestIsAboutItsSource(t *testing.T) {
	m := NewMeter()
	work(m, partitionNo(0))
	work(m, partitionNo(1))
	m.Show(world(time.Now()), time.Now())
	var out bytes.Buffer
	if err := WriteSource(&out, m, about(), "source-0"); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if !strings.HasPrefix(line, "#") && !strings.Contains(line, `"source-0"`) {
			t.Errorf("not about the source: %s", line)
		}
	}
	for _, want := range []string{batches.Name, lag.Name, budgetLeft.Name} {
		if !strings.Contains(out.String(), "\n"+want+"{") {
			t.Errorf("there is no %s", want)
		}
	}
}

var documented = regexp.MustCompile("(?m)^\\| `(patra_ingest_[a-z0-9_]+)` \\| ([a-z]+) \\| ([^|]*) \\|")

// docs/metrics.md and the code say the same.
func TestEveryMetricIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	stored := strings.Index(string(page), "## Computed from stored rows")
	rows := map[string]string{}
	for _, at := range documented.FindAllSubmatchIndex(page, -1) {
		name := string(page[at[2]:at[3]])
		rows[name] = fmt.Sprint(string(page[at[4]:at[5]]), " ", string(page[at[6]:at[7]]), " ", at[0] > stored)
	}
	for _, d := range allDefinitions() {
		labels := strings.Join(d.Labels, ", ")
		if labels == "" {
			labels = "—"
		}
		if want := fmt.Sprint(d.Kind, " ", labels, " ", d.Stored); rows[d.Name] != want {
			t.Errorf("%s: the page says %q, the code %q", d.Name, rows[d.Name], want)
		}
		delete(rows, d.Name)
	}
	for name := range rows {
		t.Errorf("%s stands on the page and is no metric", name)
	}
}

// What is defined is registered, and what is registered is defined.
func TestEveryMetricIsRegistered(t *testing.T) {
	m := NewMeter()
	work(m, partitionNo(0))
	g := world(time.Now())
	for n := range mostSeries + 1 {
		g.Work = append(g.Work, view.Workload{Source: fmt.Sprint(n)})
	}
	m.Show(g, time.Now())
	families, err := newRegistry(m, about()).Gather()
	if err != nil {
		t.Fatal(err)
	}
	defined := map[string]Definition{}
	for _, d := range allDefinitions() {
		defined[d.Name] = d
	}
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), prefix) {
			continue
		}
		d, ok := defined[f.GetName()]
		if !ok || strings.ToUpper(string(d.Kind)) != f.GetType().String() || f.GetHelp() != d.Help {
			t.Errorf("%s is not as it is defined", f.GetName())
		}
		delete(defined, f.GetName())
	}
	for name := range defined {
		t.Errorf("%s is defined and never shown", name)
	}
}
