package webui

import (
	"context"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
)

// busy is an installation that works, and whose upstream complains.
type busy struct{ quiet }

func (busy) RunningPlans(context.Context) ([]view.RunningPlan, error) {
	row := func(id int64) view.PlanRow {
		return view.PlanRow{Plan: view.Plan{ID: id, Source: "crossref", Endpoint: "works", Operation: "BACKFILL"}}
	}
	return []view.RunningPlan{
		{PlanRow: row(7), Total: 1200, Done: 300, Failed: 2, Running: 3, ItemsPerSec: 41.5, ReadyIn: 90 * time.Minute},
		{PlanRow: row(8), Total: 4, Waiting: 4},
		{PlanRow: row(9), Total: 4, Waiting: 4, WaitsUntil: noon.Add(10 * time.Minute)},
	}, nil
}

func (busy) Queue(context.Context, view.SumQuery) ([]view.QueueState, error) {
	sum := &view.WorkSum{Throttled: 6}
	sum.Runs.Succeeded, sum.Runs.Failed = 30, 10
	return []view.QueueState{{Source: "crossref", Endpoint: "works", Operation: ingest.Harvest, Waiting: 5, Running: 2, TakenPerHour: 40, Recent: sum}}, nil
}

func (busy) RateKeys(context.Context) ([]view.RateKey, error) {
	now, limits := 2.5, gate.Limits{PerSecond: 10}
	return []view.RateKey{{
		Key: "crossref", Limits: &limits, PerSecond: &now, Living: 1, At: noon,
		Uses:   []view.RateUse{{Source: "crossref", Endpoint: "works", Limits: limits, Breaker: &view.RateBreaker{State: fault.BreakerOpen, Failures: 3, Until: noon.Add(time.Minute), LastError: "HTTP_503"}}},
		Quotas: []view.RateQuota{{Name: "day", Limit: 1000, Usable: 900, Used: 850, Left: 50, Reserved: 40, Reset: noon.Add(12 * time.Hour)}},
		Processes: []view.RateReport{{State: gate.Snapshot{
			Key: "crossref", PerSecond: 2.5, Declared: 10, Demotions: 2, LoweredBy: gate.Throttled, LoweredAt: noon.Add(-time.Minute),
		}}},
	}}, nil
}

func (busy) ReleaseRate(context.Context, string, ingest.Act) (view.RateReleased, error) {
	return view.RateReleased{}, nil
}

var tags = regexp.MustCompile(`<[^>]*>`)

// rowOf is what somebody reads in the row of a table that begins with a text, as in a browser.
func rowOf(t *testing.T, page, begins string) string {
	t.Helper()
	for _, row := range strings.Split(page, "<tr")[1:] {
		row, _, _ = strings.Cut(row, "</tr>")
		row = strings.Join(strings.Fields(tags.ReplaceAllString("<tr"+row, " ")), " ")
		if strings.HasPrefix(row, begins) {
			return row
		}
	}
	t.Fatalf("the page has no row %q", begins)
	return ""
}

// The overview tells how far each plan has come, how fast, when it is ready and what it waits
// for; the page of rates tells what may leave against what is declared, why it is less, what is
// left of a quota, and that a breaker is open.
func TestPagesTellProgressAndWhatSlowsWorkDown(t *testing.T) {
	site := New(Settings{CallerOf: func(context.Context) access.Caller { return access.Caller{Name: "n", Role: access.Operator} }, Clock: busy{}, Work: Work{Rates: busy{}}, Readers: Readers{Status: busy{}, Coverage: busy{}}})
	for _, c := range []struct {
		path, row string
		says      []string
	}{
		{"/", "plan 7", []string{"crossref BACKFILL", "300 of 1,200 slices", "2 failed", "41.5/s", "about 1h 30m", "nothing"}},
		{"/", "plan 8", []string{"0 of 4 slices", "unknown", "a worker"}},
		{"/", "plan 9", []string{"the upstream, until 12:10"}},
		{"/rate", "crossref works HARVEST", []string{"5 2 40.0 30 10 25.0 %"}},
		{"/rate", "crossref crossref", []string{"2.5/s: lowered 2 times, last by " + string(gate.Throttled) + " at 2026-11-15T11:59:00Z", "10/s", "day: 850 used of 900, 50 left until 2026-11-16T00:00:00Z", "(1000 declared, the rest is the margin)", "expected to take 40", "crossref/works: open until 2026-11-15T12:01:00Z", "3 failed in a row: last HTTP_503", "Release …"}},
	} {
		w := fetch(site, http.MethodGet, c.path, nil)
		got := rowOf(t, w.Body.String(), c.row)
		for _, want := range c.says {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q lacks %q", c.path, got, want)
			}
		}
	}
}
