package executor

import (
	"context"
	"fmt"
	"testing"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/secret"
	"github.com/patra-ingest/patra/internal/driver/httpclient"
	"github.com/patra-ingest/patra/internal/driver/secrets"
	"github.com/patra-ingest/patra/internal/engine/rategate"
	"github.com/patra-ingest/patra/internal/engine/transport"
	"github.com/patra-ingest/patra/internal/testkit/simulated"
	"github.com/patra-ingest/patra/internal/upsim"
)

func TestEveryAuthForm(t *testing.T) {
	for _, f := range simulated.AuthForms() {
		t.Run(f.Name, func(t *testing.T) {
			w := startForm(t, f, 45, "")
			w.harvest()
			w.whole()
		})
	}
}

// Tokens end in the middle of a run: a new one is had, nothing is read twice.
func TestTokensEndDuringARun(t *testing.T) {
	for _, f := range simulated.AuthForms() {
		switch f.Options.Forms.Auth.Kind {
		case upsim.AuthOAuth, upsim.AuthSession:
		default:
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			f.Options.Forms.Auth.TokenUses = 2
			w := startForm(t, f, 45, "")
			w.harvest()
			w.whole()
			if got := w.outcomes[0].Stats; got.Seen != 45 || got.Restarts != 0 || w.server.TokensIssued() < 3 || got.Requests != w.server.Requests() {
				t.Errorf("%d tokens, %d requests, %+v", w.server.TokensIssued(), w.server.Requests(), got)
			}
		})
	}
}

// F31: a key that is revoked in the middle of a run stops the source; nothing
// that was not read counts as read, and nobody keeps knocking.
func TestRevokedKeyStopsTheSource(t *testing.T) {
	for _, f := range simulated.AuthForms() {
		t.Run(f.Name, func(t *testing.T) {
			f.Options.Forms.Auth.RevokeAfter = 2
			w := startForm(t, f, 45, "")
			w.harvest()
			last := w.outcomes[len(w.outcomes)-1]
			if len(w.outcomes) != 1 || last.Task != ingest.TaskFailed || last.Code != "UNAUTHORIZED" || last.Stats.Inserted != 20 {
				t.Errorf("%s", w.story())
			}
			if _, paused, err := w.store.Paused(t.Context(), ingest.Partition{Dataset: w.compiled.Snapshot.Dataset(), Operation: ingest.Harvest}); err != nil || !paused {
				t.Errorf("the source is not stopped: %v", err)
			}
			if w.server.Requests() > 12 {
				t.Errorf("%d requests", w.server.Requests())
			}
			w.honest()
		})
	}
}

// moody reads secrets where they are and is in trouble for some time.
type moody struct {
	secrets.Limited
	failures int
}

func (m *moody) Reveal(ctx context.Context, ref secret.Ref, to secret.Purpose) (secret.Text, error) {
	if m.failures--; m.failures >= 0 {
		return secret.Text{}, fmt.Errorf("%s: %w", ref, secret.ErrTrouble)
	}
	return m.Limited.Reveal(ctx, ref, to)
}

// A command that gives no key for a minute does not stop the source; one that
// never does, does.
func TestKeyThatCannotBeReadForAWhile(t *testing.T) {
	for failures, runs := range map[int]int{2: 1, 7: 2, 1000: 3} {
		t.Run(fmt.Sprint(failures), func(t *testing.T) {
			f := simulated.AuthForms()[0]
			w := startForm(t, f, 45, "", "retry.initialDelay=PT0.001S", "retry.taskAttempts=3")
			w.chain = transport.StackSigned(httpclient.New(httpclient.Options{}), &moody{failures: failures}, rategate.New())
			w.harvest()
			_, paused, err := w.store.Paused(t.Context(), ingest.Partition{Dataset: w.compiled.Snapshot.Dataset(), Operation: ingest.Harvest})
			if err != nil || paused != (failures == 1000) || len(w.outcomes) != runs {
				t.Errorf("paused %v, %v: %s", paused, err, w.story())
			}
			if failures < 1000 {
				w.whole()
			} else if w.server.Requests() != 0 {
				t.Errorf("%d requests without a key", w.server.Requests())
			}
		})
	}
}
