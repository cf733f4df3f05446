package events

import (
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/event"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

func newEventsReplay(e *term.Env) *cobra.Command {
	var from, source string
	var a term.Acting
	c := &cobra.Command{
		Use:   "replay",
		Short: "Publish events once more, from a time or an event on",
		Long: `Put events back that were delivered or skipped, from a time or a sequence on, so that
the relay publishes them once more: in their order, with the same ids and the same
bytes. Records are not touched, and nothing is asked of an upstream. A receiver can
tell by the id, or by the version of the record, which events it already has.

Events that were removed after their delivery (--outbox-keep) cannot be replayed.`,
		Example: `  patra events replay --from 2025-03-01 --reason lost-its-disk
  patra events replay --from 00000000000000004711 --source crossref --reason new-receiver --dry-run`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			in, err := replayFrom(from, time.Now())
			if err != nil {
				return err
			}
			if a.Reason == "" {
				return term.Usagef("--reason is needed: whoever finds this later will ask for it")
			}
			in.Source = source
			return e.ReadSource(cmd.Context(), source, func(app *daemon.App) error {
				done, err := app.Events.Replay(cmd.Context(), in, a.Act())
				if err != nil {
					return err
				}
				if err := term.PrintFacts(e, done, []term.Fact{{"put back", wording.Count(done.Events, "event")}, {"from", in.String()}, {"first", done.First}}); err != nil {
					return err
				}
				e.HintDryRun(a.Dry)
				if !a.Dry && done.Events > 0 {
					e.Hint("a process that serves with the role relay publishes them, or `patra events publish`")
				}
				return nil
			})
		},
	}
	c.Flags().StringVar(&from, "from", "", "time (RFC 3339, a date, -7d) or sequence of the first event")
	c.Flags().StringVar(&source, "source", "", "only of this source")
	a.Flags(c)
	return c
}

// replayFrom reads a time or a sequence; a sequence has only digits.
func replayFrom(text string, now time.Time) (in event.Replay, err error) {
	if text == "" {
		return in, term.Usagef("--from is needed: a time such as 2025-03-01, or the sequence of an event")
	}
	if row, err := strconv.ParseInt(text, 10, 64); err == nil && row > 0 {
		in.FromRow = row
		return in, nil
	}
	at, err := term.ParseTime("from", text, now)
	if err == nil {
		in.Since = *at
	}
	return in, err
}
