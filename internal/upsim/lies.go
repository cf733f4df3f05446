package upsim

import (
	"bytes"
	"time"
)

// Lies are ways in which the lists below /forms/ answer well and wrongly: nothing
// in a single answer tells. The zero value tells the truth.
type Lies struct {
	// FilterOff is how far the date that the filter selects by lies from the one
	// that is shown: a work shown at noon is selected as if of noon + FilterOff.
	FilterOff time.Duration
	// RoundUp shows dates rounded up to whole steps; the filter knows the true ones.
	RoundUp time.Duration
	// Renamed gives the items of XML another name, as after a change of format.
	Renamed bool
	// OtherRecords answers a request for records with others than those it names,
	// as many of them.
	OtherRecords bool
	// Down is a CSV list that says in its only line, with a good status, that its
	// database is down.
	Down bool
	// Mark puts a UTF-8 byte order mark before JSON.
	Mark bool
	// Feed is the order in which feeds come.
	Feed        FeedOrder
	MisplacedBy time.Duration
	MisplacedID string // the only one; empty: every seventh
	// OnlyShelf is the shelf whose works come, whichever is asked for, as from a cache that takes all requests for one.
	OnlyShelf string
	// AllShelves answers a request for one shelf with the works of every one.
	AllShelves bool
	// CutFiles serves files without their last line, whole ones to look at.
	CutFiles bool
	// ForgottenFile is not listed, and LostFile not served.
	ForgottenFile, LostFile string
	// MixedFiles sends the rest of a file out of another one, with the same works in another
	// order, to who asks for it, whatever If-Range says.
	MixedFiles bool
}

// SetLies changes the lies while the server runs: some pass, as those of a new
// release that is taken back. Walks by token keep what they selected.
func (s *Server) SetLies(l Lies) {
	s.forms.mu.Lock()
	defer s.forms.mu.Unlock()
	s.forms.lies = l
}

func (s *Server) currentLies() Lies {
	s.forms.mu.Lock()
	defer s.forms.mu.Unlock()
	return s.forms.lies
}

// Shown returns the date of a work as answers have it.
func (l Lies) Shown(at time.Time) time.Time { return time.Unix(l.shownInstant(at.Unix()), 0).UTC() }

// asFiltered moves a window to the dates of the works it selects.
func (l Lies) asFiltered(q formQuery) (from, to int64) {
	off := int64(l.FilterOff / time.Second)
	return shiftInstant(q.from, -off), shiftInstant(q.to, -off)
}

// shiftInstant leaves a window open that has no bound.
func shiftInstant(at, by int64) int64 {
	if at == openStart || at == openEnd {
		return at
	}
	return at + by
}

// shownInstant returns the date of a work as an answer has it.
func (l Lies) shownInstant(unix int64) int64 {
	step := int64(l.RoundUp / time.Second)
	if step <= 1 {
		return unix
	}
	return (unix + step - 1) / step * step
}

// otherWorks gives a work that was not asked for in the place of each one that was.
func (d *Dataset) otherWorks(asked []item) (out []item) {
	named := map[uint32]bool{}
	for _, it := range asked {
		named[it.seq] = true
	}
	for it := range d.allItems() {
		if len(out) == len(asked) {
			break
		}
		if !named[it.seq] {
			out = append(out, it)
		}
	}
	return out
}

// renameItems writes the items of an XML answer under another name.
func (l Lies) renameItems(body []byte) []byte {
	if !l.Renamed {
		return body
	}
	for _, name := range []string{"record", "id"} {
		body = bytes.ReplaceAll(body, []byte("<"+name+">"), []byte("<"+name+"-v2>"))
		body = bytes.ReplaceAll(body, []byte("</"+name+">"), []byte("</"+name+"-v2>"))
	}
	return body
}

// downBody returns what a list in CSV sends while its database is down.
func (l Lies) downBody(body []byte) []byte {
	if !l.Down {
		return body
	}
	return []byte("error: database is down\n")
}

// markBody writes the mark before a text.
func (l Lies) markBody(body []byte) []byte {
	if !l.Mark {
		return body
	}
	return append([]byte("\ufeff"), body...)
}
