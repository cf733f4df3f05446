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

// stepOf returns what an endpoint does in a role for each slice.
func stepOf(s spec.Snapshot, role string, perRequest int) slicing.Step {
	return slicing.Step{
		Endpoint: s.Endpoint, Role: role, PerRequest: perRequest, ByID: role == details,
		PerSecond: s.Rate.PerSecond, Concurrency: s.Rate.Concurrency, PricePerRequest: s.Rate.PricePerRequest,
	}
}

// stepsOf returns what endpoints do for a slice of time.
func stepsOf(s spec.Snapshot) []slicing.Step {
	search := stepOf(s, searches, s.Paging.Size)
	search.Passes = countPasses(s)
	if !s.SearchesIDs() || s.ReadsFiles() {
		return []slicing.Step{search}
	}
	return append([]slicing.Step{search}, stepsByID(s)...)
}

// stepsByID returns what endpoints do for a slice of ids. A source that declares no way to ask for
// several ids is asked for one at a time.
func stepsByID(s spec.Snapshot) []slicing.Step {
	if s.Detail != nil {
		return []slicing.Step{stepOf(*s.Detail, details, s.Details.BatchSize)}
	}
	return []slicing.Step{stepOf(s, details, 1)}
}

// countPasses returns how often pages are read: those that move, until two readings
// agree (D§5.14).
func countPasses(s spec.Snapshot) int {
	if s.Paging.Stable != nil && !*s.Paging.Stable {
		return 2
	}
	return 1
}

// forecastEffort works out what the slices will take, and when each of them should begin.
// What follows the present is due at once; see slicing.Spread.
func (d *drawing) forecastEffort(o ingest.Operation, result slicing.Result, steps []slicing.Step, sizes func(slicing.Slice) slicing.Estimate) {
	in := slicing.ForecastInputs{Steps: steps, Sizes: sizes, AvgBytes: d.itemBytes, AvgBytesFrom: slicing.FromHistory}
	if in.AvgBytes <= 0 {
		in.AvgBytes, in.AvgBytesFrom = slicing.AssumedItemBytes, slicing.FromConstant
	}
	d.Forecast = slicing.Forecast(result, in)
	if !traitsOf(o).followsPresent {
		d.due = slicing.Spread(result.Slices, steps)
	}
}

// maxSizedRanges bounds how many ranges are counted for a forecast alone.
const maxSizedRanges = 20

// sizeRanges returns the sizes of slices where they matter for the forecast alone:
// the source does not say what a slice should hold, and somebody wants to know what
// the plan will take. Whole ranges are sized then, and slices get their share.
func (d *drawing) sizeRanges(s spec.Snapshot, known Estimates) func(slicing.Slice) slicing.Estimate {
	d.Files = s.ReadsFiles()
	if !d.forecast || known == nil || s.CutsBySize() || s.ReadsFiles() { // what a listing counts are files, and nobody knows the records in them
		return nil
	}
	ranges := d.owed[:min(len(d.owed), maxSizedRanges)]
	if len(known) == 0 { // what nobody could tell is not asked for twice
		d.wanted, d.idle = ranges, true
		return nil
	}
	return func(one slicing.Slice) slicing.Estimate {
		for _, whole := range ranges {
			if found, ok := known[whole]; ok && whole.Contains(one.Window.From) {
				return found.Share(one.Window, whole)
			}
		}
		return slicing.Estimate{}
	}
}

// scheduleSlices fixes from when on the slices of a drawing are due. A plan that goes on
// queues behind what it has scheduled so far; a new one does not, so that two plans of
// a partition take turns.
func (p *Planner) scheduleSlices(ctx context.Context, d *drawing, of ingest.Partition, goesOn bool) (err error) {
	if d.due == nil {
		return p.placeInQuota(ctx, d)
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
	return p.placeInQuota(ctx, d)
}

// dueAt returns when the task of a slice may run; zero is at once.
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
