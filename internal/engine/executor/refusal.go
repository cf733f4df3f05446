package executor

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/sector"
	"github.com/patra-ingest/patra/internal/core/window"
)

// judgeRefusal tells whether an answer refuses the part of the list in hand, and only that. Then it is a fault of the part, which
// lags and is left alone for a while. Where more parts are refused than can be about the parts, such as with a key that was
// revoked, the fault stays what it is (decision 157).
func (l *listWalk) judgeRefusal(ctx context.Context, cause error) error {
	rule := sector.RefusedBy(l.program.Partitions)
	var f *fault.Error
	if rule == nil || l.work.Partition.Operation != ingest.Harvest || l.generation != nil || ctx.Err() != nil || !errors.As(cause, &f) || !slices.Contains(rule.Status, f.Status) {
		return cause
	}
	beside, all, err := l.countRefused(ctx)
	if err != nil {
		return err
	}
	if beside >= rule.Most(all) {
		l.refused.TooMany = true
		return fmt.Errorf("the upstream refuses %d of %d partitions, more than maxRefused allows, so the cause is probably not the partitions but the credentials: %w", beside+1, all, cause)
	}
	if l.parents == nil {
		l.refused.Refused = []ingest.RefusedPart{{Name: l.partInHand(), Status: f.Status, For: rule.Recheck}}
	}
	return &fault.Error{Level: fault.Request, Code: fault.PartRefused, Status: f.Status, Err: fmt.Errorf("the upstream refuses this partition; it is asked for again after %s (recheck): %w", duration.Duration(rule.Recheck), f)}
}

// countRefused returns how many other parts of the list are refused, and how many parts there are.
func (r *taskRun) countRefused(ctx context.Context) (beside, all int, err error) {
	known, err := r.executor.store.PlanRefusals(ctx, r.work.Lineage.PlanID)
	if err != nil {
		return 0, 0, err
	}
	names := map[string]bool{}
	for _, one := range known {
		names[one.Sector] = true
	}
	if all = sector.Count(r.program.Partitions); r.program.Parent != nil {
		n, err := r.executor.store.CountParents(ctx, r.program.Parent.Dataset())
		if err != nil {
			return 0, 0, err
		}
		all *= int(n)
	}
	if p := r.parents; p != nil {
		for _, lost := range p.Lost {
			if lost.Status != 0 {
				names[lost.Name] = true
			}
		}
		for _, name := range p.Answered {
			delete(names, name)
		}
	}
	delete(names, r.partInHand())
	return len(names), all, nil
}

// partInHand returns the name of the part of the list that is asked for.
func (r *taskRun) partInHand() string {
	if r.parent != nil {
		return r.parent.Name
	}
	return r.program.Sector()
}

// readRefusals finds which parents of a run are refused, and which of them its plan leaves out.
func (r *taskRun) readRefusals(ctx context.Context) error {
	if sector.RefusedBy(r.program.Partitions) == nil {
		return nil
	}
	p := r.parents
	p.left, p.refused = map[string]bool{}, map[string]bool{}
	left, err := r.executor.store.PlanLeaves(ctx, r.work.Lineage.PlanID)
	if err != nil {
		return err
	}
	for _, name := range left.Parents {
		p.left[name] = true
	}
	known, err := r.executor.store.PlanRefusals(ctx, r.work.Lineage.PlanID)
	for _, one := range known {
		p.refused[one.Sector] = true
	}
	return err
}

// passOver notes the parent in hand as missing without asking for it, if the plan leaves it out: for all that it would have been asked
// for.
func (p *parentRun) passOver(owed window.Window) (bool, error) {
	if len(p.left) == 0 {
		return false, nil
	}
	one, _ := p.program.ReadParent(p.hand.ID, p.hand.Item) // its name is told also of an item that lacks something
	if !p.left[one.Name] {
		return false, nil
	}
	owed, _ = p.widen(owed, one.Since)
	lost := ingest.LostParent{Name: one.Name, Window: owed, Code: string(fault.PartRefused), Left: true}
	if !p.hasRoom(lost) {
		return false, fault.Newf(fault.BadRequest, "more than %d records of one run are refused, and no more can be kept: correct partitions.maxRefused", ingest.MostRefusedParents)
	}
	p.Lost = append(slices.Clip(p.Lost), lost)
	return true, nil
}

// hasRoom reports whether one more parent may be lost before the run itself is.
func (p *parentRun) hasRoom(one ingest.LostParent) bool {
	refused := 0
	for _, l := range p.Lost {
		if l.Left || l.Status != 0 {
			refused++
		}
	}
	if one.Left || one.Status != 0 {
		return refused < ingest.MostRefusedParents
	}
	return len(p.Lost)-refused < ingest.MostLostParents
}

// withAnswered returns which refused parents were read, the one in hand included: its last page is being stored.
func (p *parentRun) withAnswered(name string) []string {
	if p.refused[name] && !slices.Contains(p.Answered, name) {
		return append(slices.Clip(p.Answered), name)
	}
	return p.Answered
}

// heardRefusals returns what the run learned of parts that are refused.
func (r *taskRun) heardRefusals() ingest.Refusals {
	out := r.refused
	if r.program == nil {
		return out
	}
	rule := sector.RefusedBy(r.program.Partitions)
	if rule == nil {
		return out
	}
	for _, lost := range r.lostParents() {
		if lost.Status != 0 {
			out.Refused = append(out.Refused, ingest.RefusedPart{Name: lost.Name, Status: lost.Status, For: rule.Recheck})
		}
	}
	if p := r.parents; p != nil && p.over {
		out.Answered = p.Answered
	}
	return out
}
