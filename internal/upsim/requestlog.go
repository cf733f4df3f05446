package upsim

import (
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"
)

// Entry is one answered request.
type Entry struct {
	N            int       // from 1, in order of arrival
	At           time.Time // of arrival
	Method, Path string
	Query        url.Values
	Params       url.Values  // below /forms/: wherever they travelled, without credentials
	Header       http.Header // only those of loggedHeaders that were sent
	Status       int         // 0: no status line was sent; 499: the client went away first
	Fault        string      // the kinds that were applied, joined by "+"; "" for none
	Items        int         // works in the answer, also when it was cut short or lost
	InFlight     int         // requests under way at arrival, this one included
}

func loggedHeaders() []string {
	return []string{"User-Agent", "X-Ingest-Correlation-Id", "Traceparent"}
}

// Alteration is a sound work that a fault served broken on one page: that
// answer of it must be quarantined, another answer of it may not.
type Alteration struct {
	Request int
	DOI     string
	Indexed time.Time
	Version int
	Bad     string
}

const defaultLogLimit = 4096

// requestLog counts and remembers requests; the memory for entries is bounded.
type requestLog struct {
	limit   int
	onEntry func(Entry)

	mu               sync.Mutex
	requests         int
	inFlight, atMost int
	ring             []Entry
	oldest           int
	altered          []Alteration
}

func (l *requestLog) noteArrival() (n, inFlight int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests++
	l.inFlight++
	l.atMost = max(l.atMost, l.inFlight)
	return l.requests, l.inFlight
}

func (l *requestLog) noteLeave(e Entry) {
	l.keepEntry(e)
	if l.onEntry != nil {
		l.onEntry(e)
	}
}

func (l *requestLog) keepEntry(e Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inFlight--
	switch {
	case l.limit <= 0:
	case len(l.ring) < l.limit:
		l.ring = append(l.ring, e)
	default:
		l.ring[l.oldest] = e
		l.oldest = (l.oldest + 1) % l.limit
	}
}

func (l *requestLog) noteAlteration(a Alteration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.altered = append(l.altered, a)
}

// Log gives the newest LogLimit answered requests in order of arrival. An entry
// is there before the client can see the end of its answer.
func (s *Server) Log() []Entry {
	s.ledger.mu.Lock()
	defer s.ledger.mu.Unlock()
	entries := slices.Clone(s.ledger.ring)
	slices.SortFunc(entries, func(a, b Entry) int { return a.N - b.N })
	return entries
}

// Altered gives every work that a fault served broken, in order of serving.
func (s *Server) Altered() []Alteration {
	s.ledger.mu.Lock()
	defer s.ledger.mu.Unlock()
	return slices.Clone(s.ledger.altered)
}

// Requests returns the number of requests that arrived.
func (s *Server) Requests() int {
	s.ledger.mu.Lock()
	defer s.ledger.mu.Unlock()
	return s.ledger.requests
}

// MaxInFlight returns the highest number of requests that were under way at
// once. A request ends before the last byte of its answer is sent, so a client
// that waits for each answer never counts as two.
func (s *Server) MaxInFlight() int {
	s.ledger.mu.Lock()
	defer s.ledger.mu.Unlock()
	return s.ledger.atMost
}
