package redisgate

import (
	"errors"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
)

// horizon is how far ahead of its instant a permit is given: enough to hide the
// way to the server, too little for a cool-down to be missed by much.
const horizon = 50 * time.Millisecond

// beatLoop shows that we are there, and finds the server again after it was lost.
func (g *Gate) beatLoop() {
	ticker := time.NewTicker(g.config.Beat)
	defer ticker.Stop()
	for {
		g.beatOnce()
		select {
		case <-g.ctx.Done():
			return
		case <-ticker.C:
		case <-g.prod:
		}
	}
}

func (g *Gate) beatOnce() {
	if m, _ := g.currentMode(); m == shared {
		here, err := g.wire.sendBeat(g.ctx, g.signOfLife())
		if err != nil {
			g.loseServer(err)
			return
		}
		g.setMode(shared, here)
		g.stirKeys()
		return
	}
	if err := g.shunnedBy(time.Now()); err != nil {
		g.goAlone(err)
		return
	}
	if err := g.wire.askClock(g.ctx); err != nil {
		g.goAlone(err)
		return
	}
	// Nothing may leave by our share any more when the server begins to count us.
	g.setMode(silent, 0)
	here, err := g.wire.sendBeat(g.ctx, g.signOfLife())
	if err != nil {
		g.goAlone(err)
		return
	}
	g.setMode(shared, here)
	g.config.Log.Info("the shared rate gate is there", "server", Masked(g.config.URL))
	g.stirKeys()
}

// signOfLife returns our sign of life. It says an instant, not a span: should it
// reach the server late, it must not count for longer.
func (g *Gate) signOfLife() presence {
	g.mu.Lock()
	defer g.mu.Unlock()
	until := g.wire.clock.AtLeast(time.Now()) + g.config.presentFor().Microseconds()
	g.live = max(g.live, until)
	return presence{ID: g.config.ID, Rank: g.rank, N: g.n, Live: until, Back: g.strayed}
}

func (g *Gate) setMode(m mode, here int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return
	}
	g.switchTo(m)
	if here > 0 && here != g.here {
		g.here = here
		g.config.Alone.SetShare(g.ownPart())
	}
}

// loseServer stops all permits at once. Our share is used only when the server no
// longer counts us as there.
func (g *Gate) loseServer(err error) {
	g.mu.Lock()
	was := g.mode
	if was == shared {
		g.switchTo(silent)
	}
	g.mu.Unlock()
	if was != shared || g.ctx.Err() != nil {
		return
	}
	g.config.Log.Warn("the shared rate gate is lost; going on with our share of the limits in a moment", "server", Masked(g.config.URL), "error", err)
	select {
	case g.prod <- struct{}{}: // perhaps it was one slow answer
	default:
	}
}

// noteTrip notes how a trip went. A server that answers signs of life and fails every
// trip is as good as lost: without a pause we would come back to it for ever and
// never send anything.
func (g *Gate) noteTrip(err error) {
	if err == nil {
		g.mu.Lock()
		g.failed = 0
		g.mu.Unlock()
		return
	}
	g.mu.Lock()
	if g.failed++; g.failed >= tooMany {
		g.avoid = time.Now().Add(avoidFor)
	}
	g.mu.Unlock()
	g.loseServer(err)
}

const (
	tooMany  = 3
	avoidFor = 10 * time.Second
)

// shunnedBy returns why the server is not asked now.
func (g *Gate) shunnedBy(now time.Time) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now.Before(g.avoid) {
		return errors.New("it answers, but cannot give permits")
	}
	return nil
}

// goAlone goes on alone when that is safe.
func (g *Gate) goAlone(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.mode != silent || g.closed || !g.isUnseen(time.Now()) {
		return
	}
	g.switchTo(alone)
	g.config.Log.Warn("working without the shared rate gate, with our share of the limits", "server", Masked(g.config.URL), "share", g.n, "error", err)
}

// isUnseen reports that no process counts us as present any more, and that permits
// given while one did are used or void. g.mu is held.
func (g *Gate) isUnseen(now time.Time) bool {
	if g.live == 0 {
		return true
	}
	return now.After(g.wire.clock.Never(g.live).Add(horizon + gate.MaxLate))
}

// stirKeys lets every key that holds something speak up: places are renewed, and a
// server that lost them learns of them.
func (g *Gate) stirKeys() {
	g.mu.Lock()
	keys := g.listKeys()
	g.mu.Unlock()
	for _, k := range keys {
		k.renewHeld()
	}
}
