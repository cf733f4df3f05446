package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/trust"
	"github.com/patra-ingest/patra/internal/daemon"
)

// agreedFor is agreed for a source of the database, or a bundled one without.
func (e *env) agreedFor(ctx context.Context, app *daemon.App, s spec.Snapshot) error {
	if app == nil {
		src, err := daemon.Bundled(s.Source)
		if err != nil {
			return err
		}
		return e.agreed(ctx, e.installed.Guard(), s, s.Source, src)
	}
	src, _, err := app.Source(ctx, s.Source)
	if err != nil {
		return err
	}
	return e.agreed(ctx, app.Guard(), s, s.Source, src)
}

// agreed stops a run that would use something of this machine that nobody agreed to.
// On a terminal somebody is asked at once.
func (e *env) agreed(ctx context.Context, g *daemon.Guard, s spec.Snapshot, typed string, src *registry.Source) error {
	check := func() error { return g.Check(ctx, s, typed, func() []trust.Use { return daemon.Uses(src) }) }
	err := check()
	var stopped *trust.Stopped
	if !errors.As(err, &stopped) || !stopped.OnlyConsent() || !e.canAsk() {
		return e.withConfigFile(err)
	}
	e.tellWants(stopped)
	if !e.asked("Agree to this from now on? [y/N] ") {
		return err
	}
	if err := g.Agree(ctx, stopped.Uses(), ingest.Act{Actor: systemUser(), Reason: "asked on a terminal"}); err != nil {
		return err
	}
	e.hint("agreed; kept in %s. To take it back: patra source trust %s --revoke", g.Kept(), typed)
	return check()
}

// tellWants lists what a question is about.
func (e *env) tellWants(s *trust.Stopped) {
	fmt.Fprintf(e.err, "%s wants to\n", s.What)
	for _, u := range s.Uses() {
		fmt.Fprintln(e.err, printable("  - "+u.String()))
	}
}

// withConfigFile says where patra.yaml is, to whoever is told to write into it.
func (e *env) withConfigFile(err error) error {
	var stopped *trust.Stopped
	if errors.As(err, &stopped) && !stopped.OnlyConsent() {
		return fmt.Errorf("%w\nnote: patra.yaml of this installation is %s", err, e.installed.ConfigFile())
	}
	return err
}

// canAsk: somebody sees the question and can answer it.
func (e *env) canAsk() bool {
	return !e.quiet && isTerminal(e.err) && canRead()
}

// asked puts a question. Anything but yes is no.
func (e *env) asked(question string) bool {
	fmt.Fprint(e.err, question)
	answer, _ := bufio.NewReader(os.Stdin).ReadString('\n') // the end of the input is a no
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}

// trustApplied agrees to what applied files want, if that was said, or asks. A file
// that is applied runs nothing, so without an answer it only says what is missing.
func (e *env) trustApplied(ctx context.Context, files []checked, a applying) error {
	return e.recorded(ctx, func(g *daemon.Guard) error {
		for _, f := range files {
			refused, err := g.Refused(ctx, daemon.Uses(f.src))
			if err != nil {
				return err
			}
			if len(refused) == 0 {
				continue
			}
			stopped := &trust.Stopped{What: "source " + f.Source, Command: "patra source trust " + f.Source, Refused: refused}
			by := ingest.Act{Actor: cmp.Or(a.actor, systemUser()), Reason: a.reason}
			if err := e.settle(ctx, g, stopped, by, a.trust); err != nil {
				return err
			}
		}
		return nil
	})
}

// settle agrees, asks, or tells what is missing.
func (e *env) settle(ctx context.Context, g *daemon.Guard, s *trust.Stopped, by ingest.Act, yes bool) error {
	if !yes && s.OnlyConsent() && e.canAsk() {
		e.tellWants(s)
		yes = e.asked("Agree to this from now on? [y/N] ")
	}
	if yes {
		if err := g.Agree(ctx, s.Uses(), by); err != nil {
			return err
		}
		e.hint("%s: agreed to what it wants of this machine; kept in %s", s.What, g.Kept())
		left, err := g.Refused(ctx, s.Uses())
		if err != nil || len(left) == 0 {
			return err
		}
		s.Refused = left
	}
	e.hint("%s", s.Brief())
	if !s.OnlyConsent() {
		e.hint("patra.yaml of this installation is %s", e.installed.ConfigFile())
	}
	return nil
}
