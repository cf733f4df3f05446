package upsim

import (
	"fmt"
	"math"
	"time"
)

// shiftWork puts a work in at the front of what a query selects, or takes the first
// one out: everything behind it moves by one place. A walk by token goes on over
// the shifted list.
func (s *Server) shiftWork(q formQuery, kind FaultKind) {
	if kind != FaultShiftInsert && kind != FaultShiftRemove {
		return
	}
	items := s.selectItems(q)
	if q.form.how == byToken {
		_, walked, _ := s.forms.trails.findStop(q.token, q.form.same, time.Now())
		items = walked
	}
	if len(items) == 0 {
		return
	}
	if kind == FaultShiftRemove {
		_ = s.data.Remove(s.data.doiOf(items[0].seq)) // gone already is gone
	} else {
		s.insertBefore(items[0], q)
	}
	if q.form.how == byToken {
		s.forms.trails.refreshItems(q.token, s.walkedAgain(items, q))
	}
}

// insertBefore adds a work that comes first by stamp and by id, as far as the
// window reaches.
func (s *Server) insertBefore(first item, q formQuery) {
	at := first.indexed - 1
	if q.from != math.MinInt64 {
		at = max(at, q.from)
	}
	s.forms.mu.Lock()
	s.forms.shifts++
	id := fmt.Sprintf("%s/!shift-%06d", doiPrefix, 999999-s.forms.shifts)
	s.forms.mu.Unlock()
	_, _ = s.data.Add(id, time.Unix(at, 0)) // the number makes the id free
}

// walkedAgain selects anew what a walk selected. Its window is not known from a
// token alone, where the client sends only that: the stamps of the old items
// stand in for it.
func (s *Server) walkedAgain(old []item, q formQuery) []item {
	if q.form.feed {
		return s.selectItems(q)
	}
	from, to := q.from, q.to
	if from == math.MinInt64 {
		from = old[0].indexed - 1
	}
	if to == math.MaxInt64 {
		to = old[len(old)-1].indexed + 1
	}
	return s.data.itemsBetween(from, to)
}
