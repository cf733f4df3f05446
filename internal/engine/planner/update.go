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

// refreshes is the choice of W§5.1: a window that was asked for is read again by
// time, and so is a source that cannot be asked for ids. In every other case every
// record has its turn.
func refreshes(s spec.Snapshot, r Request) refresh.Spec {
	chosen := r.Refresh.Spec
	switch {
	case s.Operation != ingest.Update:
		return refresh.Spec{}
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

// byID reports whether an UPDATE works on stored ids.
func byID(s spec.Snapshot, r Request) bool {
	policy := refreshes(s, r).Policy
	return policy != "" && policy != refresh.ByTime
}

// refreshable refuses what a source cannot do, with what it can.
func refreshable(s spec.Snapshot, chosen refresh.Spec, r Request) error {
	of := s.Source + "/" + s.Endpoint
	again := fmt.Sprintf("read a stretch of time again: patra update %s --from … --to …", s.Source)
	switch {
	case chosen.Policy == refresh.ByTime && s.Filter.Field == "":
		return fmt.Errorf("%w: %s cannot select by date (filter.field), so no stretch of time can be read again", fault.ErrInvalid, of)
	case chosen.Policy != refresh.ByTime && (r.From != nil || r.To != nil):
		return fmt.Errorf("%w: a window is for reading a stretch of time again; leave it out", fault.ErrInvalid)
	case chosen.Policy == refresh.ByChange && s.Reading().FillOnly:
		return fmt.Errorf("%w: %s only fills what is empty (response.fillOnly): a new mapping would change nothing that is stored", fault.ErrInvalid, of)
	case s.Detail != nil || chosen.Policy == refresh.ByTime || (chosen.Policy == refresh.ByChange || chosen.Policy == refresh.ByQuarantine) && !chosen.Ask:
		if err := chosen.Validate(); err != nil {
			return fmt.Errorf("%w: %w", fault.ErrInvalid, err)
		}
		return nil
	case s.Filter.Field == "":
		return fmt.Errorf("%w: %s has no endpoint that is asked by id (details.endpoint)", fault.ErrInvalid, of)
	}
	return fmt.Errorf("%w: %s has no endpoint that is asked by id (details.endpoint), so its records cannot be looked at one by one; %s", fault.ErrInvalid, of, again)
}

// refreshNamespace is where the progress of an UPDATE is kept: by its policy, and
// by what else makes it another update (D§5.8).
func refreshNamespace(s spec.Snapshot, chosen refresh.Spec) ingest.Namespace {
	switch chosen.Policy {
	case refresh.ByTime:
		return ingest.RefreshNamespace(s.Dataset(), chosen.Policy, s.Filter.Field)
	case refresh.ByAge:
		return ingest.RefreshNamespace(s.Dataset(), chosen.Policy, chosen.Cycle.String())
	case refresh.ByChange:
		return ingest.RefreshNamespace(s.Dataset(), chosen.Policy, strings.Join(chosen.Exprs, " "), strings.Join(chosen.Mappings, " "))
	}
	return ingest.RefreshNamespace(s.Dataset(), chosen.Policy)
}

// refreshWindow is the window of an UPDATE (W§5): turns that have come, time to be
// read again, or for other ids a window that only paces and accounts. A window
// that is named is read again however far the watermark has come: that is what
// looking again is.
func refreshWindow(s spec.Snapshot, b Books, r Request) (window.Total, error) {
	chosen := refreshes(s, r)
	if err := refreshable(s, chosen, r); err != nil {
		return window.Total{}, err
	}
	if chosen.Policy == refresh.ByAge {
		return refresh.Rota(refresh.RotaInputs{Now: r.Now, Cycle: chosen.Cycle.Std(), Cursor: b.cursor(), Waiting: b.waiting(r), Done: b.done()})
	}
	in := window.UpdateInputs{Now: r.Now, UserFrom: r.From, UserTo: r.To, ByTime: chosen.Policy == refresh.ByTime}
	if r.From == nil && in.ByTime {
		in.Cursor = b.cursor()
		if owed := b.behind(); len(owed) > 0 {
			all := window.Window{From: owed[0].From, To: *in.Cursor}
			in.Cursor, in.Skip = &owed[0].From, window.Subtract(all, owed)
		}
	}
	return window.Update(s.Window, in)
}

// behind is what is owed below the watermark: windows that somebody named there and
// that failed. A watermark does not go back, so nobody else would come to them again.
func (b Books) behind() (owed []window.Window) {
	cursor := b.cursor()
	for _, seg := range b.Own.Segments {
		if cursor == nil || !seg.Window.From.Before(*cursor) {
			break
		}
		if !seg.Done() && !seg.Want.IsZero() {
			below, _ := seg.Window.Split(*cursor)
			owed = append(owed, below)
		}
	}
	return owed
}

func (b Books) done() (out []window.Window) {
	for _, seg := range b.Own.Segments {
		if seg.Done() {
			out = append(out, seg.Window)
		}
	}
	return out
}

// candidates counts what an UPDATE by ids would look at.
func (p *Planner) candidates(ctx context.Context, s spec.Snapshot, b Books, r Request) (out Candidates, err error) {
	if !byID(s, r) {
		return out, nil
	}
	total, err := refreshWindow(s, b, r)
	if err != nil || total.Empty {
		return out, err
	}
	q := ingest.CandidateQuery{Dataset: s.Dataset(), Spec: refreshes(s, r)}
	if q.Policy == refresh.ByAge {
		for _, w := range total.Owed {
			q.Shares = append(q.Shares, refresh.Shares(w, q.Cycle.Std())...)
		}
	}
	if out, err = p.store.Candidates(ctx, q); err != nil || r.Refresh.To == 0 {
		return out, err
	}
	return narrowed(out, r.Refresh.From, r.Refresh.To), nil
}

// narrowed keeps the signals an update was told of. How many others lie between
// them does not matter: they are open too.
func narrowed(c Candidates, from, to int64) Candidates {
	c.From, c.To = max(c.From, from), min(c.To, to)
	if c.From >= c.To {
		return Candidates{Exact: true}
	}
	c.Count = min(c.Count, c.To-c.From)
	return c
}

// waitingOf is what of a stretch failed and is not to be tried yet. Whoever asks in
// person does not wait: what is owed stands in the tables, not in the ledger.
func (b Books) waitingOf(w window.Window, r Request) (out []window.Window) {
	if r.Type == ingest.TriggerManual {
		return nil
	}
	for _, part := range b.waiting(r) {
		if part = part.Intersect(w); !part.Empty() {
			out = append(out, part)
		}
	}
	return out
}
