package planner

import (
	"context"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Candidates are the stored records an UPDATE by ids would check again.
type Candidates struct {
	Count int64
	Exact bool // counted, not extrapolated
}

// candidateKey is what candidates are known by.
const candidateKey = "provider_id"

// byID is the choice of W§5.1: a window that was asked for selects records where
// the source can select by date. In every other case stored ids do, and the
// window only paces them.
func byID(s spec.Snapshot, r Request) bool {
	if s.Operation != ingest.Update {
		return false
	}
	asked := r.From != nil || r.To != nil
	return !asked || s.Filter.Field == "" || s.Slicing.Strategy == slicing.IDRange
}

// cutIDs makes the slices of an UPDATE by ids (W§5.3): hash buckets over what is
// stored and was not looked at since before the end of the window.
func (d *Draft) cutIDs(s spec.Snapshot, selection string, c Candidates) error {
	of, end := s.Source+"/"+s.Endpoint, window.Text(d.Window.To)
	counted := "counted"
	if !c.Exact && c.Count > 0 {
		counted = "extrapolated"
	}
	d.explain("candidates", fmt.Sprint(c.Count), counted+": last fetched or checked before the window ends")
	if c.Count == 0 {
		d.Empty, d.Reason = true, fmt.Sprintf("no record of %s is stored that was last fetched or checked before %s", of, end)
		return nil
	}
	steps := stepsByID(s)
	request := slicingRequest(s, nil)
	request.Config.Strategy, request.Order = slicing.IDRange, ""
	request.Cap, request.MaxPages, request.Config.MaxPages, request.PageSize = 0, 0, 0, steps[0].PerRequest // nothing is paged
	request.Steps = steps
	request.Candidates = &slicing.Candidates{Key: candidateKey, Count: c.Count, Rough: !c.Exact, AsOf: d.NowSafe}
	result, err := slicing.Plan(request)
	if err != nil {
		return err
	}
	d.explain("slices", fmt.Sprint(len(result.Slices)), "buckets of a hash: every id is in one of them")
	d.Stats = result.Stats
	d.foresee(s.Operation, result, steps, nil)
	return d.add(s, selection, result.Slices)
}

func (d *Draft) explain(name, value, why string) {
	d.Explain = append(d.Explain, window.Step{Name: name, Value: value, Why: why})
}

func (p *Planner) candidates(ctx context.Context, s spec.Snapshot, b Books, r Request) (out Candidates, err error) {
	if !byID(s, r) {
		return out, nil
	}
	total, err := totalWindow(s, b, r)
	if err != nil || total.Empty {
		return out, err
	}
	out.Count, out.Exact, err = p.store.Candidates(ctx, s.Dataset(), total.Window.To)
	return out, err
}
