package executor

import (
	"testing"

	"github.com/patra-ingest/patra/internal/core/ingest"
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
			if got := w.outcomes[0].Stats; got.Seen != 45 || got.Restarts != 0 || w.server.TokensIssued() < 3 {
				t.Errorf("%d tokens, %+v", w.server.TokensIssued(), got)
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
