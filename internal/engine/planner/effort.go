package planner

import (
	"context"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/spec"
)

// The two roles of an endpoint in a plan (§4.6).
const (
	searches = "SEARCH"
	details  = "DETAIL"
)

func stepOf(s spec.Snapshot, role string, perRequest int) slicing.Step {
	return slicing.Step{
		Endpoint: s.Endpoint, Role: role, PerRequest: perRequest, ByID: role == details,
		PerSecond: s.Rate.PerSecond, Concurrency: s.Rate.Concurrency, PricePerRequest: s.Rate.PricePerRequest,
	}
}

// stepsOf is what a slice of time makes endpoints do.
func stepsOf(s spec.Snapshot) []slicing.Step {
	search := stepOf(s, searches, s.Paging.Size)
	search.Passes = passes(s)
	if s.Detail == nil {
		return []slicing.Step{search}
	}
	return append([]slicing.Step{search}, stepsByID(s)...)
}

// stepsByID is what a slice of ids does. A source that declares no way to ask for
// several ids is asked for one at a time.
func stepsByID(s spec.Snapshot) []slicing.Step {
	if s.Detail != nil {
		return []slicing.Step{stepOf(*s.Detail, details, s.Details.BatchSize)}
	}
	return []slicing.Step{stepOf(s, details, 1)}
}

// passes: pages that move are read until two readings agree (D§5.14).
func passes(s spec.Snapshot) int {
	if s.Paging.Stable != nil && !*s.Paging.Stable {
		return 2
	}
	return 1
}

// foresee tells what the slices will take, and when each of them should begin.
// What follows the present is due at once; see slicing.Spread.
func (d *drawing) foresee(o ingest.Operation, result slicing.Result, steps []slicing.Step, sizes func(slicing.Slice) slicing.Estimate) {
	in := slicing.ForecastInputs{Steps: steps, Sizes: sizes, AvgBytes: d.itemBytes, AvgBytesFrom: slicing.FromHistory}
	if in.AvgBytes <= 0 {
		in.AvgBytes, in.AvgBytesFrom = slicing.AssumedItemBytes, slicing.FromConstant
	}
	d.Forecast = slicing.Forecast(result, in)
	if !traitsOf(o).followsPresent {
		d.due = slicing.Spread(result.Slices, steps)
	}
}

// maxStretches bounds how many stretches are counted for a forecast alone.
const maxStretches = 20

// sizesOnly is for a source that does not say what a slice should hold. Its
// slices do not depend on sizes, but somebody wants to know what they will take:
// then whole stretches are sized, and slices get their share.
func (d *drawing) sizesOnly(s spec.Snapshot, known Estimates) func(slicing.Slice) slicing.Estimate {
	if !d.forecast || known == nil || s.CutsBySize() {
		return nil
	}
	stretches := d.owed[:min(len(d.owed), maxStretches)]
	if len(known) == 0 { // what nobody could tell is not asked for twice
		d.wanted, d.idle = stretches, true
		return nil
	}
	return func(one slicing.Slice) slicing.Estimate {
		for _, whole := range stretches {
			if found, ok := known[whole]; ok && whole.Contains(one.Window.From) {
				return found.Share(one.Window, whole)
			}
		}
		return slicing.Estimate{}
	}
}

// begin fixes the instants from which the slices of a draft are due. A plan that
// goes on queues behind what it has scheduled so far; a new one does not, so that
// two plans of a partition take turns.
func (p *Planner) begin(ctx context.Context, d *drawing, of ingest.Partition, goesOn bool) (err error) {
	if d.due == nil {
		return p.place(ctx, d)
	}
	if d.began, err = p.store.Now(ctx); err != nil {
		return err
	}
	d.first = d.began
	if goesOn {
		last, err := p.store.LastDue(ctx, of)
		if err != nil {
			return err
		}
		if last.After(d.first) {
			d.first = last
		}
	}
	return p.place(ctx, d)
}

// dueAt is when the task of a slice may run; zero is at once.
func (d *drawing) dueAt(i int) time.Time {
	if d.due == nil && d.quota.at == nil || d.began.IsZero() {
		return time.Time{}
	}
	due, latest := d.first, d.began.Add(slicing.LatestDue)
	switch {
	case d.quota.at != nil:
		due = d.quota.at[i]
	case d.due != nil:
		due = due.Add(d.due[i])
	}
	if due.After(latest) {
		return latest
	}
	return due
}
