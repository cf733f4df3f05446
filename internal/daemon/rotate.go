package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/secret"
	"github.com/patra-ingest/patra/internal/core/trust"
	"github.com/patra-ingest/patra/internal/engine/transport"
	"github.com/patra-ingest/patra/internal/pause"
)

// RotateToken exchanges a refresh token that is good for one use. Processes of one database
// take turns by a lease, and those of one machine by the file, also without a database.
// The host needs consent twice: to get the token, and to replace what the file holds.
func (g *Guard) RotateToken(ctx context.Context, ref secret.Ref, to secret.Purpose, spend transport.SpendToken) error {
	limited := g.in.limitedSecrets()
	if limited.Absent(ref) {
		return fmt.Errorf("%s: %w", ref, secret.ErrAbsent)
	}
	for _, host := range []string{to.Host, trust.ReplacedBy(to.Host)} {
		refused, err := g.refusalOf(ctx, trust.Use{Ref: trust.OfSecret(ref), Host: host}, true)
		switch {
		case err != nil:
			return err
		case refused != nil:
			return refused
		}
	}
	return g.aloneWith(ctx, ref, func(ctx context.Context, held func() error) error {
		rotation, err := limited.BeginRotation(ctx, ref)
		if err != nil {
			return err
		}
		defer rotation.Close()
		next, err := spend(ctx, rotation.Token, held)
		if next.IsZero() {
			return err
		}
		return errors.Join(err, rotation.Keep(next))
	})
}

// aloneWith does something with a reference while no other process of the database does.
func (g *Guard) aloneWith(ctx context.Context, ref secret.Ref, do func(context.Context, func() error) error) error {
	if g.alone == nil {
		return do(ctx, func() error { return nil })
	}
	select {
	case g.rotating <- struct{}{}: // the lease is the process's, not the caller's
		defer func() { <-g.rotating }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return g.alone(ctx, "token/"+fingerprint.Key(ref.String())[:40], do)
}

// turnWait is how long to wait before asking again for a lease that another process has.
const turnWait = 200 * time.Millisecond

// errSpentElsewhere: the lease was lost before the token was spent.
var errSpentElsewhere = errors.New("another process has its turn with the refresh token: this one was silent for too long")

// takeTurn waits for the lease of a name, and renews it while something is done. held asks
// the database whether it is still ours.
func (a *App) takeTurn(ctx context.Context, name string, do func(context.Context, func() error) error) error {
	var epoch int64
	for held := false; !held; {
		var err error
		if epoch, held, err = (watchedLeases{a.store, a}).AcquireLease(ctx, name, a.identity.ID, a.config.Lease); err != nil {
			return err
		}
		if !held {
			if err := pause.For(ctx, turnWait); err != nil {
				return err
			}
		}
	}
	renew := func(ctx context.Context) error {
		return a.store.RenewLease(ctx, name, a.identity.ID, epoch, a.config.Lease)
	}
	beating, stop := context.WithCancel(context.WithoutCancel(ctx)) // a call that has left is waited for
	done := make(chan struct{})
	go func() {
		defer close(done)
		for pause.For(beating, a.config.Lease/beats) == nil {
			_ = renew(beating) // one that is lost is noticed before the token is spent
		}
	}()
	defer func() {
		stop()
		<-done
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
		defer cancel()
		_ = a.store.ReleaseLease(last, name, a.identity.ID, epoch) // else it expires automatically
	}()
	return do(ctx, func() error {
		err := renew(ctx)
		if errors.Is(err, fault.ErrStale) {
			f := fault.New(fault.Unauthorized, errSpentElsewhere)
			f.Level, f.Unsent = fault.Transient, true
			return f
		}
		return err
	})
}
