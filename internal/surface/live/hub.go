package live

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/patra-ingest/patra/internal/core/access"
)

// Settings say what is watched, and how.
type Settings struct {
	Reader Reader
	// Recheck tells whether who opened a stream may still look: fault.ErrNotFound if its token
	// was revoked or has expired. Nil: nobody is asked again.
	Recheck func(ctx context.Context) error
	// Changed is called before anybody is told of a change: what pages keep for a moment is
	// older. Nil: nobody wants to know.
	Changed func()
	// Ends is closed when the process stops; nil: never.
	Ends <-chan struct{}
	Log  *slog.Logger
	// Every is how often the store is asked while somebody watches, Beat how often a stream
	// gives a sign of life, and Patience how long a client may take to read what it was sent.
	// Zero: as usual.
	Every, Beat, Patience time.Duration
}

const (
	usualEvery    = 3 * time.Second
	usualBeat     = 15 * time.Second
	usualPatience = 10 * time.Second
	longestLook   = 30 * time.Second
	// restFactor is how many times as long as a look takes nobody looks after it: a store that
	// answers slowly is not kept busy by those who watch it.
	restFactor  = 10
	longestRest = 30 * time.Second
)

// restAfter is how long nobody looks after a look that took so long.
func restAfter(took, every time.Duration) time.Duration {
	return max(every, min(restFactor*took, longestRest))
}

// Bounds of streams at once. One token must not take the place of all others.
const (
	mostStreams = 2000
	mostOfOne   = 250
)

// Why a stream is not opened.
var (
	ErrTooMany = errors.New("this token has too many streams open")
	ErrFull    = errors.New("too many streams are open")
)

// Hub looks at the store for all who watch. It is safe for concurrent use.
type Hub struct {
	Settings
	process string // in the numbers of events: another process begins anew

	asking sync.Mutex // held by who looks for all

	mu      sync.Mutex
	seen    *snapshot // by the last look that succeeded; empty until one does
	asked   time.Time // when the last look ended
	took    time.Duration
	failing bool
	kept    ring
	looked  chan struct{} // closed by the next look
	guests  map[guest]*badge
	streams int
}

// guest is who opens streams.
type guest struct{ token, session int64 }

// badge is what is known of a guest.
type badge struct {
	streams int
	mu      sync.Mutex // held while it is looked up
	checked time.Time
	err     error
}

// New makes a hub.
func New(s Settings) *Hub {
	if s.Log == nil {
		s.Log = slog.New(slog.DiscardHandler)
	}
	s.Every, s.Beat, s.Patience = cmp.Or(s.Every, usualEvery), cmp.Or(s.Beat, usualBeat), cmp.Or(s.Patience, usualPatience)
	var name [6]byte
	_, _ = rand.Read(name[:]) // never fails
	return &Hub{Settings: s, process: hex.EncodeToString(name[:]), seen: &snapshot{}, looked: make(chan struct{}), guests: map[guest]*badge{}}
}

// enter takes a place for a stream; leave gives it back.
func (h *Hub) enter(who access.Caller) (of *badge, leave func(), err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	g := guest{who.TokenID, who.Session}
	of = h.guests[g]
	switch {
	case of != nil && of.streams >= mostOfOne:
		return nil, nil, ErrTooMany
	case h.streams >= mostStreams:
		return nil, nil, ErrFull
	case of == nil:
		of = &badge{checked: time.Now()} // the entrance has just looked
		h.guests[g] = of
	}
	of.streams++
	h.streams++
	return of, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.streams--
		if of.streams--; of.streams == 0 {
			delete(h.guests, g)
		}
	}, nil
}

// check tells whether a guest may still look, as of one interval ago at most. All streams of
// a guest share the answer.
func (h *Hub) check(ctx context.Context, of *badge) error {
	if h.Recheck == nil {
		return nil
	}
	of.mu.Lock()
	defer of.mu.Unlock()
	if time.Since(of.checked) >= h.Every {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), longestLook)
		defer cancel()
		of.err = h.Recheck(bounded)
		of.checked = time.Now()
	}
	return of.err
}

// look asks the store if it is time to, and nobody else does.
func (h *Hub) look(ctx context.Context) {
	if !h.asking.TryLock() {
		return
	}
	defer h.asking.Unlock()
	if !h.isDue() {
		return
	}
	// Whoever asks may go away; the others want the answer.
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), longestLook)
	defer cancel()
	begin := time.Now()
	next, err := readSnapshot(bounded, h.Reader)
	took := time.Since(begin)
	changes := h.compare(next, err)
	if len(changes) > 0 && h.Changed != nil {
		h.Changed()
	}
	h.note(next, err, changes, took)
}

// compare lists what is different from what was seen before, as events.
func (h *Hub) compare(next *snapshot, err error) (out []event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if failing := err != nil; failing != h.failing {
		out = append(out, event{kind: kindTrouble, public: true, data: encode(Trouble{!failing, time.Now().UTC()})})
	}
	if err == nil {
		out = append(out, h.seen.changesTo(next)...)
	}
	return out
}

// isDue reports whether the last look is too old.
func (h *Hub) isDue() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.asked.IsZero() || time.Since(h.asked) >= restAfter(h.took, h.Every)
}

// note keeps what a look saw and the events that follow, and wakes who waits for it.
func (h *Hub) note(next *snapshot, err error, changes []event, took time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil && !h.failing {
		h.Log.Warn("what goes on could not be read for those who watch it; it is tried again", "error", err)
	}
	if h.failing = err != nil; err == nil {
		h.seen = next
	}
	for _, e := range changes {
		h.kept.add(e)
	}
	h.asked, h.took = time.Now(), took
	close(h.looked)
	h.looked = make(chan struct{})
}

// news is what a stream sends next.
type news struct {
	state  *State // instead of events, for who cannot go on from its number
	events []event
	upTo   int64           // the number to go on from
	wait   <-chan struct{} // closed by the next look
	ready  bool            // a look was had that is new enough
}

// isPublic reports whether everybody may know of it.
func (n news) isPublic() bool {
	return n.state == nil && !slices.ContainsFunc(n.events, func(e event) bool { return !e.public })
}

// newsFor returns what happened after a number. Who has none, or one that is not known any
// more, gets the whole state.
func (h *Hub) newsFor(who access.Caller, source string, after int64, known bool, notBefore time.Time) news {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := news{wait: h.looked, upTo: h.kept.last, ready: h.asked.After(notBefore)}
	if !n.ready {
		return n
	}
	events, whole := h.kept.since(after)
	if !known || !whole {
		if !h.seen.at.IsZero() {
			state := h.seen.stateFor(who, source)
			n.state = &state
			return n
		}
		events, _ = h.kept.since(0) // the store was never read: that is all there is to say
	}
	for _, e := range events {
		if e.isFor(who, source) {
			n.events = append(n.events, e)
		}
	}
	return n
}
