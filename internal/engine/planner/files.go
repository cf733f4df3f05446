package planner

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/files"
	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/window"
)

// FileStore knows which files of a listing have to be read.
type FileStore interface {
	OwedFiles(ctx context.Context, sliceID int64, take files.Take) ([]files.Owed, error)
}

// cutFiles makes a slice of each file that is owed, in the place of the one that read the
// listing. Together they own the window of that: it is done when all of them are, and a file
// that is not read is a gap (D§5.26).
func (p *Planner) cutFiles(ctx context.Context, request ingest.PendingReslice) ([]ingest.NewSlice, error) {
	s, err := spec.Load(request.Spec)
	if err != nil {
		return nil, err
	}
	c, err := s.Compiled()
	if err != nil {
		return nil, err
	}
	owed, err := p.store.OwedFiles(ctx, request.Lineage.SliceID, s.Files.Take)
	if err != nil {
		return nil, err
	}
	windows, err := tileFiles(request.Slice, len(owed))
	if err != nil {
		return nil, err
	}
	one := slicingRequest(s, []window.Window{request.Slice})
	parts, err := slicing.Cut(one)
	if err != nil {
		return nil, err
	}
	if len(parts) != 1 {
		return nil, fmt.Errorf("%w: a listing is one slice, not %d", fault.ErrInvalid, len(parts))
	}
	cuts := make([]slicing.Slice, len(owed))
	for i := range owed {
		cut := parts[0]
		cut.Window, cut.Asked = windows[i], windows[i]
		cut.Spec.Window.From, cut.Spec.Window.To, cut.Spec.Window.Asked = windows[i].From, windows[i].To, nil
		cut.Spec.File = &owed[i]
		cut.Spec.Telemetry.Part = true
		// A file is read to its end, however long it is.
		cut.Spec.Budget.MaxRequests, cut.Spec.Budget.MaxRecords, cut.Spec.Budget.MaxDurationSec = math.MaxInt32, math.MaxInt32, math.MaxInt32
		cuts[i] = cut
	}
	d := &drawing{Draft: &Draft{}}
	if err := d.addCuts(s, c.Prototype.Selection, cuts); err != nil {
		return nil, err
	}
	for i := range owed { // the window alone would not tell a single file from its listing
		d.Slices[i].Signature = fingerprint.Key(d.Slices[i].Signature, owed[i].Name, owed[i].Version)
	}
	out, err := rows{d, request.PlanKey, 1, request.Priority}.writeRows(0, len(cuts))
	for i := range out {
		out[i].PlannedIn = request.PlannedIn
	}
	return out, err
}

// tileFiles shares a window out among files: the last ones get a microsecond each, the first
// one the rest.
func tileFiles(of window.Window, n int) ([]window.Window, error) {
	if n == 0 {
		return nil, fmt.Errorf("%w: no file of the listing is owed any more", fault.ErrInvalid)
	}
	if of.Duration() < time.Duration(n)*time.Microsecond {
		return nil, fmt.Errorf("%w: the last listing was %s ago, which is too little for %d files; harvest again", fault.ErrInvalid, of.Duration(), n)
	}
	out := make([]window.Window, n)
	to := of.To
	for i := n - 1; i > 0; i-- {
		out[i] = window.Window{From: to.Add(-time.Microsecond), To: to}
		to = out[i].From
	}
	out[0] = window.Window{From: of.From, To: to}
	return out, nil
}
