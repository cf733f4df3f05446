package transport

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/secret"
	"github.com/patra-ingest/patra/internal/core/trust"
	"github.com/patra-ingest/patra/internal/crash"
)

// Rotating keeps refresh tokens that are good for one use.
type Rotating interface {
	// RotateToken has spend called with the newest token of a reference, by one process at a
	// time, and keeps the token that spend gives, durably, before it returns. held tells whether
	// this process may still spend it. What spend fails with is returned as it is.
	RotateToken(ctx context.Context, ref secret.Ref, to secret.Purpose, spend SpendToken) error
}

// SpendToken exchanges a refresh token. The next one is zero if the old one stays good. It may
// give both a token and an error.
type SpendToken func(ctx context.Context, seed secret.Text, held func() error) (next secret.Text, err error)

// rotateToken makes a token call with a refresh token that is spent by it.
func (g granted) rotateToken(ctx context.Context, c *Call, endpoint *url.URL, keep *keeper) (got *token, err error) {
	keeps, can := g.secrets.(Rotating)
	credential := c.Request.Credential
	if !can {
		return nil, noCredential(fmt.Errorf("%s: nothing here can keep a refresh token that rotates", credential.RefreshToken))
	}
	var asked error
	spent := false
	err = keeps.RotateToken(ctx, credential.RefreshToken, secret.Purpose{Host: trust.HostOf(endpoint)}, func(ctx context.Context, seed secret.Text, held func() error) (secret.Text, error) {
		way := &oauth2{credential: credential, secrets: g.secrets, keep: keep, seed: seed}
		got, asked = g.callEndpoint(ctx, c, endpoint, way, held)
		if spent = !way.next.IsZero(); spent {
			crash.At(crash.Exchanged)
		}
		return way.next, asked
	})
	switch {
	case asked != nil:
		return nil, asked
	case err != nil && spent:
		// It is in memory, and the next call tries to keep what comes of it.
		f := fault.New(fault.Unauthorized, fmt.Errorf("credential: %w; it is known to this process only: see that the file can be written before the process ends", err))
		f.Level, f.Unsent = fault.Transient, true
		return nil, f
	case err != nil:
		return nil, rotationFault(err)
	}
	return got, nil
}

// rotationFault is that of a token which was not spent.
func rotationFault(err error) error {
	if f := new(fault.Error); errors.As(err, &f) {
		return err
	}
	return noCredential(err)
}
