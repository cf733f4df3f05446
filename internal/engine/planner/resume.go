package planner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/sector"
	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/window"
)

// addSlices stores slices chunk by chunk while there is room for their tasks, and
// reports whether there was for all of them. A plan that has to stop is PARTIAL
// and goes on when the stock has fallen (D§5.4). Who has added the last slices
// closes the plan.
func (p *Planner) addSlices(ctx context.Context, of ingest.Partition, planID int64, all rows) (whole bool, err error) {
	next := all.startChunk(0)
	defer func() { <-next }() // nobody reads the draft once we are gone
	for from := 0; from < all.countSlices(); from += chunk {
		why, err := p.Holds(ctx, of)
		if err != nil {
			return false, err
		}
		if why != nil {
			return false, p.suspendPlan(ctx, planID, all.first+from, *why)
		}
		part := <-next
		if part.err != nil {
			return false, part.err
		}
		next = all.startChunk(from + chunk)
		switch err := p.storeSlices(ctx, planID, from, part.slices); {
		case errors.Is(err, ingest.ErrSlicedOtherwise):
			return false, nil // another planner is at it
		case err != nil:
			return false, err
		}
	}
	return true, nil
}

// Resume goes on with a plan whose planner died or that had to wait: what it owes
// less what it has sliced is cut with what is known now. It reports whether the
// plan is sliced to its end.
func (p *Planner) Resume(ctx context.Context, of ingest.Partition, o ingest.OpenPlan) (whole bool, err error) {
	if why, err := p.Holds(ctx, of); err != nil || why != nil {
		return false, err
	}
	ctx, s := p.beginResume(ctx, of, o)
	defer func() { s.End(err) }()
	return p.sliceRest(ctx, of, o)
}

// sliceRest cuts and stores what a plan owes and has not sliced yet.
func (p *Planner) sliceRest(ctx context.Context, of ingest.Partition, o ingest.OpenPlan) (whole bool, err error) {
	s, err := spec.Load(o.Spec)
	if err != nil {
		return false, err
	}
	rest, err := p.restOf(ctx, s, o)
	if err != nil {
		return false, err
	}
	next := o.NextSliceNo
	for i, group := range rest {
		if next, whole, err = p.sliceGroup(ctx, of, s, o, group, next, i+1 < len(rest)); err != nil || !whole {
			return false, err
		}
	}
	return true, p.store.AddSlices(ctx, o.ID, nil, true)
}

// restGroup is what is left to slice for some sectors of a plan; none: for all of the list.
type restGroup struct {
	sectors []sector.Sector
	few     bool // they read some windows alone
	left    []window.Window
}

// restOf returns what a plan owes and has not sliced yet. A planner may have died between two sectors of a window, so each
// sector has its own rest; those with the same are cut together.
func (p *Planner) restOf(ctx context.Context, s spec.Snapshot, o ingest.OpenPlan) ([]restGroup, error) {
	planned, err := p.store.PlannedWindows(ctx, o.ID)
	if err != nil {
		return nil, err
	}
	leftOf := func(name string, of []window.Window) (left []window.Window) {
		for _, owed := range of {
			left = append(left, window.Subtract(owed, planned[name])...)
		}
		return left
	}
	parents, err := parentsOf(o)
	if err != nil {
		return nil, err
	}
	listed, few := sector.Asked(s.AllSectors(parents.Runs), o.Owed, o.Narrowed)
	listed = o.LeftOut.Less(listed)
	if ids, err := refreshOf(o); err != nil || ids != nil || len(listed)+len(few) == 0 {
		return []restGroup{{left: leftOf("", o.Owed)}}, err
	}
	var out []restGroup
	add := func(one sector.Sector, alone bool, left []window.Window) {
		if n := len(out); n > 0 && out[n-1].few == alone && slices.Equal(out[n-1].left, left) {
			out[n-1].sectors = append(out[n-1].sectors, one)
			return
		}
		out = append(out, restGroup{[]sector.Sector{one}, alone, left})
	}
	for _, one := range listed {
		add(one, false, leftOf(one.Name, sector.OwedByAll(o.Owed, o.Narrowed)))
	}
	for _, one := range few {
		add(one, true, leftOf(one.Name, sector.OwedByFew(one.Name, o.Owed, o.Narrowed)))
	}
	return out, nil
}

// sliceGroup cuts and stores what is left for one group of sectors. more says that others follow.
func (p *Planner) sliceGroup(ctx context.Context, of ingest.Partition, s spec.Snapshot, o ingest.OpenPlan, group restGroup, next int, more bool) (_ int, whole bool, err error) {
	for left := group.left; len(left) > 0; {
		var part []window.Window
		part, left = p.nextPart(s, left, o.OldestFirst)
		d, err := p.cutStored(ctx, s, restGroup{group.sectors, group.few, part}, o)
		if err != nil {
			return next, false, err
		}
		if err := p.scheduleSlices(ctx, d, of, true); err != nil {
			return next, false, err
		}
		if whole, err := p.addSlices(ctx, of, o.ID, rows{d, o.Key, next, s.Priority()}); err != nil || !whole {
			return next, false, err
		}
		next += len(d.cuts)
		why, err := p.Holds(ctx, of)
		switch {
		case err != nil:
			return next, false, err
		case why != nil && (more || len(left) > 0):
			return next, false, p.suspendPlan(ctx, o.ID, next, *why)
		}
	}
	return next, true, nil
}

// partSteps is how much of a plan is sized at once when it goes on.
const partSteps = 100

// nextPart splits what is left into what is cut next and the rest. Where sizes are asked
// for, little is cut at once:
// what is not stored now would be asked for again every time the stock falls.
func (p *Planner) nextPart(s spec.Snapshot, left []window.Window, oldest bool) (now, later []window.Window) {
	if p.Estimator == nil || !s.CutsBySize() || traitsOf(s.Operation).resumesWhole {
		return left, nil
	}
	cut := slicingRequest(s, left)
	cut.NewestFirst = cut.NewestFirst && !oldest
	return cut.Part(partSteps)
}

// cutStored cuts windows of a stored plan that owes more.
func (p *Planner) cutStored(ctx context.Context, s spec.Snapshot, rest restGroup, of ingest.OpenPlan) (*drawing, error) {
	c, err := s.Compiled()
	if err != nil {
		return nil, err
	}
	cut, err := cutOfStored(c, of)
	if err != nil {
		return nil, err
	}
	parents, err := parentsOf(of)
	if err != nil {
		return nil, err
	}
	listed, few := rest.sectors, []sector.Sector(nil)
	if rest.few {
		listed, few = nil, rest.sectors
	}
	return p.drawUntilSized(ctx, c, Request{Offline: of.Limited}, func(r Request) (*drawing, error) {
		d := &drawing{
			Draft: &Draft{NowSafe: of.AsOf, Slices: []DraftSlice{}, owed: rest.left}, sectors: listed, few: few, drawn: true, runs: parents.Runs, opens: parents.Opens, picks: parents.Picks,
			narrowed: of.Narrowed, within: of.Owed, oldest: of.OldestFirst,
		}
		return d, cut(d, r.Estimates)
	})
}

// Reslice replaces slices that executors could not get through by smaller ones
// (S§5.6) and tells how many. A slice that cannot be cut further keeps its window
// owed and visible. One that is refused does not keep the others waiting.
func (p *Planner) Reslice(ctx context.Context) (replaced int, err error) {
	pending, err := p.store.PendingReslices(ctx, chunk)
	if err != nil {
		return 0, err
	}
	for _, request := range pending {
		children, refused := p.cutRequested(ctx, request)
		if refused == nil && request.Reason != fault.FilesListed {
			use, failed := p.store.PlanUse(ctx, request.Lineage.PlanID)
			if failed != nil {
				return replaced, errors.Join(err, failed)
			}
			refused = checkPlanBudget(request, use)
		}
		if refused != nil {
			err = errors.Join(err, atSlice(request, p.store.DeclineReslice(ctx, request.ID, refused.Error())))
			continue
		}
		if failed := p.store.ReplaceSlice(ctx, request.ID, children); failed != nil {
			err = errors.Join(err, atSlice(request, failed))
			continue
		}
		replaced++
	}
	return replaced, err
}

// atSlice says which slice an error is about.
func atSlice(request ingest.PendingReslice, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s/%s, plan %d, slice %d: %w", request.Partition.Source, request.Partition.Endpoint, request.Lineage.PlanID, request.Lineage.SliceID, err)
}

// cutRequested returns what takes the place of a slice.
func (p *Planner) cutRequested(ctx context.Context, request ingest.PendingReslice) ([]ingest.NewSlice, error) {
	if request.Reason == fault.FilesListed {
		return p.cutFiles(ctx, request)
	}
	return p.cutSmaller(request)
}

// cutSmaller returns the smaller slices that replace one an executor could not get through.
func (p *Planner) cutSmaller(request ingest.PendingReslice) ([]ingest.NewSlice, error) {
	s, err := spec.Load(request.Spec)
	if err != nil {
		return nil, err
	}
	c, err := s.Compiled()
	if err != nil {
		return nil, err
	}
	cut := slicingRequest(s, nil)
	done := window.Window{From: request.Slice.From, To: request.Remaining.From}
	if cut.Owed, err = slicing.Reslice(cut, request.Slice, done, string(request.Reason)); err != nil {
		return nil, err
	}
	cut.Within = []window.Window{reachOf(request)}
	cut.Config.Step = duration.Duration(request.Slice.Duration()) // each part is one slice
	parts, err := slicing.Cut(cut)
	if err != nil {
		return nil, err
	}
	for i := range parts {
		parts[i].Spec = partOf(request, parts[i])
		if request.Reason == fault.Poisoned {
			parts[i].Spec.Telemetry.Cut = cutOf(request)
		}
	}
	d := &drawing{Draft: &Draft{}}
	if err := d.addCuts(s, c.Prototype.Selection, parts); err != nil {
		return nil, err
	}
	out, err := rows{d, request.PlanKey, 1, request.Priority}.writeRows(0, len(parts))
	for i := range out {
		out[i].PlannedIn = request.PlannedIn
	}
	return out, err
}

// checkPlanBudget refuses a cut of a plan that has used up its budget: the parts may turn
// out too large again, and theirs too. Where nothing shows that the list has no end
// (NO_END), this ends it.
func checkPlanBudget(request ingest.PendingReslice, use slicing.PlanUse) error {
	s, err := spec.Load(request.Spec)
	if err != nil {
		return err
	}
	if err := s.Slicing.MayCut(use); err != nil {
		return fmt.Errorf("slice %d of plan %d is not cut smaller: %w", request.Lineage.SliceID, request.Lineage.PlanID, err)
	}
	return nil
}

// cutOf returns what the parts of a slice should know of the page in it that fails.
func cutOf(request ingest.PendingReslice) *slicing.CutOut {
	var stored slicing.Spec
	var told struct{ Silent bool }
	_ = json.Unmarshal(request.SliceSpec, &stored) // what cannot be read was not cut before
	_ = json.Unmarshal(request.Detail, &told)
	return stored.Telemetry.Cut.Within(request.Slice, told.Silent)
}

// partOf returns the specification of a part of a slice: it asks for the same part of the list, and for the same parents of it. The
// newest one does what the slice did about parents that are new or changed.
func partOf(request ingest.PendingReslice, part slicing.Slice) slicing.Spec {
	var stored slicing.Spec
	_ = json.Unmarshal(request.SliceSpec, &stored) // what cannot be read is refused by whoever reads the parts
	out := part.Spec
	out.Telemetry.Part, out.Sector, out.Few, out.Picks = true, stored.Sector, stored.Few, stored.Picks
	if part.Window.To.Equal(request.Slice.To) {
		out.Opens = stored.Opens
	}
	return out
}

// reachOf returns what the slice asked for, its overlap included: its parts may ask for
// as much.
func reachOf(request ingest.PendingReslice) window.Window {
	var stored slicing.Spec
	if json.Unmarshal(request.SliceSpec, &stored) != nil || stored.Owned() != request.Slice {
		return request.Slice
	}
	return stored.Asked()
}
