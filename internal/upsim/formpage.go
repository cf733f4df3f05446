package upsim

import (
	"cmp"
	"net/http"
	"slices"
	"sort"
	"time"
)

// itemsBetween gives the works with a stamp in [from, to), oldest first.
func (d *Dataset) itemsBetween(from, to int64) []item {
	if to <= from {
		return nil
	}
	var out []item
	for _, day := range d.freezeView(from, to-1, byIndexedAsc).days {
		out = append(out, day...)
	}
	return out
}

// selectItems returns what a query selects, in the order of its form.
func (s *Server) selectItems(q formQuery) []item {
	items := s.onShelf(q, s.data.itemsBetween(s.currentLies().asFiltered(q)))
	if q.form.feed {
		return s.sortFeed(q, items)
	}
	if q.form.how != byKey && q.form.how != byStampKey {
		return items
	}
	keys := make(map[uint32]key, len(items)) // making a name is dear
	for _, it := range items {
		keys[it.seq] = s.keyOf(q, it)
	}
	slices.SortFunc(items, func(a, b item) int { return keys[a.seq].compareKeys(keys[b.seq]) })
	return items
}

func (s *Server) keyOf(q formQuery, it item) key {
	k := key{given: true, id: s.data.doiOf(it.seq)}
	if q.form.how == byStampKey {
		k.stamp = it.indexed
	}
	return k
}

func (k key) compareKeys(other key) int {
	return cmp.Or(cmp.Compare(k.stamp, other.stamp), cmp.Compare(k.id, other.id))
}

// leaf is the page a query asks for: where it lies in what was selected.
type leaf struct {
	items []item
	start int
	page  int // from 1
	place stop
}

// locatePage finds the page without moving anything.
func (s *Server) locatePage(q formQuery, now time.Time) (leaf, bool) {
	if q.form.how == byToken && q.token != "" {
		place, items, ok := s.forms.trails.findStop(q.token, q.form.same, now)
		return leaf{items, min(place.at, len(items)), place.number + 1, place}, ok
	}
	l := leaf{items: s.selectItems(q), start: q.start}
	if q.after.given {
		l.start = sort.Search(len(l.items), func(i int) bool { return q.liesBehind(s.keyOf(q, l.items[i]), q.after) })
	}
	l.start = min(l.start, len(l.items))
	// A key may stand anywhere between two pages: one that is behind the first
	// item is never page 1.
	l.page = (max(l.start, q.start)+q.size-1)/q.size + 1
	return l, true
}

// sheet is a page as it will be written.
type sheet struct {
	items  []item
	start  int
	total  int // announced; below 0 for none
	more   bool
	next   string // token of the next page
	query  formQuery
	spoil  victim
	absent []string // ids without a record
}

// answerList answers a request for a page.
func (s *Server) answerList(req request, f Fault) answer {
	q, now := req.form.query, time.Now()
	s.changeWork(q)
	s.shiftWork(q, f.Kind)
	if f.Kind == FaultExpireCursor {
		s.forms.trails.expireToken(q.token, cmp.Or(f.Status, http.StatusNotFound))
	}
	l, ok := s.locatePage(q, now)
	if !ok {
		return formError(s.forms.trails.refusalStatus(q.token), "token-not-valid", "The token is not valid or has expired.")
	}
	reach := s.reachableItems(q, len(l.items))
	if l.start >= reach && reach < len(l.items) && s.opts.Forms.CapAnswer != CapSilent {
		status := map[CapAnswer]int{CapError: http.StatusBadRequest, CapError200: http.StatusOK}[s.opts.Forms.CapAnswer]
		return formError(status, "too-deep", "Only the first items of a query are served.")
	}
	out := s.cutPage(q, l, reach, f, now)
	out.spoil = s.chooseVictim(req, len(out.items), func(i int) item { return out.items[i] }, f.Kind)
	return s.writePage(out)
}

// reachableItems returns how many of the selected items a query can get at.
func (s *Server) reachableItems(q formQuery, total int) int {
	if limit := s.opts.Forms.Cap; limit > 0 && (q.form.byPosition() || q.form.how == byToken) {
		return min(total, limit)
	}
	return total
}

// cutPage cuts the page out, bent by the fault, and says what follows.
func (s *Server) cutPage(q formQuery, l leaf, reach int, f Fault, now time.Time) sheet {
	from := min(l.start, reach)
	to := min(from+q.size, reach)
	behind := to // where the next page begins
	switch f.Kind {
	case FaultDuplicatePage:
		from, to = max(0, from-q.size), from
	case FaultShortPage:
		to -= (to - from + 1) / 2
		behind = to
	case FaultEmptyPage:
		to, behind = from, from
	case FaultRepeatLast:
		from, to, behind = (reach-1)/q.size*q.size, reach, reach
	}
	out := sheet{items: s.padPage(q, l.items, l.items[from:to], f.Kind), start: from, total: announcedTotal(q, len(l.items), l.page, f), query: q, more: behind < reach}
	if f.Kind == FaultLostNext {
		out.more = false
	}
	if q.form.how != byToken {
		return out
	}
	place := l.place
	if place.trail == 0 {
		place = s.forms.trails.beginTrail(l.items, now)
	}
	next := stop{place.trail, behind, l.page}
	if f.Kind == FaultTokenLoop {
		back := max(f.Back, 1)
		next.at, next.number, out.more = (back-1)*q.size, back-1, true
	}
	s.forms.trails.moveTrail(next, now)
	if q.form.same {
		next = stop{trail: place.trail}
	}
	if out.more || q.form.same && f.Kind != FaultLostNext {
		out.next = s.forms.trails.tokenText(next)
	}
	return out
}

// announcedTotal returns the total of a page.
func announcedTotal(q formQuery, total, page int, f Fault) int {
	switch {
	case !q.form.total || f.Kind == FaultTotalMissing:
		return -1
	case f.Kind == FaultTotalWrong:
		return f.Total
	case f.Kind == FaultTotalFalling:
		return max(0, total-(page-1)*max(f.Total, 1))
	}
	return total
}
