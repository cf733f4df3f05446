package upsim

import (
	"encoding/base64"
	"encoding/binary"
	"sync"
	"time"
)

// trail is one walk by token over a snapshot of a form. Its items are frozen
// when it begins, so a clean walk is not disturbed by changes.
type trail struct {
	items []item
	used  time.Time

	// Only where one token serves all pages: where the walk stands.
	at, pages int
}

// trails keeps the walks of the forms. They expire by last use.
type trails struct {
	life time.Duration
	seed uint64

	mu      sync.Mutex
	opened  uint64
	open    map[uint64]*trail
	expired map[uint64]int // by a fault, with the status its token is answered with
}

// stop is a place on a trail: what a token says.
type stop struct {
	trail  uint64
	at     int
	number int // pages before this one
}

const stopBytes = 8 + 4 + 4 + 8

// tokenText ends with a check sum, so that an altered token is refused.
func (ts *trails) tokenText(p stop) string {
	raw := make([]byte, stopBytes)
	binary.BigEndian.PutUint64(raw, p.trail)
	binary.BigEndian.PutUint32(raw[8:], uint32(p.at))
	binary.BigEndian.PutUint32(raw[12:], uint32(p.number))
	check := newStream(ts.seed, 't', p.trail, uint64(p.at), uint64(p.number))
	binary.BigEndian.PutUint64(raw[16:], check.nextNumber())
	return base64.URLEncoding.EncodeToString(raw)
}

func (ts *trails) readToken(token string) (stop, bool) {
	raw, err := base64.URLEncoding.DecodeString(token)
	if err != nil || len(raw) != stopBytes {
		return stop{}, false
	}
	p := stop{binary.BigEndian.Uint64(raw), int(binary.BigEndian.Uint32(raw[8:])), int(binary.BigEndian.Uint32(raw[12:]))}
	return p, ts.tokenText(p) == token
}

// beginTrail opens a trail.
func (ts *trails) beginTrail(items []item, now time.Time) stop {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for id, t := range ts.open {
		if now.Sub(t.used) >= ts.life {
			delete(ts.open, id)
		}
	}
	ts.opened++
	ts.open[ts.opened] = &trail{items: items, used: now}
	return stop{trail: ts.opened}
}

// findStop gives the place a token stands for now and the items of its walk. With
// same the place is where the walk stands, whatever the token was made for.
func (ts *trails) findStop(token string, same bool, now time.Time) (stop, []item, bool) {
	p, ok := ts.readToken(token)
	ts.mu.Lock()
	defer ts.mu.Unlock()
	t, open := ts.open[p.trail]
	if !ok || !open || now.Sub(t.used) >= ts.life {
		return stop{}, nil, false
	}
	if same {
		p.at, p.number = t.at, t.pages
	}
	return p, t.items, true
}

// moveTrail notes the use of a trail and where it stands after this page.
func (ts *trails) moveTrail(after stop, now time.Time) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if t, ok := ts.open[after.trail]; ok {
		t.used, t.at, t.pages = now, after.at, after.number
	}
}

// refreshItems lets a walk go on over other items, as if its index had changed.
func (ts *trails) refreshItems(token string, items []item) {
	p, ok := ts.readToken(token)
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if t, open := ts.open[p.trail]; ok && open {
		t.items = items
	}
}

// expireToken ends a walk; from now on its tokens are answered with the status.
func (ts *trails) expireToken(token string, status int) {
	p, ok := ts.readToken(token)
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ok {
		delete(ts.open, p.trail)
		ts.expired[p.trail] = status
	}
}

// refusalStatus returns the status for a token that leads nowhere.
func (ts *trails) refusalStatus(token string) int {
	p, _ := ts.readToken(token)
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if status := ts.expired[p.trail]; status != 0 {
		return status
	}
	return 400
}
