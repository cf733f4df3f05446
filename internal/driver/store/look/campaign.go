package look

import (
	"context"
	"database/sql"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// CampaignProgress returns how far a campaign has come, by its coverage. It costs
// as much as the coverage has segments, which are few.
func (s *Look) CampaignProgress(ctx context.Context, c ingest.Campaign) (p view.CampaignProgress, err error) {
	segments, err := s.Segments(ctx, c.CursorID)
	if err != nil {
		return p, err
	}
	p.Total, p.Failed, p.Waived = c.Range.Duration(), []window.Window{}, waivedOf(segments, c.Range)
	p.Done = p.Total
	for _, w := range coverage.Gaps(segments, c.Range) {
		p.Done -= w.Duration()
	}
	p.Percent = 100 * float64(p.Done) / float64(max(p.Total, 1))
	for _, seg := range segments {
		part := seg.Window.Intersect(c.Range)
		if seg.Done() || seg.Fails == 0 || part.Empty() {
			continue
		}
		p.Failed = append(p.Failed, part)
		if p.NextRetry.IsZero() || seg.RetryAfter.Before(p.NextRetry) {
			p.NextRetry = seg.RetryAfter
		}
	}
	return p, nil
}

// ShowCampaign returns a campaign with all that is known of it.
func (s *Look) ShowCampaign(ctx context.Context, c ingest.Campaign) (v view.Campaign, err error) {
	v = view.Campaign{
		Name: c.Name, Source: c.Dataset.Source, Endpoint: c.Dataset.Endpoint, State: c.State, Actor: c.Actor, Reason: c.Reason, Since: c.Since, Note: c.Note,
		Range: c.Range, Typed: c.Typed, Order: c.Order, Chunk: duration.Duration(c.Chunk).String(), Overrides: c.Overrides, CursorID: c.CursorID,
		CreatedAt: c.CreatedAt, Open: []int64{},
	}
	if v.CampaignProgress, err = s.CampaignProgress(ctx, c); err != nil {
		return v, err
	}
	plans, err := s.campaignPlanIDs(ctx, c.CursorID)
	if err != nil {
		return v, kernel.Wrap("show campaign", err)
	}
	v.Plans = len(plans)
	for _, p := range plans {
		stats, err := s.PlanStats(ctx, p.id)
		if err != nil {
			return v, kernel.Wrap("show campaign", err)
		}
		v.Stats = v.Stats.Add(stats)
		if p.open {
			v.Open = append(v.Open, p.id)
		}
	}
	if err := s.addArchived(ctx, &v); err != nil {
		return v, kernel.Wrap("show campaign", err)
	}
	if v.Running, v.Waiting, err = s.CampaignTasks(ctx, c.CursorID); err != nil {
		return v, err
	}
	read, err := s.readLast(ctx, plans)
	if err != nil {
		return v, kernel.Wrap("show campaign", err)
	}
	if v.Pace = ingest.Pace(read); v.Pace > 0 && c.State == ingest.CampaignActive {
		left := (v.Total - v.Done).Seconds() / v.Pace
		v.Left = &left
	}
	return v, nil
}

type campaignPlan struct {
	id   int64
	open bool
}

// campaignPlanIDs returns the plans of a campaign, newest first.
func (s *Look) campaignPlanIDs(ctx context.Context, cursorID int64) (out []campaignPlan, err error) {
	rows, err := s.db.Query(ctx, "SELECT id, status_code FROM ing_plan WHERE cursor_id = ? ORDER BY id DESC", cursorID)
	if err != nil {
		return nil, s.db.Translate(err)
	}
	return out, kernel.Each(rows, func() error {
		var p campaignPlan
		var status ingest.PlanStatus
		err := rows.Scan(&p.id, &status)
		p.open = status.TakesSlices() || status == ingest.PlanReady
		out = append(out, p)
		return err
	})
}

// CampaignTasks returns how many tasks of a campaign are worked on, and how many
// wait.
func (s *Look) CampaignTasks(ctx context.Context, cursorID int64) (running, waiting int, err error) {
	rows, err := s.db.Query(ctx, `SELECT t.status_code, COUNT(*) FROM ing_plan p JOIN ing_task t ON t.plan_id = p.id
  WHERE p.cursor_id = ? AND p.status_code IN ('SLICING','PARTIAL','READY') AND t.status_code IN ('SCHEDULED','QUEUED','DISPATCHED','EXECUTING')
  GROUP BY t.status_code`, cursorID)
	if err != nil {
		return 0, 0, kernel.Wrap("count tasks of a campaign", s.db.Translate(err))
	}
	err = kernel.Each(rows, func() error {
		var status ingest.TaskStatus
		var n int
		err := rows.Scan(&status, &n)
		if status.Leased() {
			running += n
		} else {
			waiting += n
		}
		return err
	})
	return running, waiting, kernel.Wrap("count tasks of a campaign", err)
}

// The pace is that of the last runs, of a few plans at most: a source that became
// slower or faster is not judged by what was years ago.
const (
	paceRuns  = 200
	pacePlans = 5
)

func (s *Look) readLast(ctx context.Context, plans []campaignPlan) (out []ingest.ReadSpan, err error) {
	for _, p := range plans[:min(len(plans), pacePlans)] {
		rows, err := s.db.Query(ctx, `SELECT window_from, window_to, started_at, finished_at FROM ing_task_run
  WHERE plan_id = ? AND status_code = 'SUCCEEDED' ORDER BY id DESC LIMIT ?`, p.id, paceRuns-len(out))
		if err != nil {
			return nil, s.db.Translate(err)
		}
		err = kernel.Each(rows, func() error {
			var from, to, began, ended sql.NullInt64
			err := rows.Scan(&from, &to, &began, &ended)
			out = append(out, ingest.ReadSpan{Window: window.Window{From: kernel.Instant(from), To: kernel.Instant(to)}, Began: kernel.Instant(began), Ended: kernel.Instant(ended)})
			return err
		})
		if err != nil || len(out) >= paceRuns {
			return out, err
		}
	}
	return out, nil
}

// CampaignRecords returns what plans have seen so far.
func (s *Look) CampaignRecords(ctx context.Context, plans []int64) (sum ingest.RunStats, err error) {
	for _, id := range plans {
		one, err := s.PlanStats(ctx, id)
		if err != nil {
			return sum, kernel.Wrap("count records of a campaign", err)
		}
		sum = sum.Add(one)
	}
	return sum, nil
}

// waivedOf returns what of a range counts as done only because a person waived
// it.
func waivedOf(segments []coverage.Segment, within window.Window) (out []window.Window) {
	for _, s := range coverage.Fates(segments, nil) {
		if part := s.Window.Intersect(within); s.Fate == coverage.Waiving && !part.Empty() {
			out = append(out, part)
		}
	}
	return window.Union(out)
}
