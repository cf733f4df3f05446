package daemon

import (
	"context"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/patra-ingest/patra/internal/core/event"
	"github.com/patra-ingest/patra/internal/core/outline"
	"github.com/patra-ingest/patra/internal/core/secret"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/trust"
	"github.com/patra-ingest/patra/internal/engine/worklog"
)

// Guard returns what stands between the sources of this database and this machine.
func (a *App) Guard() *Guard { return a.guard }

// MayRun refuses to plan or work on what an operator has paused, and on what would
// use something of this machine that nobody agreed to.
func (a *App) MayRun(ctx context.Context, s spec.Snapshot) error {
	if err := a.NotPaused(ctx, s); err != nil {
		return err
	}
	return a.Trusted(ctx, s)
}

// Trusted stops a run that would use what was not agreed to.
func (a *App) Trusted(ctx context.Context, s spec.Snapshot) error {
	return a.guard.Check(ctx, s, s.Source, func() []trust.Use {
		src, _, err := a.Source(ctx, s.Source)
		if err != nil {
			return nil
		}
		return Uses(src)
	})
}

// Untrusted lists the applied sources that cannot run until a person agrees to what
// they want of this machine. Other faults of a source are told elsewhere. Variables
// that are not set here may be set where the sources run, so they count, unless a
// source does without.
func (a *App) Untrusted(ctx context.Context, source string) (out []trust.Stopped, err error) {
	applied, err := a.appliedIn(ctx)
	if err != nil {
		return nil, err
	}
	for _, code := range slices.Sorted(maps.Keys(applied)) {
		if source != "" && source != code {
			continue
		}
		uses, err := a.usesNow(ctx, code)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil || len(uses) == 0 {
			continue
		}
		refused, err := a.guard.refusalsOf(ctx, uses, true)
		if err != nil {
			return nil, err
		}
		if len(refused) > 0 {
			out = append(out, trust.Stopped{What: "source " + code, Command: "patra source trust " + code, Refused: refused})
		}
	}
	return out, nil
}

// usesNow returns what the operations of a source want of this machine, without what is optional
// and not there.
func (a *App) usesNow(ctx context.Context, code string) (out []trust.Use, err error) {
	s, held := outlineIn(ctx, code)
	if !held {
		known, err := a.registry.findSource(ctx, a.store, code)
		if err != nil {
			return nil, err
		}
		s.Uses = outline.Uses(known.definition())
	}
	for _, u := range s.Uses {
		if !u.Optional || !a.config.Installed.limitedSecrets().Absent(u.Ref.Secret()) {
			out = append(out, u.Use)
		}
	}
	return trust.Sorted(out), nil
}

// eventUses returns what an events file wants of this machine. The secret of a webhook
// signs and is not sent.
func eventUses(d event.Destination) (out []trust.Use) {
	add := func(ref secret.Ref, address string) {
		if to, err := url.Parse(address); err == nil && !ref.IsZero() {
			out = append(out, trust.Use{Ref: trust.OfSecret(ref), Host: trust.HostOf(to)})
		}
	}
	if d.Webhook != nil {
		add(d.Webhook.Secret, d.Webhook.URL)
		add(d.Webhook.OldSecret, d.Webhook.URL)
	}
	if d.NATS != nil {
		for server := range strings.SplitSeq(d.NATS.URL, ",") {
			add(d.NATS.Token, strings.TrimSpace(server))
			add(fileOf(d.NATS.Credentials), strings.TrimSpace(server))
			add(fileOf(d.NATS.Cert), strings.TrimSpace(server))
			add(fileOf(d.NATS.Key), strings.TrimSpace(server))
		}
	}
	return out
}

// fileOf returns a file that is read and used by somebody else, as a reference to it.
func fileOf(path string) (ref secret.Ref) {
	if path != "" {
		_ = ref.UnmarshalText([]byte("file:" + path)) // which any path is
	}
	return ref
}

// EventUses returns those of all receivers.
func EventUses(declared event.Declaration) (out []trust.Use) {
	for _, d := range declared.Destinations {
		out = append(out, eventUses(d)...)
	}
	return trust.Sorted(out)
}

// revealFor reads the secrets of a receiver of events, for its own host only.
func (g *Guard) revealFor(d event.Destination) func(context.Context, secret.Ref) (secret.Text, error) {
	return func(ctx context.Context, ref secret.Ref) (secret.Text, error) {
		value, err := secret.Text{}, errors.New("the reference is not one of this receiver")
		for _, u := range eventUses(d) {
			if u.Ref.Secret() != ref {
				continue
			}
			if value, err = g.Reveal(ctx, ref, secret.Purpose{Host: u.Host, Signs: d.Webhook != nil}); err != nil {
				break // of several servers each must be agreed to
			}
		}
		return value, err
	}
}

// CheckEvents stops publishing that would use what was not agreed to.
func (g *Guard) CheckEvents(ctx context.Context, declared event.Declaration, command string) error {
	refused, err := g.Refused(ctx, EventUses(declared))
	if err != nil || len(refused) == 0 {
		return err
	}
	return &trust.Stopped{What: "publishing events", Command: command, Refused: refused}
}

// tellUntrusted says once, when a process begins to serve, which sources wait for
// consent. The others go on.
func (a *App) tellUntrusted(ctx context.Context) {
	all, err := a.Untrusted(ctx, "")
	if err != nil {
		a.config.Log.Warn("what sources want of this machine could not be looked up", "error", err)
	}
	for _, s := range all {
		a.config.Log.Warn("a source does not run until a person agrees to what it wants of this machine", worklog.Source, s.What, "wants", s.Brief(), "next", s.Command)
	}
}
