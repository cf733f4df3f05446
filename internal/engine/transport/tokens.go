package transport

import (
	"context"
	"errors"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/secret"
)

// token is what a token endpoint or a login gave us.
type token struct {
	text    secret.Text
	used    []secret.Text // what it was got with
	issued  time.Time     // before it was asked for
	expires time.Time     // zero: when it is refused
	proved  atomic.Bool
}

// margin is how long before its end a token is no longer sent: it has to last
// until the request arrives. Of a short life it is a tenth.
const margin = 30 * time.Second

// isUsable reports that a token may still be sent.
func (t *token) isUsable(now time.Time) bool {
	if t == nil {
		return false
	}
	return t.expires.IsZero() || now.Before(t.expires.Add(-min(margin, t.expires.Sub(t.issued)/10)))
}

// suspect is how long a token that was never accepted is not exchanged for
// another if it was itself given for one that was refused: the next one would be
// refused as well, and each request of a source with a wrong account would cost a
// login.
const suspect = 30 * time.Second

// isSpent reports that a refusal surely means the token, and not the account.
func (t *token) isSpent(now time.Time) bool {
	return t.proved.Load() || now.Sub(t.issued) >= suspect
}

// refusalKept is how long the refusal of a token endpoint is repeated without
// asking again: many logins with a wrong password close an account.
const refusalKept = 10 * time.Second

// tokens are those of all workers of a process: one keeper for each credential
// and endpoint. There are as many as sources declare, so nothing is thrown away.
type tokens struct {
	mu      sync.Mutex
	keepers map[string]*keeper
}

func (t *tokens) keeperFor(c exchange.Credential, endpoint *url.URL) *keeper {
	key := c.Identity() + " " + endpoint.String()
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.keepers[key]
	if k == nil {
		k = &keeper{}
		t.keepers[key] = k
	}
	return k
}

// keeper holds the token of one credential and sees to it that one call at a
// time asks for another.
type keeper struct {
	mu           sync.Mutex
	current      *token
	flight       *flight
	refused      *fault.Error // by the endpoint, at the instant since
	since        time.Time
	refusedToken *token // the last one that was exchanged because it was refused; nil once another was accepted
	// A refresh token that an answer brought, and the one it descends from.
	rotated, seed secret.Text
}

// flight is a token call that is under way. Its fields are set before done is
// closed.
type flight struct {
	done      chan struct{}
	token     *token
	err       error
	abandoned bool // whoever made the call was stopped; somebody else may try
}

// takeToken gives a token other than the spent one. However many ask at once, one of
// them makes the call; the others share what comes of it, failure included.
func (k *keeper) takeToken(ctx context.Context, spent *token, fetch func(context.Context) (*token, error)) (*token, error) {
	for {
		found, f, leads, err := k.joinFlight(spent, time.Now())
		switch {
		case err != nil:
			return nil, err
		case found != nil:
			return found, nil
		case leads:
			return k.leadFlight(ctx, f, fetch)
		}
		select {
		case <-f.done:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if !f.abandoned {
			return f.token, f.err
		}
	}
}

// joinFlight finds a token, or the call that will bring one, or makes the caller the
// one to call. Exactly the spent token is thrown away: by now there may be
// another.
func (k *keeper) joinFlight(spent *token, now time.Time) (found *token, f *flight, leads bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if spent != nil && k.current == spent {
		k.current = nil
	}
	switch {
	case k.current.isUsable(now):
		return k.current, nil, false, nil
	case k.flight != nil:
		return nil, k.flight, false, nil
	case k.refused != nil && now.Sub(k.since) < refusalKept:
		return nil, nil, false, k.refused
	}
	k.flight = &flight{done: make(chan struct{})}
	return nil, k.flight, true, nil
}

func (k *keeper) leadFlight(ctx context.Context, f *flight, fetch func(context.Context) (*token, error)) (*token, error) {
	defer func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.flight = nil
		if f.token != nil {
			k.current, k.refused = f.token, nil
		}
		if problem := new(fault.Error); errors.As(f.err, &problem) && problem.Level == fault.Fatal && problem.Status != 0 {
			k.refused, k.since = problem, time.Now()
		}
		close(f.done)
	}()
	f.abandoned = true // should fetch panic
	f.token, f.err = fetch(ctx)
	f.abandoned = f.err != nil && ctx.Err() != nil
	return f.token, f.err
}

// worthAnother reports whether a refused token is worth another one. So is the first
// of an account: the upstream may have forgotten it before it was ever accepted,
// or not have heard of it yet. If the next one fares no better, it is the account.
func (k *keeper) worthAnother(t *token, now time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.refusedToken != nil && k.refusedToken != t && !t.isSpent(now) {
		return false
	}
	k.refusedToken = t
	return true
}

// noteAccepted notes that the upstream took a token.
func (k *keeper) noteAccepted(t *token) {
	if t.proved.Swap(true) {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.refusedToken = nil
}

// refreshToken returns the newest descendant of the one the reference leads to. When
// an operator puts another there, that one holds.
func (k *keeper) refreshToken(given secret.Text) secret.Text {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.seed.Equal(given) && !k.rotated.IsZero() {
		return k.rotated
	}
	return given
}

func (k *keeper) rotateSeed(seed, to secret.Text) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.seed, k.rotated = seed, to
}
