package inspect

import (
	"context"
	"slices"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
)

// addProcesses adds who is at work, and keeps who ended without shutting down to be judged when
// it is known what waits.
func (s *statusBuilder) addProcesses(ctx context.Context) error {
	all, err := s.from.Machine.Processes(ctx)
	for _, p := range all {
		if !p.Lives(s.report.Now) {
			continue
		}
		s.report.AtWork = append(s.report.AtWork, p)
		if p.Has(ingest.RoleExecutor) {
			s.report.Processes++
		}
		if p.Has(ingest.RoleRelay) {
			s.report.Relays++
		}
	}
	s.gone = view.FindGone(all, s.report.Now)
	return err
}

// addGone adds processes that ended without shutting down. That nothing does what they did is told
// by them alone: one cause is one finding. It heals where others have their roles: what they
// worked on is taken over when their leases end.
func (s *statusBuilder) addGone() {
	for _, g := range s.gone {
		f := view.Finding{Code: view.FoundGone, Subject: view.Subject{Process: g.ID}, Since: g.HeardAt, Gone: &g, Heals: len(g.Missing) == 0}
		caused := s.takeConsequences(&g)
		if len(caused) == 0 && (s.query.Source != "" || s.report.Now.Sub(g.HeardAt) > s.limits.ProcessGone) {
			continue
		}
		f.Count = g.Tasks
		if len(caused) == 1 && caused[0].Code == view.FoundCampaignIdle { // the command that the process was
			f.Next = caused[0].Next
		}
		s.find(f)
	}
}

// takeConsequences removes the findings that follow from the death of a process, notes what
// they say, and returns them.
func (s *statusBuilder) takeConsequences(g *view.Gone) (caused []view.Finding) {
	lacks := func(role string) bool { return slices.Contains(g.Missing, role) }
	s.report.Findings = slices.DeleteFunc(s.report.Findings, func(f view.Finding) bool {
		switch f.Code {
		case view.FoundNoWorker:
			if !lacks(ingest.RoleExecutor) {
				return false
			}
			g.Tasks += f.Count
			for _, w := range s.work {
				if w.Waiting > 0 {
					g.Sources = append(g.Sources, w.Source)
				}
			}
		case view.FoundCampaignIdle:
			if !lacks(ingest.RoleExecutor) {
				return false
			}
		case view.FoundSilent:
			if !lacks(ingest.RolePlanner) || f.Since.Before(g.HeardAt) {
				return false
			}
		case view.FoundUnrelayed:
			if !lacks(ingest.RoleRelay) {
				return false
			}
		default:
			return false
		}
		if f.Subject.Source != "" {
			g.Sources = append(g.Sources, f.Subject.Source)
		}
		caused = append(caused, f)
		return true
	})
	if lacks(ingest.RolePlanner) {
		for _, j := range s.jobs { // whoever is called at night wants to know which at once, not after two ticks
			g.Sources = append(g.Sources, j.Partition.Source)
		}
	}
	slices.Sort(g.Sources)
	g.Sources = slices.Compact(g.Sources)
	return caused
}

// addIdlePlans adds plans that are ready for long and of which no task was taken, though
// processes live. What is paused, in trouble or waits for a limit has its finding already.
// It heals while tasks of others are worked on: its turn comes.
func (s *statusBuilder) addIdlePlans(ctx context.Context) error {
	if s.report.Processes == 0 {
		return nil // that is the finding
	}
	idle, err := s.from.Work.IdlePlans(ctx, s.query.Source, s.report.Now.Add(-s.limits.PlanIdle))
	told := map[ingest.Partition]bool{}
	for _, p := range idle {
		if told[p.Partition] || s.isHeld(p.ID) || s.isStopped(p.Partition) || s.isTroubled(p.Partition) || s.isServed(p.Partition) {
			continue
		}
		told[p.Partition] = true
		s.find(view.Finding{
			Code: view.FoundPlanIdle, Subject: view.Subject{Source: p.Partition.Source, Endpoint: p.Partition.Endpoint, Operation: string(p.Partition.Operation)},
			Since: p.Since, PlanID: p.ID, Heals: slices.ContainsFunc(s.work, func(w view.Workload) bool { return w.Running > 0 }),
		})
	}
	return err
}

// addHeldPlans adds the plans that wait for more requests than they may spend: what is owed
// there looks planned, and no worker takes it.
func (s *statusBuilder) addHeldPlans(ctx context.Context) (err error) {
	s.held, err = s.from.Ended.HeldPlans(ctx, s.query.Source)
	for _, p := range s.held {
		of := p.Partition
		s.find(view.Finding{
			Code: view.FoundPlanHeld, Subject: view.Subject{Source: of.Source, Endpoint: of.Endpoint, Operation: string(of.Operation), Campaign: p.Campaign},
			Since: p.Limit.UsedUpAt, PlanID: p.ID, Count: p.Tasks, Held: &p,
		})
	}
	return err
}

func (s *statusBuilder) isHeld(plan int64) bool {
	return slices.ContainsFunc(s.held, func(p view.HeldPlan) bool { return p.ID == plan })
}

// isServed reports whether tasks of a partition are worked on, or wait for an instant that
// is known.
func (s *statusBuilder) isServed(of ingest.Partition) bool {
	return slices.ContainsFunc(s.work, func(w view.Workload) bool {
		return w.Source == of.Source && w.Endpoint == of.Endpoint && w.Operation == string(of.Operation) && (w.Running > 0 || w.CoolingUntil.After(s.report.Now))
	})
}

// isTroubled reports whether a condition holds work on a partition back.
func (s *statusBuilder) isTroubled(of ingest.Partition) bool {
	return slices.ContainsFunc(s.report.Findings, func(f view.Finding) bool {
		at := f.Subject
		return f.Code == view.FoundCondition && at.Source == of.Source && (at.Endpoint == "" || at.Endpoint == of.Endpoint) && (at.Operation == "" || at.Operation == string(of.Operation))
	})
}
