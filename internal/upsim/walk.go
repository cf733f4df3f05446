package upsim

import (
	"container/list"
	"encoding/base64"
	"encoding/binary"
	"sync"
	"time"
)

// CursorMode says how deep paging behaves.
type CursorMode int

const (
	// ScrollCursor is what upstream really does: one cursor text for the whole
	// walk, the position kept by the server, no page served twice.
	ScrollCursor CursorMode = iota
	// ReplayableCursor gives each page a cursor text of its own; the same text
	// gives the same page.
	ReplayableCursor
)

// span is a range of positions in a walk, half-open.
type span struct{ from, to int }

func (s span) len() int { return s.to - s.from }

// walk is one deep-paging walk over a snapshot.
type walk struct {
	id   uint64
	view view
	used time.Time // a cursor lives from its last use
	turn *list.Element

	// Only for ScrollCursor: where it stands, and the page before.
	next   int
	before span
	pages  int
	left   int // works that were read and then left, see Shrinking
}

// walks keeps the open walks. The list is in order of last use: as all live
// equally long, the expired ones are at its front.
type walks struct {
	mode CursorMode
	life time.Duration
	seed uint64

	mu     sync.Mutex
	opened uint64
	open   map[uint64]*walk
	queue  list.List
}

// page is what one request of a walk gets.
type page struct {
	view   view
	span   span
	cursor string // for the answer
	left   int    // of the works of the view, those that left it
}

// startWalk opens a walk and gives its first page.
func (ws *walks) startWalk(v view, rows int, now time.Time) page {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.sweepExpired(now)
	ws.opened++
	w := &walk{id: ws.opened, view: v, used: now}
	w.turn = ws.queue.PushBack(w)
	ws.open[w.id] = w
	return ws.turnPage(w, walkPosition{walk: w.id, before: -1}, rows, false)
}

// resumeWalk gives the next page of a known walk, or with again the page before
// it. It reports false for a cursor that is unknown or expired.
func (ws *walks) resumeWalk(cursor string, rows int, again bool, now time.Time) (page, bool) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	w, at, ok := ws.findWalk(cursor, now)
	if !ok {
		return page{}, false
	}
	w.used = now
	ws.queue.MoveToBack(w.turn)
	return ws.turnPage(w, at, rows, again), true
}

// peekPage tells which page of its walk the next request with this cursor gets,
// from 1, and how many works are left for it; 0 for an unknown cursor.
func (ws *walks) peekPage(cursor string, now time.Time) (number, left int) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	w, at, ok := ws.findWalk(cursor, now)
	switch {
	case !ok:
		return 0, 0
	case ws.mode == ScrollCursor:
		return w.pages + 1, w.view.total - w.next
	}
	return at.number + 1, w.view.total - at.from
}

// forgetWalk ends a walk, as if it had expired.
func (ws *walks) forgetWalk(cursor string, now time.Time) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if w, _, ok := ws.findWalk(cursor, now); ok {
		ws.dropWalk(w)
	}
}

func (ws *walks) turnPage(w *walk, at walkPosition, rows int, again bool) page {
	if ws.mode == ScrollCursor {
		if again {
			return page{w.view, w.before, ws.scrollText(w.id), w.left}
		}
		now := span{w.next, min(w.next+rows, w.view.total)}
		w.next, w.before, w.pages = now.to, now, w.pages+1
		return page{w.view, now, ws.scrollText(w.id), w.left}
	}
	now := span{at.from, min(at.from+rows, w.view.total)}
	if again {
		// The page before, exactly as it was: its cursor leads here again.
		return page{view: w.view, span: span{at.before, at.from}, cursor: ws.placeText(at)}
	}
	return page{view: w.view, span: now, cursor: ws.placeText(walkPosition{w.id, now.to, now.from, at.number + 1})}
}

func (ws *walks) sweepExpired(now time.Time) {
	for front := ws.queue.Front(); front != nil; front = ws.queue.Front() {
		w := front.Value.(*walk)
		if now.Sub(w.used) < ws.life {
			return
		}
		ws.dropWalk(w)
	}
}

func (ws *walks) dropWalk(w *walk) {
	ws.queue.Remove(w.turn)
	delete(ws.open, w.id)
}

// findWalk reads a cursor text. It answers only to texts it would write itself.
func (ws *walks) findWalk(cursor string, now time.Time) (*walk, walkPosition, bool) {
	ws.sweepExpired(now)
	raw, err := base64.URLEncoding.DecodeString(cursor)
	if err != nil || len(raw) < placeBytes {
		return nil, walkPosition{}, false
	}
	at := readPlace(raw)
	want := ""
	if ws.mode == ScrollCursor {
		want = ws.scrollText(at.walk)
	} else {
		want = ws.placeText(at)
	}
	w, ok := ws.open[at.walk]
	return w, at, ok && cursor == want
}

// walkPosition is what a replayable cursor holds.
type walkPosition struct {
	walk         uint64
	from, before int // before is -1 on the first page
	number       int // pages before this one
}

const (
	placeBytes  = 8 + 3*4 + 8
	scrollBytes = 1100 // real scroll ids are about 1,500 characters long
)

func (ws *walks) placeText(p walkPosition) string {
	return base64.URLEncoding.EncodeToString(ws.writePlace(p, placeBytes))
}

// scrollText depends on the walk alone: the same on every page. It is made
// anew each time, because a hundred thousand stored ones would weigh more than
// the data.
func (ws *walks) scrollText(id uint64) string {
	raw := ws.writePlace(walkPosition{walk: id}, scrollBytes)
	noise := newStream(ws.seed, 'c', id)
	for i := placeBytes; i+8 <= len(raw); i += 8 {
		binary.BigEndian.PutUint64(raw[i:], noise.nextNumber())
	}
	return base64.URLEncoding.EncodeToString(raw)
}

// writePlace ends with a check sum, so that an altered cursor is refused.
func (ws *walks) writePlace(p walkPosition, size int) []byte {
	raw := make([]byte, size)
	binary.BigEndian.PutUint64(raw, p.walk)
	binary.BigEndian.PutUint32(raw[8:], uint32(p.from))
	binary.BigEndian.PutUint32(raw[12:], uint32(int32(p.before)))
	binary.BigEndian.PutUint32(raw[16:], uint32(p.number))
	check := newStream(ws.seed, 'p', p.walk, uint64(p.from), uint64(p.before), uint64(p.number))
	binary.BigEndian.PutUint64(raw[20:], check.nextNumber())
	return raw
}

func readPlace(raw []byte) walkPosition {
	return walkPosition{
		walk:   binary.BigEndian.Uint64(raw),
		from:   int(binary.BigEndian.Uint32(raw[8:])),
		before: int(int32(binary.BigEndian.Uint32(raw[12:]))),
		number: int(binary.BigEndian.Uint32(raw[16:])),
	}
}
