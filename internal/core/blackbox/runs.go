package blackbox

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/view"
)

// Version tells two contents of a record apart.
type Version uint64

// PageOf is one batch of a run with the records its answer had.
type PageOf struct {
	Batch    view.Batch
	IDs      []string
	Versions []Version // one per id
	Unread   string    // why its records are not known
}

// NewPage takes what a comparison of runs needs of a reading.
func NewPage(b view.Batch, r *Reading) PageOf {
	p := PageOf{Batch: b}
	if r.Err != nil {
		p.Unread = r.Err.Error()
		return p
	}
	for _, in := range r.Records {
		p.IDs = append(p.IDs, in.ProviderID)
		p.Versions = append(p.Versions, versionOf(in))
	}
	return p
}

func versionOf(in record.Incoming) Version {
	v := binary.BigEndian.Uint64(in.ContentHash[:8])
	if in.Gone {
		v = ^v
	}
	return Version(v)
}

// RunDiff compares two runs.
type RunDiff struct {
	A         view.Run    `json:"a"`
	B         view.Run    `json:"b"`
	Identical bool        `json:"identical"`
	Batches   []BatchDiff `json:"batches"`
	Added     int         `json:"added"`
	Missing   int         `json:"missing"`
	Changed   int         `json:"changed"`
	Same      int         `json:"same"`
	Unread    int         `json:"unread,omitempty"` // batches whose records are not known: without them nobody can call the runs identical
	Notes     []string    `json:"notes,omitempty"`
}

// BatchDiff compares the batches of one number. An id is held against the whole
// other run: one that only moved to another page is no difference.
type BatchDiff struct {
	No      int                `json:"batchNo"`
	A       *ingest.BatchStats `json:"a,omitempty"` // absent: the run has no such batch
	B       *ingest.BatchStats `json:"b,omitempty"`
	Added   []string           `json:"added,omitempty"`   // in B only
	Missing []string           `json:"missing,omitempty"` // in A only
	Changed []string           `json:"changed,omitempty"`
}

// Differs reports that the batches differ, in what came or in what became of it.
func (b BatchDiff) Differs() bool {
	return b.A == nil || b.B == nil || b.A.Seen != b.B.Seen || len(b.Added)+len(b.Missing)+len(b.Changed) > 0
}

// DiffRuns compares two runs batch by batch. Pages come in the order of their
// batches.
func DiffRuns(a, b view.Run, as, bs []PageOf) *RunDiff {
	out := &RunDiff{A: a, B: b, Batches: []BatchDiff{}}
	if a.Source != b.Source || a.Operation != b.Operation {
		out.Notes = append(out.Notes, fmt.Sprintf("run %d is of %s %s, run %d of %s %s", a.ID, a.Source, a.Operation, b.ID, b.Source, b.Operation))
	}
	if a.Window != b.Window {
		out.Notes = append(out.Notes, fmt.Sprintf("the windows differ: %s and %s", a.Window, b.Window))
	}
	inA, inB := allVersions(as), allVersions(bs)
	wholeA, wholeB := allReadable(as), allReadable(bs)
	at := map[int]*BatchDiff{}
	batch := func(no int) *BatchDiff {
		if at[no] == nil {
			at[no] = &BatchDiff{No: no}
		}
		return at[no]
	}
	for _, p := range as {
		d := batch(p.Batch.No)
		d.A = &p.Batch.Stats
		if wholeB {
			d.Missing = absentIDs(p, inB)
		}
		out.Missing += len(d.Missing)
	}
	counted := map[record.Key]bool{}
	for _, p := range bs {
		d := batch(p.Batch.No)
		d.B = &p.Batch.Stats
		if wholeA {
			d.Added = absentIDs(p, inA)
		}
		out.Added += len(d.Added)
		for i, id := range p.IDs {
			key := record.KeyOf(id)
			was, both := inA[key]
			switch {
			case !both || counted[key]:
			case was != p.Versions[i]:
				d.Changed = append(d.Changed, id)
				out.Changed++
			default:
				out.Same++
			}
			counted[key] = true
		}
	}
	for _, p := range slices.Concat(as, bs) {
		if p.Unread != "" {
			out.Unread++
			out.Notes = append(out.Notes, fmt.Sprintf("batch %d of run %d is compared by its numbers only: %s", p.Batch.No, p.Batch.RunID, p.Unread))
		}
	}
	return out.closeDiff(at)
}

func (d *RunDiff) closeDiff(at map[int]*BatchDiff) *RunDiff {
	for _, b := range at {
		d.Batches = append(d.Batches, *b)
	}
	d.Identical = d.Unread == 0 && !d.Differs()
	slices.SortFunc(d.Batches, func(a, b BatchDiff) int { return a.No - b.No })
	return d
}

// Differs reports that something is known to differ.
func (d *RunDiff) Differs() bool { return slices.ContainsFunc(d.Batches, BatchDiff.Differs) }

func allVersions(pages []PageOf) map[record.Key]Version {
	out := map[record.Key]Version{}
	for _, p := range pages {
		for i, id := range p.IDs {
			out[record.KeyOf(id)] = p.Versions[i]
		}
	}
	return out
}

// allReadable reports whether all of a run could be read: only then is it known
// what the run does not have.
func allReadable(pages []PageOf) bool {
	return !slices.ContainsFunc(pages, func(p PageOf) bool { return p.Unread != "" })
}

// absentIDs returns the ids of a page that another run has nowhere.
func absentIDs(p PageOf, other map[record.Key]Version) (ids []string) {
	for _, id := range p.IDs {
		if _, there := other[record.KeyOf(id)]; !there {
			ids = append(ids, id)
		}
	}
	return ids
}
