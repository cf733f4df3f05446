package transport

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/secret"
)

// drawer keeps one refresh token, or fails to.
type drawer struct {
	vault
	token  string
	breaks int // times that keeping fails
	lost   bool
	host   string
}

func (d *drawer) RotateToken(ctx context.Context, _ secret.Ref, to secret.Purpose, spend SpendToken) error {
	d.host = to.Host
	next, err := spend(ctx, secret.New(d.token), func() error {
		if d.lost {
			return fault.Newf(fault.Unauthorized, "not ours")
		}
		return nil
	})
	if next.IsZero() {
		return err
	}
	if d.breaks--; d.breaks >= 0 {
		return errors.New("the disk is full")
	}
	d.token = next.Reveal()
	return err
}

func rotatingGrant(t *testing.T) exchange.Credential {
	t.Helper()
	return grantOf(t, func(c *exchange.Credential) {
		c.Grant, c.RefreshToken, c.Rotates = "REFRESH_TOKEN", ref(t, "file:/run/secrets/refresh"), true
	})
}

// The token that an answer brings is kept before the request is sent, and the next call spends
// that one.
func TestARotatedTokenIsKeptFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := &authority{rotates: true, refresh: "refresh-kanari-0"}
		keeps := &drawer{vault: grantSecrets, token: "refresh-kanari-0"}
		chain := StackSigned(up, keeps, &turnstile{})
		for n := range 3 {
			call, response, err := upon(t.Context(), chain, rotatingGrant(t))
			if err != nil || keeps.token != up.refresh || len(up.asked) != n+1 || keeps.host != "api.example.org" {
				t.Errorf("%v after %d calls; kept %s", err, len(up.asked), keeps.token)
			}
			quiet(t, call, response, err)
			up.revoke()
		}
	})
}

// A token that cannot be kept is not forgotten while the process runs: the next try spends it
// and keeps what comes of it.
func TestATokenThatCannotBeKeptIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := &authority{rotates: true, refresh: "refresh-kanari-0"}
		keeps := &drawer{vault: grantSecrets, token: "refresh-kanari-0", breaks: 1}
		chain := StackSigned(up, keeps, &turnstile{})
		call, response, err := trying(t.Context(), chain, rotatingGrant(t), 1)
		if err == nil || fault.As(err).Level != fault.Transient || up.served != 0 || !strings.Contains(err.Error(), "known to this process only") {
			t.Errorf("%v, %d requests", err, up.served)
		}
		quiet(t, call, response, err)
		if _, _, err := upon(t.Context(), chain, rotatingGrant(t)); err != nil || keeps.token != "refresh-kanari-2" {
			t.Errorf("%v, kept %s", err, keeps.token)
		}
	})
}

// Whoever lost its turn sends nothing.
func TestATokenIsSpentInTurnOnly(t *testing.T) {
	up := &authority{rotates: true, refresh: "refresh-kanari-0"}
	_, _, err := trying(t.Context(), StackSigned(up, &drawer{vault: grantSecrets, token: "refresh-kanari-0", lost: true}, &turnstile{}), rotatingGrant(t), 1)
	if err == nil || len(up.asked) != 0 {
		t.Errorf("%v after %d calls", err, len(up.asked))
	}
	if _, _, err := trying(t.Context(), StackSigned(up, grantSecrets, &turnstile{}), rotatingGrant(t), 1); err == nil || !strings.Contains(err.Error(), "nothing here can keep") || len(up.asked) != 0 {
		t.Error(err)
	}
}
