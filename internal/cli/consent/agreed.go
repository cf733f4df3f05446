package consent

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/trust"
	"github.com/patra-ingest/patra/internal/daemon"
)

// CheckFor is agreed for a source of the database, or a bundled one without.
func CheckFor(ctx context.Context, e *term.Env, app *daemon.App, s spec.Snapshot) error {
	if app == nil {
		src, err := daemon.Bundled(s.Source)
		if err != nil {
			return err
		}
		return Check(ctx, e, e.Installed.Guard(), s, s.Source, src)
	}
	src, _, err := app.Source(ctx, s.Source)
	if err != nil {
		return err
	}
	return Check(ctx, e, app.Guard(), s, s.Source, src)
}

// Check stops a run that would use something of this machine that nobody agreed to.
// On a terminal somebody is asked at once.
func Check(ctx context.Context, e *term.Env, g *daemon.Guard, s spec.Snapshot, typed string, src *registry.Source) error {
	check := func() error { return g.Check(ctx, s, typed, func() []trust.Use { return daemon.Uses(src) }) }
	err := check()
	var stopped *trust.Stopped
	if !errors.As(err, &stopped) || !stopped.OnlyConsent() || !canAsk(e) {
		return withConfigFile(e, err)
	}
	tellWants(e, stopped)
	if !askYesNo(e, "Agree to this from now on? [y/N] ") {
		return err
	}
	if err := g.Agree(ctx, stopped.Uses(), ingest.Act{Actor: term.SystemUser(), Reason: "asked on a terminal"}); err != nil {
		return err
	}
	e.Hint("agreed; kept in %s. To take it back: patra source trust %s --revoke", g.Kept(), typed)
	return check()
}

// tellWants lists what a question is about.
func tellWants(e *term.Env, s *trust.Stopped) {
	fmt.Fprintf(e.Err, "%s wants to\n", s.What)
	for _, u := range s.Uses() {
		fmt.Fprintln(e.Err, term.Printable("  - "+u.String()))
	}
}

// withConfigFile says where patra.yaml is, to whoever is told to write into it.
func withConfigFile(e *term.Env, err error) error {
	var stopped *trust.Stopped
	if errors.As(err, &stopped) && !stopped.OnlyConsent() {
		return fmt.Errorf("%w\nnote: patra.yaml of this installation is %s", err, e.Installed.ConfigFile())
	}
	return err
}

// canAsk: somebody sees the question and can answer it.
func canAsk(e *term.Env) bool {
	return !e.Quiet && term.IsTerminal(e.Err) && term.CanAsk()
}

// askYesNo puts a question. Anything but yes is no.
func askYesNo(e *term.Env, question string) bool {
	fmt.Fprint(e.Err, question)
	answer, _ := bufio.NewReader(os.Stdin).ReadString('\n') // the end of the input is a no
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}

// Settle agrees, asks, or tells what is missing.
func Settle(ctx context.Context, e *term.Env, g *daemon.Guard, s *trust.Stopped, by ingest.Act, yes bool) error {
	if !yes && s.OnlyConsent() && canAsk(e) {
		tellWants(e, s)
		yes = askYesNo(e, "Agree to this from now on? [y/N] ")
	}
	if yes {
		if err := g.Agree(ctx, s.Uses(), by); err != nil {
			return err
		}
		e.Hint("%s: agreed to what it wants of this machine; kept in %s", s.What, g.Kept())
		left, err := g.Refused(ctx, s.Uses())
		if err != nil || len(left) == 0 {
			return err
		}
		s.Refused = left
	}
	e.Hint("%s", s.Brief())
	if !s.OnlyConsent() {
		e.Hint("patra.yaml of this installation is %s", e.Installed.ConfigFile())
	}
	return nil
}
