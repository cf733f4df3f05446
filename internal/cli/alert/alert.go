package alert

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/alert"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

func New(e *term.Env) *cobra.Command {
	return term.NewGroup("alert", "See which findings people were told of, silence alerts, test receivers",
		newAlertList(e), newAlertShow(e), newAlertMessages(e), newSilence(e), newSilences(e), newUnsilence(e), newAlertTest(e), newAlertSend(e))
}

func newAlertList(e *term.Env) *cobra.Command {
	l := term.Lister[alert.Kept]{
		Noun: "alerts", Statuses: alert.States(),
		Columns: alertColumns(),
		ID:      func(k alert.Kept) int64 { return k.ID },
		Read: func(ctx context.Context, app *daemon.App, f view.Filter) ([]alert.Kept, error) {
			if err := hintUndelivered(ctx, e, app); err != nil {
				return nil, err
			}
			return app.Alerts.List(ctx, f)
		},
	}
	c, _ := l.Command(e, &cobra.Command{
		Use:   "list",
		Short: "List alerts, newest first",
		Long: `List alerts, newest first: findings that a rule of patra.yaml tells to people.

  PENDING   found, but not told: it has not lasted as long as its rule says, or is
            silenced
  OPEN      told, and not over
  RESOLVED  told, over, and told that it is over
  CLOSED    told, and no rule asks for it any more

A process with the role alert (patra serve), or patra alert send, looks at the
findings and tells. Messages that did not reach their receiver are named on
stderr; patra alert messages lists them.`,
		Example: `  patra alert list
  patra alert list --status OPEN --source crossref
  patra alert list --limit 5 -o json`,
	})
	return c
}

func alertColumns() term.Columns[alert.Kept] {
	return term.NewColumns([]string{"id", "since", "status", "severity", "code", "about", "told", "rule"}, func(k alert.Kept) []any {
		return []any{k.ID, k.Alert.Since, k.State, k.Alert.Severity, k.Alert.Code, wording.Shorten(term.Printable(k.Alert.About), 30), k.ToldAt, k.Rule}
	})
}

// hintUndelivered names receivers that messages do not reach: a list of what was told must
// not look as if all had heard it.
func hintUndelivered(ctx context.Context, e *term.Env, app *daemon.App) error {
	all, err := app.Alerts.Undelivered(ctx)
	for _, u := range all {
		e.Hint("%s did not reach the receiver %s: %s; patra alert test %s tries it", wording.Count(u.Messages, "message"), u.Receiver, wording.Shorten(u.Error, 120), u.Receiver)
	}
	return err
}

// alertDetail is an alert with the messages about it.
type alertDetail struct {
	alert.Kept
	Messages []alert.Delivery `json:"messages"`
}

func newAlertShow(e *term.Env) *cobra.Command {
	return term.NewShow(e, "alert", &cobra.Command{
		Short: "Show one alert and the messages about it",
		Example: `  patra alert show 17
  patra alert show 17 -o json`,
	}, func(ctx context.Context, app *daemon.App, id int64) error {
		k, about, err := app.Alerts.Show(ctx, id)
		if err != nil {
			return err
		}
		if about == nil {
			about = []alert.Delivery{}
		}
		return showAlert(e, alertDetail{k, about})
	})
}

func showAlert(e *term.Env, d alertDetail) error {
	k := d.Kept
	if err := term.PrintFacts(e, d, []term.Fact{
		{"id", k.ID},
		{"status", k.State},
		{"severity", k.Alert.Severity},
		{"code", k.Alert.Code},
		{"about", term.Printable(k.Alert.About)},
		{"text", term.Wrap(k.Alert.Text)},
		{"next", wording.OrDash(k.Alert.Next)},
		{"rule", k.Rule},
		{"since", k.Alert.Since},
		{"first seen", k.SeenAt},
		{"absent since", k.AbsentAt},
		{"told last", k.ToldAt},
		{"told", fmt.Sprintf("%d times", k.Times)},
		{"ended", k.EndedAt},
	}); err != nil || e.Output == "json" || len(d.Messages) == 0 {
		return err
	}
	fmt.Fprintln(e.Out, "\nmessages about it")
	return term.PrintList(e, d.Messages, messageColumns())
}

func messageColumns() term.Columns[alert.Delivery] {
	return term.NewColumns([]string{"id", "queued", "receiver", "kind", "alerts", "status", "tries", "sent", "error"}, func(d alert.Delivery) []any {
		return []any{d.ID, d.QueuedAt, d.Receiver, d.Message.Kind, len(d.Message.Alerts), d.Status, d.Tries, d.SentAt, wording.OrDash(wording.Shorten(term.Printable(d.Error), 60))}
	})
}

func newAlertMessages(e *term.Env) *cobra.Command {
	var status string
	l := term.Lister[alert.Delivery]{
		Noun: "messages", Columns: messageColumns(),
		ID:    func(d alert.Delivery) int64 { return d.ID },
		Check: func() error { return checkWord("status", &status, alert.DeliveryStatuses()) },
		Read: func(ctx context.Context, app *daemon.App, f view.Filter) ([]alert.Delivery, error) {
			f.Status = status
			return app.Alerts.ListMessages(ctx, f)
		},
	}
	c, _ := l.Command(e, &cobra.Command{
		Use:   "messages",
		Short: "List messages to receivers, newest first",
		Long: `List messages to receivers, newest first.

  QUEUED     to be sent, or sent again after a failure: after 30 seconds, then
             after waits that grow to an hour. Those of one receiver go in order
  SENT       the receiver has it
  GIVEN_UP   the receiver refused it, or failed 20 times. That is the finding
             ALERT_UNDELIVERED until patra alert test succeeds: then it is sent
  DISCARDED  its receiver is not declared any more, or it was a reminder and a
             newer one replaces it. What began and what ended is always sent

A message keeps its id however often it is sent.`,
		Example: `  patra alert messages
  patra alert messages --status GIVEN_UP
  patra alert messages --limit 1 -o json`,
	})
	c.Flags().StringVar(&status, "status", "", "only with this status: "+wordList(alert.DeliveryStatuses()))
	return c
}
