package upsim

import "time"

// Shrinking is a selection that loses works while it is read: they are indexed
// anew, so their stamp leaves the days that were asked for. Of each pair one had
// been read by the walk, which cannot know that it left; the other one had not,
// and is no longer served. The announced total is what is left of them. Walks by
// scroll cursor only.
type Shrinking struct {
	Every int       // before each n-th page of a walk; 0 never
	Pairs int       // works that leave then, in pairs; default 1
	At    time.Time // the new stamp; default the end of the data set
	Now   bool      // the new stamp is the time at which it happens instead
}

// SetShrinking begins or ends it while the server runs.
func (s *Server) SetShrinking(c Shrinking) {
	s.forms.mu.Lock()
	defer s.forms.mu.Unlock()
	s.forms.shrinking = c
}

// shrinkWalk takes works out of the walk that a request goes on with.
func (s *Server) shrinkWalk(cursor string, now time.Time) {
	s.forms.mu.Lock()
	c := s.forms.shrinking
	s.forms.mu.Unlock()
	switch {
	case c.Every == 0:
		return
	case c.Now:
		c.At = now.Truncate(time.Second)
	case c.At.IsZero():
		c.At = s.data.cfg.To
	}
	for _, it := range s.walks.removeWorks(cursor, c.Every, max(c.Pairs, 1), now) {
		_ = s.data.Touch(s.data.doiOf(it.seq), c.At, true) // a work that is gone has left too
	}
}

// removeWorks chooses who leaves and takes the unread ones out of the walk.
func (ws *walks) removeWorks(cursor string, every, pairs int, now time.Time) (out []item) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	w, _, ok := ws.findWalk(cursor, now)
	if !ok || ws.mode != ScrollCursor || w.pages%every != 0 {
		return nil
	}
	for range pairs {
		last := w.view.total - 1
		if w.left >= w.next || last <= w.next {
			break
		}
		out = append(out, w.view.itemAt(w.left), w.view.itemAt(last))
		w.left++
		w.view = w.view.upTo(last)
	}
	return out
}

// upTo returns a view without what stands behind a place.
func (v view) upTo(n int) view {
	works := make([]item, n)
	for i := range works {
		works[i] = v.itemAt(i)
	}
	return view{days: [][]item{works}, starts: []int{0}, total: n, order: byIndexedAsc}
}
