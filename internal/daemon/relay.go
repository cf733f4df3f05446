package daemon

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/patra-ingest/patra/internal/core/event"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/spelling"
	"github.com/patra-ingest/patra/internal/driver/publish/jsonl"
	"github.com/patra-ingest/patra/internal/driver/publish/nats"
	"github.com/patra-ingest/patra/internal/driver/publish/webhook"
	"github.com/patra-ingest/patra/internal/engine/outbox"
)

var errNoEvents = fmt.Errorf("%w: no destination of events is declared: name the file that declares them with --events or PATRA_EVENTS", fault.ErrInvalid)

// publisher is what is opened for a destination.
type publisher interface {
	outbox.Publisher
	io.Closer
}

func (g *Guard) openPublisher(d event.Destination) (publisher, error) {
	reveal := g.revealFor(d)
	switch {
	case d.JSONL != nil:
		return jsonl.Open(d.JSONL.Dir, jsonl.Options{FileBytes: d.JSONL.FileBytes, FileEvents: d.JSONL.FileEvents})
	case d.Webhook != nil:
		w := d.Webhook
		return webhook.New(webhook.Options{URL: w.URL, Secret: w.Secret, OldSecret: w.OldSecret, AllowPrivate: w.AllowPrivate, Concurrent: w.Concurrent, Reveal: reveal}), nil
	case d.NATS != nil:
		return nats.Open(nats.Options{URL: d.NATS.URL, Stream: d.NATS.Stream, Subject: d.NATS.Subject, Token: d.NATS.Token, Credentials: d.NATS.Credentials, Security: d.NATS.Security, Reveal: reveal})
	}
	return nil, fmt.Errorf("%w: destination %s has no kind", fault.ErrInvalid, d.Name)
}

// withRelay opens all destinations and calls do with a relay.
func (a *App) withRelay(ctx context.Context, do func(*outbox.Relay) error) (err error) {
	if len(a.config.Events.Destinations) == 0 {
		return errNoEvents
	}
	if err := a.guard.CheckEvents(ctx, a.config.Events, "patra events trust --events "+a.config.EventsFile); err != nil {
		return err
	}
	to := map[string]outbox.Destination{}
	for _, d := range a.config.Events.Destinations {
		p, e := a.guard.openPublisher(d)
		if e != nil {
			return fmt.Errorf("destination %s: %w", d.Name, e)
		}
		defer func() { err = errors.Join(err, p.Close()) }()
		to[d.Name] = outbox.Destination{Form: d.Form(), Publisher: p}
	}
	config := outbox.Config{Owner: a.identity.ID, Lease: min(a.config.Lease, longestPlannerLease)}
	return do(outbox.New(watchedLeases{a.store, a}, a.config.Events.Destination, to, config, a.config.Log))
}

// relayEvents publishes events until ctx ends.
func (a *App) relayEvents(ctx context.Context) error {
	a.freeLeases(ctx)
	for _, warning := range a.unknownRoutes(ctx) {
		a.config.Log.Warn(warning)
	}
	return a.withRelay(ctx, func(r *outbox.Relay) error { return r.Run(ctx) })
}

// unknownRoutes warns of routes that name unknown sources: a source that is misspelled,
// or has another name now, must not lose its events silently. It may also be one that
// is applied later.
func (a *App) unknownRoutes(ctx context.Context) (warnings []string) {
	known, err := a.SourceCodes(ctx)
	if err != nil {
		return nil // whoever relays fails by the same
	}
	for _, source := range a.config.Events.Strangers(known) {
		hint := "is it misspelled?"
		if near := spelling.Nearest(source, known); near != "" {
			hint = "did you mean " + near + "?"
		}
		warnings = append(warnings, fmt.Sprintf("a route of events names the source %q, which is not known; events that no route fits are skipped: %s", source, hint))
	}
	return warnings
}

// freeLeases ends the leases of processes of this machine that were killed, so that a
// relay need not wait for them.
func (a *App) freeLeases(ctx context.Context) {
	if err := a.buryDead(ctx); err != nil {
		a.config.Log.Warn("could not look for processes that are gone; their leases expire automatically", "error", err)
	}
}

// Relayed is what became of the events that waited.
type Relayed struct {
	outbox.Count
	Warnings []string // of routes that get nothing
}

// PublishEvents publishes what waits now.
func (a *App) PublishEvents(ctx context.Context) (done Relayed, err error) {
	a.freeLeases(ctx)
	done.Warnings = a.unknownRoutes(ctx)
	err = a.withRelay(ctx, func(r *outbox.Relay) error {
		for {
			n, err := r.Once(ctx)
			done.Count = r.Count()
			if err != nil || n == 0 {
				return err
			}
		}
	})
	return done, err
}

// TestDestination sends an event that says only that it arrived.
func (g *Guard) TestDestination(ctx context.Context, declared event.Declaration, name, trusting string) (id string, err error) {
	for _, d := range declared.Destinations {
		if d.Name != name {
			continue
		}
		if err := g.CheckEvents(ctx, event.Declaration{Destinations: []event.Destination{d}}, trusting); err != nil {
			return "", err
		}
		p, err := g.openPublisher(d)
		if err != nil {
			return "", err
		}
		e := event.Test(name, "test-"+rand.Text(), time.Now().UTC())
		err = p.Publish(ctx, []event.Sealed{e})[0]
		return e.ID, errors.Join(err, p.Close())
	}
	return "", fmt.Errorf("destination %q: %w", name, fault.ErrNotFound)
}
