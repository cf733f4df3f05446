package webui

import (
	"context"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/health"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
)

// tried is a plan with one run, and what that counted.
type tried struct {
	hostileTasks
	stats ingest.RunStats
}

func (t tried) Plan(ctx context.Context, id int64) (view.PlanReport, error) {
	p, err := t.hostile.Plan(ctx, id)
	p.Stats = t.stats
	return p, err
}

func (t tried) Task(ctx context.Context, id int64) (view.TaskDetail, error) {
	d, err := t.hostileTasks.Task(ctx, id)
	d.Runs = []view.Run{{ID: 9, Stats: ingest.RunStats{Statuses: ingest.StatusTally{418: 9}}}, {ID: 4, Stats: t.stats}}
	return d, err
}

// The page of a run tells which answers came, also those to requests that were repeated, and
// what was done about them. A run of an older version does not know, which is not none.
func TestAPlanTellsStatusesAndActionsOfItsRun(t *testing.T) {
	for _, c := range []struct {
		stats ingest.RunStats
		says  []string
		times int // the plan says it, and its run
	}{
		{
			ingest.RunStats{Requests: 44, Retries: 3, Throttled: 2, Restarts: 1, Statuses: ingest.StatusTally{200: 41, 429: 2, 503: 1}, Actions: health.Tally{LowerRate: 2, ShrinkPage: 1}},
			[]string{"Answers by HTTP status 200: 41, 429: 2, 503: 1 ", "Automatic LOWER_RATE 2, SHRINK_PAGE 1 "}, 2,
		},
		{ingest.RunStats{Requests: 3}, []string{"Answers by HTTP status – ", "Automatic – "}, 2},
		{ingest.RunStats{Requests: 44, Retries: 3, Throttled: 2, Restarts: 1}, []string{"Requests 44: 3 tried again, 2 times told to slow down Started over 1 time "}, 1},
	} {
		of := tried{hostileTasks{hostile{text: "x"}}, c.stats}
		work := of.work()
		work.Plans, work.Tasks = of, of
		site := New(Settings{CallerOf: func(context.Context) access.Caller { return access.Caller{Name: "n", Role: access.Viewer} }, Clock: quiet{}, Work: work, Readers: Readers{Status: quiet{}}})
		body := fetch(site, "GET", "/plans/1?slice=2&run=4", nil).Body.String()
		text := strings.Join(strings.Fields(tags.ReplaceAllString(body, " ")), " ")
		for _, want := range c.says {
			if strings.Count(text, want) != c.times || strings.Contains(text, "418") {
				t.Errorf("%q stands %d times on the page, want %d:\n%s", want, strings.Count(text, want), c.times, text)
			}
		}
	}
}
