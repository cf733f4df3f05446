package upsim

import (
	"fmt"
	"math"
	"time"
)

// Pages with one item more than was asked for. What stands on them otherwise,
// where the next page begins and what is announced stay as they are.
const (
	FaultPinnedItem  FaultKind = "pinned-item"
	FaultForeignItem FaultKind = "foreign-item"
)

// surplusKinds lists the kinds of this file.
func surplusKinds() []FaultKind { return []FaultKind{FaultPinnedItem, FaultForeignItem} }

// padPage puts the surplus item in front of a page: one of the list that has its place
// elsewhere, as lists do that show a few works on every page, or another new one
// that the window does not select.
func (s *Server) padPage(q formQuery, list, page []item, kind FaultKind) []item {
	var extra item
	switch kind {
	case FaultPinnedItem:
		extra = list[len(list)/2]
	case FaultForeignItem:
		extra = s.addBehind(q)
	default:
		return page
	}
	return append([]item{extra}, page...)
}

// addBehind adds a work with a stamp behind the window.
func (s *Server) addBehind(q formQuery) item {
	s.forms.mu.Lock()
	s.forms.shifts++
	n := s.forms.shifts
	s.forms.mu.Unlock()
	at := q.to
	if at == math.MaxInt64 {
		at = s.data.cfg.To.Unix()
	}
	id, _ := s.data.Add(fmt.Sprintf("%s/!foreign-%06d", doiPrefix, n), time.Unix(at+int64(n), 0)) // the number makes the id free
	it, _ := s.data.lookUpDOI(id)
	return it
}
