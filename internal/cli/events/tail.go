package events

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/event"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

// How events are read for people: few and small at once.
const (
	tailAtOnce = 500
	tailBytes  = 8 << 20
	tailEvery  = 500 * time.Millisecond
)

func newEventsTail(e *term.Env) *cobra.Command {
	var source string
	var n int
	var follow bool
	c := &cobra.Command{
		Use:   "tail",
		Short: "Show the newest events, and follow those that come",
		Long: `Show the newest events of the outbox, oldest of them first, whether they are
delivered or not. With -o json each line is an event as a receiver gets it, in the
JSON format of CloudEvents 1.0; its sequence is what events replay --from takes. With
--follow it goes on until Ctrl-C.`,
		Example: `  patra events tail
  patra events tail --source crossref -n 100 -o json
  patra events tail --follow`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if n < 0 || n > term.PageSizeMax {
				return term.Usagef("-n %d: expected 0 to %d", n, term.PageSizeMax)
			}
			return e.ReadSource(cmd.Context(), source, func(app *daemon.App) error { return showTail(cmd.Context(), e, app, source, n, follow) })
		},
	}
	c.Flags().StringVar(&source, "source", "", "only of this source")
	c.Flags().IntVarP(&n, "lines", "n", 10, "how many to begin with")
	c.Flags().BoolVarP(&follow, "follow", "f", false, "go on with the events that come")
	return c
}

func showTail(ctx context.Context, e *term.Env, app *daemon.App, source string, n int, follow bool) error {
	after, err := app.Events.FindNewest(ctx, source, n)
	if err != nil {
		return err
	}
	shown := 0
	for {
		var room event.Room
		events, err := app.Events.ReadAfter(ctx, source, after, tailAtOnce, tailBytes, &room)
		if err != nil {
			return err
		}
		for _, c := range events {
			after, shown = c.Row, shown+1
			if err := tailLine(e, c); err != nil {
				return err
			}
		}
		if len(events) > 0 {
			continue
		}
		if !follow {
			if shown == 0 {
				e.Hint("no events to show")
			}
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(tailEvery):
		}
	}
}

func tailLine(e *term.Env, c event.Change) error {
	if e.Output == "json" {
		sealed, err := event.Seal(c, event.Form{})
		if err == nil {
			err = e.WriteStored(append(slices.Clip(sealed.Bytes), '\n'))
		}
		return err
	}
	_, err := fmt.Fprintf(e.Out, "%-8d  %s  %-8s  %s/%s  %s  v%d\n", c.Row, wording.SecondText(c.StoredAt), c.Op, c.Source, c.Endpoint, term.Printable(c.RecordID), c.Version)
	return err
}
