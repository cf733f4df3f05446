package daemon

import (
	"context"
	"errors"
	"log/slog"
	"time"

	core "github.com/patra-ingest/patra/internal/core/alert"
	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/engine/alert"
)

// alarm is the process of a world that tells people of findings, and hears what they are told.
type alarm struct {
	w    *world
	stop context.CancelFunc
	done chan struct{}
	said chan core.Message
	last *core.Message
}

// cutLine is the way to the database, which may be cut.
type cutLine struct {
	watchedLeases
	w *world
}

var errCut = errors.New("dial tcp 10.0.0.7:3306: no route to host")

func (c cutLine) AcquireLease(ctx context.Context, name, owner string, ttl time.Duration) (int64, bool, error) {
	if c.w.line.Load() {
		return 0, false, errCut
	}
	return c.watchedLeases.AcquireLease(ctx, name, owner, ttl)
}

func (c cutLine) RenewLease(ctx context.Context, name, owner string, epoch int64, ttl time.Duration) error {
	if c.w.line.Load() {
		return errCut
	}
	return c.watchedLeases.RenewLease(ctx, name, owner, epoch, ttl)
}

// Send takes a message to a person.
func (a *alarm) Send(ctx context.Context, m core.Message) error {
	select {
	case a.said <- m:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// raiseAlarm starts the process that tells people.
func (w *world) raiseAlarm() {
	declared := core.Config{
		Every: duration.Duration(time.Millisecond), Receivers: map[string]core.Receiver{"ann": {}},
		Rules: map[string]core.Rule{"away": {Codes: []string{string(view.FoundUnreachable)}, Severity: string(view.Critical), For: duration.Duration(time.Millisecond)}},
	}
	ctx, stop := context.WithCancel(w.Context())
	w.alarm = &alarm{w: w, stop: stop, done: make(chan struct{}), said: make(chan core.Message)}
	find := func(context.Context) ([]view.Finding, error) { return nil, nil }
	s := alert.New(cutLine{watchedLeases{w.app.store, w.app}, w}, find, alert.Config{Owner: "told", Declared: declared, Senders: map[string]alert.Sender{"ann": w.alarm}}, slog.New(slog.DiscardHandler))
	go func(a *alarm) {
		defer close(a.done)
		_ = s.Run(ctx) // it ends with ctx
	}(w.alarm)
}

// hear waits until people are told something.
func (a *alarm) hear() {
	a.w.Helper()
	select {
	case m := <-a.said:
		a.last = &m
	case <-a.done:
		a.w.Fatal("nobody tells any more")
	}
}

// end stops the process that tells people.
func (a *alarm) end() {
	a.stop()
	<-a.done
}

// told is the finding that people were told last, nil if it is over.
func (a *alarm) told() *view.Finding {
	if a == nil || a.last == nil || a.last.Kind != core.Firing || len(a.last.Alerts) == 0 {
		return nil
	}
	one := a.last.Alerts[0]
	return &view.Finding{Code: one.Code, Severity: one.Severity, Since: one.Since, Next: one.Next, Error: one.Text}
}
