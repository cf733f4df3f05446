package term

import (
	"context"
	"os"
	"strings"

	"github.com/patra-ingest/patra/internal/core/config"
	"github.com/patra-ingest/patra/internal/daemon"
)

// readInstalled reads what this installation decided, from patra.yaml and the
// environment, which wins.
func (e *Env) readInstalled() (err error) {
	named := e.ConfigFile
	if named == "" {
		named = EnvOr("PATRA_CONFIG", "")
	}
	if e.Installed, err = daemon.ReadInstalled(named); err != nil {
		return err
	}
	if contact := EnvOr("PATRA_CONTACT", ""); contact != "" {
		if !config.IsAddress(contact) {
			return Usagef("PATRA_CONTACT: %q is not an e-mail address, such as you@example.org", contact)
		}
		e.Installed.Contact.Email, e.Installed.ContactFrom = contact, "PATRA_CONTACT"
	}
	e.hintStrayConfig(named)
	return nil
}

// hintStrayConfig tells of a patra.yaml that looks as if it were in force. A folder
// may come from somebody else, so what lies in it is read only when it is named.
func (e *Env) hintStrayConfig(named string) {
	here, err := os.Stat("patra.yaml")
	if named != "" || err != nil || !here.Mode().IsRegular() {
		return
	}
	if used, err := os.Stat(e.Installed.File); err == nil && os.SameFile(here, used) {
		return
	}
	e.Hint("patra.yaml in this folder was not read: if it is yours, add --config patra.yaml, or move it to %s", e.Installed.ConfigFile())
}

// WithGuard does something behind the guard of the database. Where consent is kept in
// a file of the user, no database is needed and none is opened.
func (e *Env) WithGuard(ctx context.Context, do func(*daemon.Guard) error) error {
	if strings.HasPrefix(e.Database, "sqlite:") {
		return do(e.Installed.Guard())
	}
	return e.WithRecordedConsent(ctx, do)
}

// WithRecordedConsent does something behind the guard that writes acts into the audit
// log of the database, if there is a database.
func (e *Env) WithRecordedConsent(ctx context.Context, do func(*daemon.Guard) error) error {
	return e.ReadRegistry(ctx, func(app *daemon.App) error {
		if app == nil {
			return do(e.Installed.Guard())
		}
		return do(app.Guard())
	})
}
