package planner

import (
	"context"
	"fmt"
	"strings"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/refresh"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Candidates are the stored records an UPDATE by ids would look at again.
type Candidates = ingest.Candidates

// Refresh is how an UPDATE chooses what it looks at. The zero value leaves that to
// the source and to whether a window was asked for.
type Refresh struct {
	refresh.Spec
	// Signals, or rejected items, are the only ones to take: from ≤ number < to. Zero: all that are open.
	From, To int64
}

// update looks at stored records again (W§5): by their ids, or by reading a range of
// time once more.
type update struct {
	compiled *spec.Compiled
	request  Request
	chosen   refresh.Spec
}

var updateTraits = traits{priority: "MEDIUM", resumesWhole: true, asksByID: true}

func newUpdate(c *spec.Compiled, r Request) update {
	return update{c, r, chooseRefresh(c.Snapshot, r)}
}

// chooseRefresh returns how records are chosen (W§5.1): a window that was asked for is read again by
// time, and so is a source that cannot be asked for ids. In every other case every
// record has its turn.
func chooseRefresh(s spec.Snapshot, r Request) refresh.Spec {
	chosen := r.Refresh.Spec
	switch {
	case chosen.Policy != "":
	case r.From != nil || r.To != nil || s.Detail == nil:
		chosen.Policy = refresh.ByTime
	default:
		chosen.Policy = refresh.ByAge
	}
	if chosen.Policy == refresh.ByAge && chosen.Cycle == 0 {
		chosen.Cycle = s.Details.Cycle()
	}
	return chosen
}

// byID reports whether it works on stored ids.
func (u update) byID() bool { return u.chosen.Policy != refresh.ByTime }

// checkSource refuses what a source cannot do, with what it can.
func (u update) checkSource() error {
	s, chosen, r := u.compiled.Snapshot, u.chosen, u.request
	of := s.Source + "/" + s.Endpoint
	switch {
	case chosen.Policy == refresh.ByTime && s.Filter.Field == "":
		return fmt.Errorf("%w: %s cannot select by date (filter.field), so no range of time can be read again", fault.ErrInvalid, of)
	case chosen.Policy != refresh.ByTime && (r.From != nil || r.To != nil):
		return fmt.Errorf("%w: a window is for reading a range of time again; leave it out", fault.ErrInvalid)
	case chosen.Policy == refresh.ByChange && s.Reading().FillOnly:
		return fmt.Errorf("%w: %s only fills what is empty (response.fillOnly): a new mapping would change nothing that is stored", fault.ErrInvalid, of)
	case s.Detail != nil || chosen.Policy == refresh.ByTime || (chosen.Policy == refresh.ByChange || chosen.Policy == refresh.ByQuarantine) && !chosen.Ask:
		if err := chosen.Validate(); err != nil {
			return fmt.Errorf("%w: %w", fault.ErrInvalid, err)
		}
		return nil
	}
	return s.CheckByID()
}

// ownNamespace returns one for each policy, and for whatever else makes it another update
// (D§5.8).
func (u update) ownNamespace() (ingest.Namespace, error) {
	if _, err := u.compiled.Namespace(); err != nil {
		return ingest.Namespace{}, err
	}
	s, chosen := u.compiled.Snapshot, u.chosen
	switch chosen.Policy {
	case refresh.ByTime:
		return ingest.RefreshNamespace(s.Dataset(), chosen.Policy, s.Filter.Field), nil
	case refresh.ByAge:
		return ingest.RefreshNamespace(s.Dataset(), chosen.Policy, chosen.Cycle.String()), nil
	case refresh.ByChange:
		return ingest.RefreshNamespace(s.Dataset(), chosen.Policy, strings.Join(chosen.Exprs, " "), strings.Join(chosen.Mappings, " ")), nil
	}
	return ingest.RefreshNamespace(s.Dataset(), chosen.Policy), nil
}

// totalWindow returns the turns that have come, the time to be read again, or for other
// ids a window that only paces and accounts. A window that was asked for is read again
// however far the watermark has come.
func (u update) totalWindow(b Inputs) (window.Total, error) {
	if err := u.checkSource(); err != nil {
		return window.Total{}, err
	}
	r, chosen := u.request, u.chosen
	if chosen.Policy == refresh.ByAge {
		return refresh.Rota(refresh.RotaInputs{Now: r.Now, Cycle: chosen.Cycle.Std(), Cursor: b.watermarkOrNil(), Waiting: b.waitingWindows(r), Done: b.doneWindows()})
	}
	in := window.UpdateInputs{Now: r.Now, UserFrom: r.From, UserTo: r.To, ByTime: chosen.Policy == refresh.ByTime}
	if r.From == nil && in.ByTime {
		in.Cursor = b.watermarkOrNil()
		if owed := b.owedBehindWatermark(); len(owed) > 0 {
			all := window.Window{From: owed[0].From, To: *in.Cursor}
			in.Cursor, in.Skip = &owed[0].From, window.Subtract(all, owed)
		}
	}
	total, err := window.Update(u.compiled.Snapshot.Window, in)
	if err == nil && in.ByTime && u.compiled.Snapshot.OneSlice() {
		total = total.AsOne()
	}
	return total, err
}

// planLag returns none: an update does not follow the present.
func (u update) planLag(window.Lag, Inputs) *ingest.PlanLag { return nil }

// cutSlices cuts by ids or by time, as was chosen.
func (u update) cutSlices(d *drawing, b Inputs) error {
	if u.byID() {
		return u.cutIDs(d, b)
	}
	return d.cutTime(u.compiled.Snapshot, u.compiled.Prototype.Selection, u.request.Estimates)
}

// readInputs counts what an update by ids would look at.
func (u update) readInputs(ctx context.Context, from InputReader, _ ingest.Namespace, b *Inputs) error {
	if !u.byID() {
		return nil
	}
	total, err := u.totalWindow(*b)
	if err != nil || total.Empty {
		return err
	}
	q := ingest.CandidateQuery{Dataset: u.compiled.Snapshot.Dataset(), Spec: u.chosen}
	if q.Policy == refresh.ByAge {
		for _, w := range total.Owed {
			q.Shares = append(q.Shares, refresh.Shares(w, q.Cycle.Std())...)
		}
	}
	if b.Candidates, err = from.Candidates(ctx, q); err != nil || u.request.Refresh.To == 0 {
		return err
	}
	b.Candidates = narrowCandidates(b.Candidates, u.request.Refresh.From, u.request.Refresh.To)
	return nil
}

// narrowCandidates returns the candidates from ≤ number < to: the signals that an update
// was told of. Others that lie between them are open too and are looked at as well.
func narrowCandidates(c Candidates, from, to int64) Candidates {
	c.From, c.To = max(c.From, from), min(c.To, to)
	if c.From >= c.To {
		return Candidates{Exact: true}
	}
	c.Count = min(c.Count, c.To-c.From)
	return c
}
