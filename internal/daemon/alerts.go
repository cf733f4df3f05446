package daemon

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	core "github.com/patra-ingest/patra/internal/core/alert"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/spelling"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/notify"
	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/engine/alert"
	"github.com/patra-ingest/patra/internal/engine/operate"
)

// Alerts tells what was told to people, beside what operators do to it.
type Alerts struct {
	*operate.Alerts
	db *store.Store
}

// List lists alerts, newest first.
func (a *Alerts) List(ctx context.Context, f view.Filter) ([]core.Kept, error) {
	return a.db.Alerts(ctx, f)
}

// Show reads one alert, and the messages about it.
func (a *Alerts) Show(ctx context.Context, id int64) (k core.Kept, about []core.Delivery, err error) {
	if k, err = a.db.AlertRow(ctx, id); err != nil {
		return k, nil, err
	}
	now, err := a.db.Now(ctx)
	if err != nil {
		return k, nil, err
	}
	to := now
	if !k.EndedAt.IsZero() {
		to = k.EndedAt
	}
	all, err := a.db.AlertMessagesBetween(ctx, k.SeenAt, to)
	for _, d := range all {
		tells := func(one core.Alert) bool { return one.Key() == k.Alert.Key() }
		if d.Message.Rule == k.Rule && slices.ContainsFunc(d.Message.Alerts, tells) {
			about = append(about, d)
		}
	}
	return k, about, err
}

// ListMessages lists messages to receivers, newest first.
func (a *Alerts) ListMessages(ctx context.Context, f view.Filter) ([]core.Delivery, error) {
	return a.db.AlertDeliveries(ctx, f)
}

// ListSilences lists silences, newest first.
func (a *Alerts) ListSilences(ctx context.Context, f view.Filter) ([]core.Silence, error) {
	return a.db.AlertSilences(ctx, f)
}

// Undelivered tells which receivers messages do not reach.
func (a *Alerts) Undelivered(ctx context.Context) ([]view.Undelivered, error) {
	now, err := a.db.Now(ctx)
	if err != nil {
		return nil, err
	}
	return a.db.UndeliveredAlerts(ctx, now.Add(-core.UndeliveredAfter))
}

var errNoReceivers = fmt.Errorf("%w: no receiver of alerts is declared: patra.yaml does so under alerts.receivers", fault.ErrInvalid)

// alertService opens all receivers and makes what tells them.
func (a *App) alertService() (*alert.Service, error) {
	declared := a.config.Installed.Alerts
	if len(declared.Receivers) == 0 {
		return nil, errNoReceivers
	}
	senders := map[string]alert.Sender{}
	for _, name := range declared.ReceiverNames() {
		s, err := notify.Open(name, declared.Receivers[name], notify.Options{})
		if err != nil {
			return nil, err
		}
		senders[name] = s
	}
	return alert.New(watchedLeases{a.store, a}, a.findForAlerts, alert.Config{Owner: a.identity.ID, Declared: declared, Senders: senders}, a.config.Log), nil
}

// findForAlerts finds what `patra status` shows.
func (a *App) findForAlerts(ctx context.Context) ([]view.Finding, error) {
	found, err := a.Inspect.Status(ctx, a.Inspect.UsualQuery(""))
	return found.Findings, err
}

// tellAlerts tells people of findings until ctx ends.
func (a *App) tellAlerts(ctx context.Context) error {
	s, err := a.alertService()
	if err != nil {
		return err
	}
	a.freeLeases(ctx)
	return s.Run(ctx)
}

// AlertsSent is what one look told.
type AlertsSent struct{ alert.Done }

// SendAlerts looks once at the findings and sends what is due.
func (a *App) SendAlerts(ctx context.Context) (done AlertsSent, err error) {
	s, err := a.alertService()
	if err != nil {
		return done, err
	}
	defer s.Release(ctx)
	done.Done, err = s.Once(ctx)
	return done, err
}

// ReceiverTried is what became of a trial message.
type ReceiverTried struct {
	Receiver string        `json:"receiver"`
	ID       string        `json:"id"` // of the message
	Took     time.Duration `json:"-"`
	Failure  string        `json:"failure,omitempty"`
}

// TryReceivers sends a trial message to a receiver, or to all. It needs no database.
func (in Installed) TryReceivers(ctx context.Context, name string) (out []ReceiverTried, err error) {
	names := slices.Sorted(maps.Keys(in.Alerts.Receivers))
	switch {
	case len(names) == 0:
		return nil, errNoReceivers
	case name != "" && !slices.Contains(names, name):
		hint := "declared are " + strings.Join(names, ", ")
		if near := spelling.Nearest(name, names); near != "" {
			hint = "did you mean " + near + "?"
		}
		return nil, fmt.Errorf("receiver %q: %w: %s", name, fault.ErrNotFound, hint)
	case name != "":
		names = []string{name}
	}
	for _, name := range names {
		m := core.NewTrial(name, time.Now().UTC())
		tried, began := ReceiverTried{Receiver: name, ID: m.ID}, time.Now()
		s, err := notify.Open(name, in.Alerts.Receivers[name], notify.Options{})
		if err == nil {
			err = s.Send(ctx, m)
		}
		if ctx.Err() != nil {
			return out, ctx.Err()
		}
		if tried.Took = time.Since(began); err != nil {
			tried.Failure = err.Error()
		}
		out = append(out, tried)
	}
	return out, nil
}
