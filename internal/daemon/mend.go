package daemon

import (
	"context"
	"crypto/rand"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/secret"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/engine/worklog"
)

// noteSecrets writes down when a secret of a source has another value than before:
// what failed with the old one is tried again at once (D§5.31). What a command prints
// is not asked for: it may be another token every time, and only requests run it.
// Nothing is read that nobody agreed to.
func (a *App) noteSecrets(ctx context.Context, s spec.Snapshot) error {
	if err := a.Trusted(ctx, s); err != nil {
		if IsUntrusted(err) {
			return nil // whoever plans with it says so
		}
		return err
	}
	values, err := a.secretsOf(ctx, s)
	if err != nil || len(values) == 0 {
		return err
	}
	scope := ingest.Scope{Source: s.Source, Endpoint: s.Endpoint, Operation: s.Operation} // each may have its own
	mark, err := a.store.SecretMark(ctx, scope)
	if err != nil || secret.Marks(mark, values...) {
		return err
	}
	salt := make([]byte, 16)
	_, _ = rand.Read(salt) // never fails
	if mark, err = secret.Mark(salt, values...); err != nil {
		return err
	}
	return a.store.NoteChange(ctx, scope, ingest.ChangeSecret, mark)
}

// secretsOf reads the values of variables and files that requests of a source are
// signed with. One that is not there, or cannot be read, counts as empty: the request
// that needs it reports what is wrong.
func (a *App) secretsOf(ctx context.Context, s spec.Snapshot) (out []secret.Text, err error) {
	var refs []secret.Ref
	for _, c := range s.AllCredentials() {
		refs = append(refs, c.References()...)
	}
	for _, ref := range refs {
		if scheme, _ := ref.Split(); scheme == "exec" {
			continue
		}
		value, err := a.config.Installed.limitedSecrets().Reveal(ctx, ref, secret.Purpose{Signs: true})
		if err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			value = secret.Text{}
		}
		out = append(out, value)
	}
	return out, nil
}

// liftStop ends a stop that the program made automatically, if its cause was changed
// since: another key, another version of the source. A source that is still wrong is
// stopped again. Records that vanished in masses are for a person to look at.
func (a *App) liftStop(ctx context.Context, p ingest.Pause, of ingest.Partition) (lifted bool, err error) {
	if p.Actor != ingest.ByItself || fault.CodeIn(p.Reason) == fault.MassGone {
		return false, nil
	}
	changed, err := a.store.CauseChanged(ctx, of)
	if err != nil || !changed.After(p.Since) {
		return false, err
	}
	_, news, err := a.store.ResumeSource(ctx, p.Scope, ingest.Act{Actor: ingest.ByItself, Reason: "its secret or its source file was changed since it was stopped"})
	if err == nil && news {
		a.config.Log.Info("a source that was stopped is tried again: its secret or its file was changed", worklog.Source, p.Scope.Source, "scope", p.Scope.String(), "stopped", p.Since, "reason", p.Reason)
	}
	return err == nil, err
}
