package cli

import (
	"context"
	"os"
	"strings"

	"github.com/patra-ingest/patra/internal/core/config"
	"github.com/patra-ingest/patra/internal/daemon"
)

// readInstalled reads what this installation decided, from patra.yaml and the
// environment, which wins.
func (e *env) readInstalled() (err error) {
	named := e.configFile
	if named == "" {
		named = envOr("PATRA_CONFIG", "")
	}
	if e.installed, err = daemon.ReadInstalled(named); err != nil {
		return err
	}
	if contact := envOr("PATRA_CONTACT", ""); contact != "" {
		if !config.IsAddress(contact) {
			return usagef("PATRA_CONTACT: %q is not an e-mail address, such as you@example.org", contact)
		}
		e.installed.Contact.Email, e.installed.ContactFrom = contact, "PATRA_CONTACT"
	}
	e.hintStrayConfig(named)
	return nil
}

// hintStrayConfig tells of a patra.yaml that looks as if it were in force. A folder
// may come from somebody else, so what lies in it is read only when it is named.
func (e *env) hintStrayConfig(named string) {
	here, err := os.Stat("patra.yaml")
	if named != "" || err != nil || !here.Mode().IsRegular() {
		return
	}
	if used, err := os.Stat(e.installed.File); err == nil && os.SameFile(here, used) {
		return
	}
	e.hint("patra.yaml of this folder is not read: if it is yours, say --config patra.yaml, or move it to %s", e.installed.ConfigFile())
}

// guarded does something behind the guard of the database. Where consent is kept in
// a file of the user, no database is needed and none is opened.
func (e *env) guarded(ctx context.Context, do func(*daemon.Guard) error) error {
	if strings.HasPrefix(e.database, "sqlite:") {
		return do(e.installed.Guard())
	}
	return e.recorded(ctx, do)
}

// recorded is guarded for acts that the log of the database shall have, if there is
// one.
func (e *env) recorded(ctx context.Context, do func(*daemon.Guard) error) error {
	return e.registry(ctx, func(app *daemon.App) error {
		if app == nil {
			return do(e.installed.Guard())
		}
		return do(app.Guard())
	})
}
