package planner

import (
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/sector"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Inputs are what a draft is drawn from.
type Inputs struct {
	Own          coverage.State   // of the plan's own namespace
	Known        bool             // there is one
	Lags         []sector.Lag     // sectors that owe what others have read
	Refused      []sector.Refusal // sectors that the upstream refuses
	Parents      *Parents         // where parts of the list are stored records
	CauseChanged time.Time        // when what may have made it fail was changed last
	Forward      *time.Time       // the watermark of HARVEST on the same question; a BACKFILL does not pass it
	// Candidates are what an UPDATE by ids works on.
	Candidates Candidates
	ItemBytes  int64               // of one item so far; zero: nothing was read yet
	Uses       map[string]gate.Use // how the rate keys stand; what is missing was never used
	// Begin is as of when files have whatever is older (window.bootstrap), before the first
	// reading. FilesFirst is why it is not known; empty: nothing is to be waited for.
	Begin      *time.Time
	FilesFirst string
	// Lateness is what the safety lag adapts to; nil: it is the declared one.
	Lateness *window.Lateness
}

// watermarkOrNil returns the watermark of the plan's own namespace, or nil before the
// first reading.
func (b Inputs) watermarkOrNil() *time.Time {
	if !b.Known || b.Own.Cursor.IsZero() {
		return nil
	}
	return &b.Own.Cursor
}

// waitingWindows returns the ranges that failed and whose retry is not due yet.
func (b Inputs) waitingWindows(r Request) (out []window.Window) {
	if b.watermarkOrNil() == nil {
		return nil
	}
	changed := b.CauseChanged
	if r.RetryBefore.After(changed) {
		changed = r.RetryBefore
	}
	for _, seg := range coverage.Waiting(b.Own.Segments, r.Now, changed) {
		out = append(out, seg.Window)
	}
	return out
}

// doneWindows returns the ranges that need no reading.
func (b Inputs) doneWindows() (out []window.Window) {
	for _, seg := range b.Own.Segments {
		if seg.Done() {
			out = append(out, seg.Window)
		}
	}
	return out
}

// waitingWithin returns what of a range failed and is not to be tried yet. A manual
// request does not wait: somebody wants it now.
func (b Inputs) waitingWithin(w window.Window, r Request) (out []window.Window) {
	if r.Type == ingest.TriggerManual {
		return nil
	}
	for _, part := range b.waitingWindows(r) {
		if part = part.Intersect(w); !part.Empty() {
			out = append(out, part)
		}
	}
	return out
}

// owedBehindWatermark returns what is owed below the watermark: windows that somebody
// named there and that failed. A watermark does not go back, so nobody else would come
// to them again.
func (b Inputs) owedBehindWatermark() (owed []window.Window) {
	cursor := b.watermarkOrNil()
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

// passedWindow returns the range up to the watermark that was read without a hole. What
// lies before it may be read for the first time, by a lookback longer than all
// harvests so far or after an operator moved the watermark: new items there did
// not come late. Nor do those of a window that is still owed: the watermark
// stands before it.
func (b Inputs) passedWindow() window.Window {
	at := b.watermarkOrNil()
	if at == nil {
		return window.Window{}
	}
	from := *at
	for _, seg := range slices.Backward(b.Own.Segments) {
		if !seg.Window.From.Before(from) {
			continue // beyond the watermark
		}
		if seg.Have.IsZero() || seg.Window.To.Before(from) {
			break
		}
		from = seg.Window.From
	}
	return window.Window{From: from, To: *at}
}

// runs returns into how many runs parents are divided; zero: the parts of the list are no parents.
func (b Inputs) runs() int {
	if b.Parents == nil {
		return 0
	}
	return b.Parents.Runs
}
