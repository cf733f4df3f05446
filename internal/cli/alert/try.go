package alert

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

func newAlertTest(e *term.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "test [RECEIVER]",
		Short: "Send a trial message to a receiver, or to all, and say what happened",
		Long: `Send a trial message to a receiver of patra.yaml, or to all of them, and say what
happened. It says that nothing is wrong.

If it arrives, messages to that receiver that failed or were given up are due at
once: patra serve sends them soon, or patra alert send does now.

Exit code 3 if a receiver did not get it.`,
		Example: `  patra alert test
  patra alert test night`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			tried, err := e.Installed.TryReceivers(cmd.Context(), strings.Join(args, ""))
			if err != nil {
				return err
			}
			if err := term.PrintList(e, tried, triedColumns()); err != nil {
				return err
			}
			failed := 0
			for _, t := range tried {
				if t.Failure != "" {
					failed++
					continue
				}
				retryWaiting(cmd.Context(), e, t.Receiver)
			}
			if failed > 0 {
				return term.Partialf("%d of %s did not get the message", failed, wording.Count(len(tried), "receiver"))
			}
			return nil
		},
	}
}

func triedColumns() term.Columns[daemon.ReceiverTried] {
	return term.NewColumns([]string{"receiver", "arrived", "took", "error"}, func(t daemon.ReceiverTried) []any {
		arrived := "yes"
		if t.Failure != "" {
			arrived = "no"
		}
		return []any{t.Receiver, arrived, t.Took.Round(time.Millisecond), wording.OrDash(term.Printable(t.Failure))}
	})
}

// retryWaiting makes due what waits for a receiver that answers again. Without a database
// nothing waits.
func retryWaiting(ctx context.Context, e *term.Env, receiver string) {
	app, err := e.OpenToRead(ctx)
	if err != nil {
		return
	}
	defer app.Close()
	n, err := app.Alerts.Retry(ctx, receiver, ingest.Act{Actor: term.SystemUser(), Reason: "patra alert test succeeded"})
	switch {
	case err != nil:
		e.Hint("messages that wait for %s could not be made due: %v", receiver, err)
	case n > 0:
		e.Hint("%s to %s that failed before will be sent by patra serve, or now by patra alert send", wording.Count(n, "message"), receiver)
	}
}

func newAlertSend(e *term.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "send",
		Short: "Look at the findings once and send what is due, for harvests started by cron",
		Long: `Look at the findings once, decide what is told, send what is due, and end. Use it if
you harvest by cron and run no patra serve. A finding is told when it has lasted as
long as its rule says: if you run this command rarely, write for: PT0S into the rule.

If another process tells alerts, this command does nothing. Exit code 3 if a message
did not reach its receiver; the next call tries it again.`,
		Example: `  patra alert send
  patra alert send -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return e.ReadStore(cmd.Context(), func(app *daemon.App) error {
				done, err := app.SendAlerts(cmd.Context())
				if err != nil {
					return err
				}
				return showSent(e, done)
			})
		},
	}
}

func showSent(e *term.Env, done daemon.AlertsSent) error {
	if err := term.PrintFacts(e, done, []term.Fact{
		{"findings", done.Findings}, {"messages decided", done.Queued}, {"messages sent", done.Sent}, {"tries that failed", done.Failed},
	}); err != nil {
		return err
	}
	if done.Elsewhere {
		e.Hint("another process tells alerts, so nothing was done: patra alert list shows what it told")
	}
	if done.Failed > 0 {
		return term.Partialf("%s did not reach its receiver; patra alert messages tells why", wording.Count(done.Failed, "message"))
	}
	return nil
}
