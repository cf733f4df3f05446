package planner

import (
	"time"

	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/sector"
	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/window"
)

// rows are the slices of a draft as they are stored. Their texts are written when
// they are needed: all of them at once would be hundreds of megabytes.
type rows struct {
	drawn           *drawing
	planKey         string
	first, priority int
}

// countSlices returns how many slices there are.
func (r rows) countSlices() int { return len(r.drawn.cuts) }

// writeRows writes the slices from ≤ i < to.
func (r rows) writeRows(from, to int) ([]ingest.NewSlice, error) {
	out := make([]ingest.NewSlice, 0, to-from)
	var specs specTexts
	for i := from; i < to; i++ {
		cut, signature := r.drawn.cuts[i], r.drawn.Slices[i].Signature
		expr, err := r.drawn.expressions.expressionOf(cut.Asked)
		if err != nil {
			return nil, err
		}
		spec, err := specs.textOf(cut.Spec)
		if err != nil {
			return nil, err
		}
		params := taskParams(cut.Window)
		name := sector.NameOf(cut.Spec.Sector)
		if name != "" {
			if params, err = sectorParams(cut.Window, name); err != nil {
				return nil, err
			}
		}
		out = append(out, ingest.NewSlice{
			No: r.first + i, Signature: signature, Window: cut.Window, Sector: name, Spec: spec, ExprHash: fingerprint.Bytes(expr), Expr: expr,
			TaskKey: slicing.TaskKey(r.planKey, signature, params), TaskParams: params, Priority: r.priority,
			ScheduledAt: r.drawn.dueAt(i), Waits: r.drawn.waitsFor(i), Reserved: r.drawn.reservedFor(i),
		})
	}
	return out, nil
}

// taskParams returns the canonical JSON of a task's window: its members are in order,
// and an instant has no character that JSON escapes.
func taskParams(w window.Window) []byte {
	out := make([]byte, 0, 96)
	out = append(out, `{"from":"`...)
	out = w.From.AppendFormat(out, time.RFC3339Nano)
	out = append(out, `","to":"`...)
	out = w.To.AppendFormat(out, time.RFC3339Nano)
	return append(out, `"}`...)
}

// sectorParams returns the same with the sector that the task is for.
func sectorParams(w window.Window, name string) ([]byte, error) {
	return fingerprint.Canonical(map[string]any{"from": w.From.Format(time.RFC3339Nano), "partition": name, "to": w.To.Format(time.RFC3339Nano)})
}

// writtenChunk is a chunk of slices, or why there is none.
type writtenChunk struct {
	slices []ingest.NewSlice
	err    error
}

// startChunk begins to write the chunk that starts at a slice, while the store is still
// busy with the one before it: that is where a large plan spends its time.
func (r rows) startChunk(from int) <-chan writtenChunk {
	out := make(chan writtenChunk, 1)
	go func() {
		defer close(out)
		slices, err := r.writeRows(min(from, r.countSlices()), min(from+chunk, r.countSlices()))
		out <- writtenChunk{slices, err}
	}()
	return out
}
