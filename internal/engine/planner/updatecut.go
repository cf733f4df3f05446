package planner

import (
	"encoding/json"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/refresh"
	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/window"
)

// What the ranges of slices are about.
const (
	candidateKey = "provider_id"
	batchOfBody  = "batch_id"
	signalNumber = "signal_id"
	rejectNumber = "quarantine_id"
)

// cutIDs makes the slices of an update by ids (W§5.3): turns and their hashes, or
// numbers of batches or signals. Later plans read nothing of these again.
func (u update) cutIDs(d *drawing, b Inputs) error {
	s, chosen, c := u.compiled.Snapshot, u.chosen, b.Candidates
	counted := "counted"
	if !c.Exact && c.Count > 0 {
		counted = "extrapolated"
	}
	d.addStep("candidates", fmt.Sprint(c.Count), counted+": "+describeCandidates(chosen.Policy))
	d.strategy, d.refresh, d.lookback = slicing.IDRange, &chosen, 0
	if c.Count == 0 && chosen.Policy != refresh.ByAge {
		d.owed, d.Empty, d.Reason = nil, true, fmt.Sprintf("no record of %s/%s is %s", s.Source, s.Endpoint, describeCandidates(chosen.Policy))
		return nil
	}
	if chosen.Policy != refresh.ByAge {
		span := ingest.IDSpan(c.From, c.To)
		waits := b.waitingWithin(span, u.request)
		if d.owed = window.Subtract(span, waits); len(d.owed) == 0 {
			d.Empty, d.Reason = true, "all of them failed before and wait for their retry time"
			return nil
		}
	}
	return d.cutRange(s, u.compiled.Prototype.Selection, c)
}

// describeCandidates returns in words what the candidates of a policy are.
func describeCandidates(p refresh.Policy) string {
	switch p {
	case refresh.ByChange:
		return "stored under another expression or mapping than today's"
	case refresh.BySignal:
		return "named by an open signal"
	case refresh.ByQuarantine:
		return "put back from quarantine"
	}
	return "due: its turn has come, and it was last fetched or looked at before that"
}

// cutRange cuts what is owed into ranges of ids. Turns are sliced even where no record is
// due: the watermark says which turns have come and gone.
func (d *drawing) cutRange(s spec.Snapshot, selection string, c Candidates) error {
	steps := stepsByID(s)
	request := slicingRequest(s, d.owed)
	request.Config.Strategy, request.Order = slicing.IDRange, ""
	request.Cap, request.MaxPages, request.Config.MaxPages, request.PageSize = 0, 0, 0, steps[0].PerRequest // nothing is paged
	request.Steps, request.NewestFirst = steps, false
	request.Candidates = &slicing.Candidates{Key: candidateKey, Kind: slicing.Hash, Count: c.Count, Rough: !c.Exact, AsOf: d.NowSafe, Refresh: d.refresh}
	switch d.refresh.Policy {
	case refresh.ByChange:
		request.Candidates.Key, request.Candidates.Kind = batchOfBody, slicing.Number
	case refresh.BySignal:
		request.Candidates.Key, request.Candidates.Kind = signalNumber, slicing.Number
	case refresh.ByQuarantine:
		request.Candidates.Key, request.Candidates.Kind = rejectNumber, slicing.Number
	}
	result, err := slicing.Plan(request)
	if err != nil {
		return err
	}
	if d.refresh.Policy == refresh.ByChange && !d.refresh.Ask {
		d.addStep("answers", "kept", "records are mapped anew from kept answers; only the others take a request")
	}
	d.addStep("slices", fmt.Sprint(len(result.Slices)), "every candidate is in one of them")
	d.Stats = result.Stats
	d.forecastEffort(s.Operation, result, steps, nil)
	if d.refresh.Policy == refresh.ByQuarantine || d.refresh.Policy == refresh.ByChange && !d.refresh.Ask {
		d.due = nil // answers that are kept take no request: nothing is to be spread
	}
	return d.addCuts(s, selection, result.Slices)
}

// addStep adds a step to the explanation of the draft.
func (d *drawing) addStep(name, value, why string) {
	d.Explain = append(d.Explain, window.Step{Name: name, Value: value, Why: why})
}

// cutOfStored returns how a stored plan that goes on is cut: by ids or by time, as its
// operation was. Nobody counts candidates again; the parts are only longer or shorter.
func cutOfStored(c *spec.Compiled, o ingest.OpenPlan) (func(*drawing, Estimates) error, error) {
	ids, err := refreshOf(o)
	if err != nil {
		return nil, err
	}
	return func(d *drawing, known Estimates) error {
		if d.refresh = ids; ids != nil {
			return d.cutRange(c.Snapshot, c.Prototype.Selection, Candidates{})
		}
		return d.cutTime(c.Snapshot, c.Prototype.Selection, known)
	}, nil
}

// refreshOf returns what a stored plan looks at; nil: it is not one of ids.
func refreshOf(o ingest.OpenPlan) (*refresh.Spec, error) {
	var params struct {
		Refresh *refresh.Spec `json:"refresh"`
	}
	if len(o.Params) == 0 {
		return nil, nil
	}
	err := json.Unmarshal(o.Params, &params)
	return params.Refresh, err
}
