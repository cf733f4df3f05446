package rategate

import (
	"context"
	"errors"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
)

// Quotas counts quotas for all processes, and keeps them when a process ends
// (D§5.23).
type Quotas interface {
	// ClaimQuota sets how much of each quota this process has taken and tells how
	// much it may use. Repeating a claim changes nothing.
	ClaimQuota(ctx context.Context, key, holder string, claims []gate.Claim) (gate.Holding, error)
	// NoteCooling keeps that an upstream asked for a pause.
	NoteCooling(ctx context.Context, key string, wait time.Duration) error
}

// NewCounted returns a gate whose quotas are those of all processes that use the
// quotas. It asks for them in blocks, so that a request costs no round trip. The
// holder is the name of this gate, unlike any other that ever was. Close gives
// back what is left.
func NewCounted(quotas Quotas, holder string) *Local {
	l := New()
	l.quotas, l.holder = quotas, holder
	l.ctx, l.stop = context.WithCancel(context.Background())
	return l
}

// Close gives back what was taken of quotas and not used. Nothing leaves after it.
func (l *Local) Close(ctx context.Context) error {
	if l.quotas == nil {
		return nil
	}
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.stop()
	l.work.Wait()
	var errs []error
	for name, claims := range l.leftoverClaims() {
		_, err := l.quotas.ClaimQuota(ctx, name, l.holder, claims)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (l *Local) leftoverClaims() map[string][]gate.Claim {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := map[string][]gate.Claim{}
	for name, k := range l.keys {
		if k.idle != nil {
			k.idle.Stop()
		}
		if k.state.Unused() {
			out[name] = k.state.Returns(time.Now())
		}
	}
	return out
}

// Look asks the quotas how a key stands and takes nothing.
func (l *Local) Look(ctx context.Context, name string, limits gate.Limits) error {
	if l.quotas == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.keyFor(name, limits, time.Now())
	for k.asking { // two claims at once could overtake each other
		news := k.news
		l.mu.Unlock()
		err := awaitNews(ctx, news, askAgain)
		l.mu.Lock()
		if err != nil {
			return err
		}
	}
	asked := time.Now()
	claims := k.state.Holds(asked)
	k.asking = true
	l.mu.Unlock()
	h, err := l.quotas.ClaimQuota(ctx, name, l.holder, claims)
	l.mu.Lock()
	if k.asking = false; err == nil {
		k.state.Credit(h, asked, time.Now())
	}
	k.noteAnswered()
	return err
}

// askForMore takes more of the quotas in the background, one claim at a time. l.mu is
// held.
func (k *key) askForMore(now time.Time) { k.claimQuotas(k.state.Claims(k.wishedRequests(), now), now) }

func (k *key) claimQuotas(claims []gate.Claim, now time.Time) {
	l := k.gate
	if l.quotas == nil || k.asking || l.closed {
		return
	}
	k.asking = true
	more := k.state.Wants(claims)
	l.work.Go(func() {
		h, err := l.quotas.ClaimQuota(l.ctx, k.name, l.holder, claims)
		l.mu.Lock()
		defer l.mu.Unlock()
		if err != nil || !k.state.Credit(h, now, time.Now()) && more {
			// Asked again for whoever waits then; those who cannot wait are refused meanwhile.
			time.AfterFunc(askAgain, k.forgiveRefusal)
			return
		}
		k.asking = false
		k.watchIdle()
		k.noteAnswered()
	})
}

// askAgain is the pause after stored quotas could not be asked, or had nothing new.
const askAgain = time.Second

func (k *key) forgiveRefusal() {
	k.gate.mu.Lock()
	defer k.gate.mu.Unlock()
	k.asking = false
	k.noteAnswered()
}

// noteAnswered lets those look again who waited for the quotas.
func (k *key) noteAnswered() {
	close(k.news)
	k.news = make(chan struct{})
	k.serveWaiters(time.Now())
}

// mostWished bounds what is claimed for those who wait.
const mostWished = 1000

// wishedRequests returns the requests that need something of the quotas soon.
func (k *key) wishedRequests() (out []gate.Ask) {
	for _, w := range k.waiting[:min(len(k.waiting), mostWished)] {
		out = append(out, w.ask)
	}
	for a := range k.spending {
		out = append(out, *a)
	}
	return out
}

// idleAfter is how long a block may lie unused before it goes back.
const idleAfter = 30 * time.Second

// watchIdle gives back a block that is not used.
func (k *key) watchIdle() {
	if k.idle == nil && k.state.Unused() {
		k.idle = time.AfterFunc(idleAfter, k.settleBlock)
	}
}

func (k *key) settleBlock() {
	k.gate.mu.Lock()
	defer k.gate.mu.Unlock()
	k.idle = nil
	if now := time.Now(); k.state.Idle(idleAfter, now) && !k.asking && k.state.Unused() && !k.gate.closed {
		k.claimQuotas(k.state.Returns(now), now)
		return
	}
	k.watchIdle()
}

// notedWait is how long a pause must be to be worth keeping for other processes.
const notedWait = 5 * time.Second

// notePause keeps a cool-down for who comes after us. While others send too it is
// returned instead, to be stored before we go on.
func (k *key) notePause(s gate.Signal, now time.Time) (pause time.Duration) {
	l := k.gate
	wait := k.state.Cooling(now)
	if s.RetryAfter <= 0 && s.Announced.Remaining == nil || l.closed || wait <= 0 {
		return 0
	}
	if k.agreed {
		return wait
	}
	if l.quotas != nil && wait >= notedWait {
		l.work.Go(func() { _ = l.quotas.NoteCooling(l.ctx, k.name, wait) }) // we keep it ourselves; the next one is noted again
	}
	return 0
}
