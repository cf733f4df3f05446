package events

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/event"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

func New(e *term.Env) *cobra.Command {
	return term.NewGroup("events", "Follow, publish and replay the events of changed records",
		newEventsTail(e), newEventsPublish(e), newEventsReplay(e), newEventsTest(e), newEventsTrust(e), newEventsDeliveries(e))
}

func newEventsPublish(e *term.Env) *cobra.Command {
	var told File
	c := &cobra.Command{
		Use:   "publish",
		Short: "Publish the events that wait now, then stop",
		Long: `Publish the events that wait now to the destinations in the --events file,
then stop. Use it if you harvest from a timer; patra serve with the role relay
publishes all the time. Both may run at once: only one process at a time works
on the events of a dataset.

An event whose receiver cannot be reached stays. So does one that another process
is publishing. Exit code 3 means that some stayed, or are dead.`,
		Example: `  patra events publish --events events.yaml
  patra events publish --events events.yaml -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			declared, err := told.Read()
			if err != nil {
				return err
			}
			app, err := e.Open(cmd.Context(), func(c *daemon.Config) { c.MustExist, c.Events, c.EventsFile = true, declared, told.Name() })
			if err != nil {
				return err
			}
			defer app.Close()
			done, err := app.PublishEvents(cmd.Context())
			if err != nil {
				return err
			}
			waiting, err := app.Events.List(cmd.Context(), view.Filter{Limit: 1}, event.Pending, event.Failed, event.Dead)
			if err != nil {
				return err
			}
			HintSkipped(e, done)
			err = term.PrintFacts(e, map[string]any{"published": done.Published, "skipped": done.Skipped, "left": len(waiting) > 0},
				[]term.Fact{{"published", done.Published}, {"skipped", done.Skipped}, {"all delivered", len(waiting) == 0 && done.Skipped == 0}})
			if err == nil {
				err = CheckUndelivered(cmd.Context(), e, app, told)
			}
			return err
		},
	}
	told.Flags(c)
	return c
}

// HintSkipped says that some events reached nobody: that may be meant, or a route
// may be wrong.
func HintSkipped(e *term.Env, done daemon.Relayed) {
	for _, warning := range done.Warnings {
		e.Hint("%s", warning)
	}
	if done.Skipped > 0 {
		e.Hint("%s skipped: no route of the file leads them to a destination; `patra outbox list --status SKIPPED` shows them, `patra events replay` puts them back", wording.Count(done.Skipped, "event"))
	}
}

func newEventsTest(e *term.Env) *cobra.Command {
	var told File
	c := &cobra.Command{
		Use:   "test DESTINATION",
		Short: "Send a test event to a destination",
		Long: `Send one event of type io.github.patra-ingest.test to a destination of the file, with
the signature and the credentials that real events have. It is in no outbox and is
sent once. Exit code 1 means that the destination did not take it.`,
		Example: `  patra events test hook --events events.yaml`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			declared, err := told.Read()
			if err != nil {
				return err
			}
			for _, text := range daemon.EventWarnings(declared) {
				e.WarnOnce(text)
			}
			var id string
			err = e.WithGuard(cmd.Context(), func(g *daemon.Guard) error {
				id, err = g.TestDestination(cmd.Context(), declared, args[0], told.TrustCommand())
				return err
			})
			if err != nil {
				return err
			}
			return term.PrintFacts(e, map[string]any{"destination": args[0], "event": id}, []term.Fact{{"delivered to", args[0]}, {"event", id}})
		},
	}
	told.Flags(c)
	return c
}

func newEventsDeliveries(e *term.Env) *cobra.Command {
	l := term.Lister[view.Delivery]{
		Noun: "deliveries", Statuses: term.StatusTexts(event.Delivered, event.Deferred, event.Rejected),
		Columns: deliveryColumns(),
		ID:      func(d view.Delivery) int64 { return d.ID },
		Read: func(ctx context.Context, app *daemon.App, f view.Filter) ([]view.Delivery, error) {
			return app.Events.ListDeliveries(ctx, f)
		},
	}
	c, _ := l.Command(e, &cobra.Command{
		Use:   "deliveries",
		Short: "List attempts to deliver events, newest first",
		Long: `List attempts to deliver events, newest first: one line for each part of a dataset's
events that was handed to one destination. DEFERRED means that the destination could
not be reached and that the rest is tried later; FAILED, that it refused some events,
which ` + "`patra outbox list`" + ` shows. Lines are kept for 30 days.`,
		Example: `  patra events deliveries
  patra events deliveries --source crossref --status DEFERRED -o json`,
	})
	return c
}

func deliveryColumns() term.Columns[view.Delivery] {
	return term.NewColumns([]string{"id", "at", "source", "to", "status", "events", "delivered", "error"}, func(d view.Delivery) []any {
		return []any{d.ID, d.EndedAt, wording.Shorten(d.Source, 14), d.Destination, d.Status, d.Events, d.Delivered, wording.Shorten(wording.OrDash(d.Error), 34)}
	})
}
