package redisgate

import (
	"context"
	"sync"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
)

// Gate hands out permits that are shared with other processes. See New.
type Gate struct {
	config Config
	wire   *wire
	ctx    context.Context
	stop   context.CancelFunc
	work   sync.WaitGroup
	prod   chan struct{} // asks for a beat now

	mu      sync.Mutex
	keys    map[string]*key
	rank, n int
	here    int // processes the server saw last
	mode    mode
	changed chan struct{} // closed when mode changes
	live    int64         // server's clock: we may count as there until then
	since   time.Time     // of the mode
	strayed bool          // we were alone since the server heard of us last
	failed  int           // trips in a row
	avoid   time.Time     // the server is not asked before
	closed  bool
}

// mode is where permits come from.
type mode int

const (
	silent mode = iota // from nowhere: the server is lost, and others may still count us as there
	shared             // from the server
	alone              // from the gate of this process, with its share
)

// New connects in the background: a server that cannot be reached is worked
// around from the first request on. Close ends it.
func New(c Config) (*Gate, error) {
	c = c.withDefaults()
	w, err := newWire(c)
	if err != nil {
		return nil, err
	}
	g := &Gate{config: c, wire: w, keys: map[string]*key{}, n: 1, changed: make(chan struct{}), prod: make(chan struct{}, 1), since: time.Now()}
	g.ctx, g.stop = context.WithCancel(context.Background())
	g.work.Go(g.beatLoop)
	return g, nil
}

// Reachable asks the server once, for a word to the operator at the start.
func (g *Gate) Reachable(ctx context.Context) error { return g.wire.askClock(ctx) }

// SetShare says which of how many live processes this one is. The server divides
// by those of them it does not see.
func (g *Gate) SetShare(rank, n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.rank, g.n = rank, max(n, 1)
	g.config.Alone.SetShare(g.ownPart())
}

// ownPart returns our share while we are alone. The server may have seen more
// processes than the database told us of yet; then we take the smallest part. g.mu
// is held.
func (g *Gate) ownPart() (rank, n int) {
	if g.here > g.n {
		return g.here - 1, g.here
	}
	return g.rank, g.n
}

// Close gives back what was not used and says goodbye.
func (g *Gate) Close() error {
	g.mu.Lock()
	was, keys := g.mode, g.listKeys()
	g.closed = true
	g.switchTo(silent)
	g.mu.Unlock()
	g.stop()
	g.work.Wait()
	if was == shared {
		ctx, cancel := context.WithTimeout(context.Background(), g.config.Timeout)
		defer cancel()
		for _, k := range keys {
			k.giveBackAll(ctx)
		}
		_, _ = g.wire.sendBeat(ctx, presence{ID: g.config.ID, Leave: true}) // it expires automatically
	}
	return g.wire.client.Close()
}

func (g *Gate) listKeys() (all []*key) {
	for _, k := range g.keys {
		all = append(all, k)
	}
	return all
}

// currentMode returns the mode of now and what is closed when it ends.
func (g *Gate) currentMode() (mode, <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.mode, g.changed
}

// switchTo changes the mode; g.mu is held.
func (g *Gate) switchTo(m mode) {
	if m == g.mode {
		return
	}
	g.mode, g.since = m, time.Now()
	g.strayed = m == alone || g.strayed && m != shared
	close(g.changed)
	g.changed = make(chan struct{})
}

func (g *Gate) keyNamed(name string) *key {
	g.mu.Lock()
	defer g.mu.Unlock()
	k := g.keys[name]
	if k == nil {
		k = newKey(g, name)
		g.keys[name] = k
	}
	return k
}

// shareLimits returns our part of limits, as of now.
func (g *Gate) shareLimits(l gate.Limits) (part gate.Limits, n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	rank, n := g.ownPart()
	return l.Share(rank, n), n
}
