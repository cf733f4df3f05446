package live

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/fault"
)

// How long a client waits before it comes back, in milliseconds: not all at once after a
// restart.
const (
	leastRetry  = 1000
	retrySpread = 2000
)

// Watch is what a client wants to be told.
type Watch struct {
	Caller access.Caller
	Source string // alone; empty: all that the caller sees
	LastID string // of the last event it saw; empty: none
}

// Open takes a place for a stream; serve then sends it until the client goes away, the
// process stops or the caller may not look any more.
func (h *Hub) Open(watch Watch) (serve func(http.ResponseWriter, *http.Request), err error) {
	of, leave, err := h.enter(watch.Caller)
	if err != nil {
		return nil, err
	}
	return func(w http.ResponseWriter, r *http.Request) {
		defer leave()
		s := &stream{hub: h, Watch: watch, badge: of, to: w, control: http.NewResponseController(w)}
		s.after, s.known = parseID(h.process, watch.LastID)
		s.run(r.Context())
	}, nil
}

// stream is one client that watches.
type stream struct {
	Watch
	hub     *Hub
	badge   *badge
	to      http.ResponseWriter
	control *http.ResponseController
	after   int64 // number of the last event it was sent
	known   bool  // after means something
	told    bool  // the number of after was sent too
	wrote   time.Time
}

func (s *stream) run(ctx context.Context) {
	head := s.to.Header()
	head.Set("Content-Type", "text/event-stream")
	head.Set("Cache-Control", "no-store")
	head.Set("X-Accel-Buffering", "no") // proxies pass each event on at once
	if s.write(fmt.Appendf(nil, "retry: %d\n\n", leastRetry+rand.IntN(retrySpread))) != nil {
		return
	}
	var notBefore time.Time
	if s.hub.isDue() {
		notBefore = time.Now() // what was seen before nobody watched is old
	}
	tick := time.NewTicker(s.hub.Every)
	defer tick.Stop()
	for {
		s.hub.look(ctx)
		next := s.hub.newsFor(s.Caller, s.Source, s.after, s.known, notBefore)
		if err := s.send(ctx, next); err != nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-s.hub.Ends:
			return
		case <-next.wait:
		case <-tick.C:
		}
	}
}

var errNotAllowed = errors.New("the caller may not look any more")

// send writes what is new, and a sign of life if nothing is. Before anything is told, the
// caller is looked up again.
func (s *stream) send(ctx context.Context, n news) error {
	switch err := s.hub.check(ctx, s.badge); {
	case errors.Is(err, fault.ErrNotFound):
		_ = s.write(frame(kindEnd, "", encode(End{"the access token or the session is over"}))) // it ends anyway
		return errNotAllowed
	case !n.ready, err != nil && !n.isPublic():
		return s.beat() // whether they may know is not known now
	}
	var b bytes.Buffer
	if n.state != nil {
		b.Write(frame(kindState, spellID(s.hub.process, n.upTo), encode(n.state)))
	}
	for _, e := range n.events {
		b.Write(frame(e.kind, spellID(s.hub.process, e.number), e.data))
	}
	s.told = s.told && n.upTo == s.after
	if b.Len() > 0 {
		s.told = n.state != nil || n.events[len(n.events)-1].number == n.upTo
	}
	s.after, s.known = n.upTo, true
	if b.Len() == 0 {
		return s.beat()
	}
	return s.write(b.Bytes())
}

// beat writes a comment if nothing was written for a while. Events of others have moved the
// number on: with it a client comes back to where it is.
func (s *stream) beat() error {
	if time.Since(s.wrote) < s.hub.Beat {
		return nil
	}
	if s.known && !s.told {
		s.told = true
		return s.write([]byte("id: " + spellID(s.hub.process, s.after) + "\n: still here\n\n"))
	}
	return s.write([]byte(": still here\n\n"))
}

// write sends at once. The bound of the server for whole answers becomes one of each piece:
// a stream lasts, but a client that does not read in time is gone.
func (s *stream) write(b []byte) error {
	s.wrote = time.Now()
	_ = s.control.SetWriteDeadline(s.wrote.Add(s.hub.Patience)) // who cannot, does not block either
	if _, err := s.to.Write(b); err != nil {
		return err
	}
	return s.control.Flush()
}

func frame(kind, id string, data []byte) []byte {
	var b bytes.Buffer
	if id != "" {
		b.WriteString("id: " + id + "\n")
	}
	b.WriteString("event: " + kind + "\ndata: ")
	b.Write(data)
	b.WriteString("\n\n")
	return b.Bytes()
}
