package upsim

import (
	"iter"
	"time"
)

// How a work is broken when it is served; Sound when it is not.
const (
	Sound     = ""
	MissingID = "missing-id"
	BadDate   = "bad-date"
)

// Truth is one work as it is in the set now.
type Truth struct {
	DOI     string    // also of a work that is served without it
	Indexed time.Time // UTC, whole seconds; also of a work whose stamp is served broken
	Version int       // 1, and one more with each content change
	Bad     string    // Sound, MissingID or BadDate; if not Sound it must be quarantined
	JSON    []byte    // byte for byte as it is served
}

// Len returns the number of works in the set.
func (d *Dataset) Len() int {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.size
}

// Truth gives all works, oldest stamp first. It renders every one of them; for
// large sets range over Heads or All.
func (d *Dataset) Truth() []Truth {
	all := make([]Truth, 0, d.Len())
	for t := range d.All() {
		all = append(all, t)
	}
	return all
}

// All walks a snapshot of the works, oldest stamp first, one at a time.
func (d *Dataset) All() iter.Seq[Truth] {
	return func(yield func(Truth) bool) {
		for it := range d.allItems() {
			if !yield(d.truthOf(it)) {
				return
			}
		}
	}
}

// Heads returns what All returns without the JSON, which makes it cheap.
func (d *Dataset) Heads() iter.Seq[Truth] {
	return func(yield func(Truth) bool) {
		for it := range d.allItems() {
			if !yield(d.headTruth(it)) {
				return
			}
		}
	}
}

// Lookup finds one work by its DOI, whatever the case.
func (d *Dataset) Lookup(doi string) (Truth, bool) {
	it, ok := d.lookUpDOI(doi)
	if !ok {
		return Truth{}, false
	}
	return d.truthOf(it), true
}

func (d *Dataset) lookUpDOI(doi string) (item, bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.byDOI(doi)
}

func (d *Dataset) allItems() iter.Seq[item] {
	return func(yield func(item) bool) {
		v := d.freezeView(anyTimeFrom, anyTimeTo, byIndexedAsc)
		for _, day := range v.days {
			for _, it := range day {
				if !yield(it) {
					return
				}
			}
		}
	}
}

func (d *Dataset) headTruth(it item) Truth {
	return Truth{
		DOI:     d.doiOf(it.seq),
		Indexed: time.Unix(it.indexed, 0).UTC(),
		Version: int(it.rev) + 1,
		Bad:     d.defectOf(it.seq),
	}
}

func (d *Dataset) truthOf(it item) Truth {
	t := d.headTruth(it)
	t.JSON = d.appendWork(nil, it, t.Bad)
	return t
}
