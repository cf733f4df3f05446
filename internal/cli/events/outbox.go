package events

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/event"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

func NewOutbox(e *term.Env) *cobra.Command {
	return term.NewGroup("outbox", "Look at events that are not delivered, and retry or discard those that failed",
		newOutboxList(e), newOutboxShow(e), newOutboxRetry(e), newOutboxDiscard(e))
}

func newOutboxList(e *term.Env) *cobra.Command {
	l := term.Lister[view.Outgoing]{
		Noun: "events", Statuses: term.StatusTexts(event.Pending, event.Failed, event.Dead, event.Published, event.Skipped),
		Columns: outgoingColumns(),
		ID:      func(v view.Outgoing) int64 { return v.ID },
		Read: func(ctx context.Context, app *daemon.App, f view.Filter) ([]view.Outgoing, error) {
			if f.Status != "" {
				return app.Events.List(ctx, f, event.Status(f.Status))
			}
			return app.Events.List(ctx, f, event.Pending, event.Failed, event.Dead)
		},
	}
	c, _ := l.Command(e, &cobra.Command{
		Use:   "list",
		Short: "List events that are not delivered, newest first",
		Long: `List events that are not delivered, newest first, or those of one status.

  PENDING    waits for a relay
  FAILED     its receiver refused it, or an older event of its record is not
             delivered (BEHIND); it is tried again automatically
  DEAD       was refused too often: fix its receiver, then retry or discard it.
             Later events of its record wait behind it
  PUBLISHED  delivered
  SKIPPED    no destination is declared for it, or it was discarded`,
		Example: `  patra outbox list
  patra outbox list --status DEAD --source crossref
  patra outbox list --status PUBLISHED --limit 5 -o json`,
	})
	return c
}

func outgoingColumns() term.Columns[view.Outgoing] {
	return term.NewColumns([]string{"id", "stored", "source", "what", "record", "version", "status", "tries", "error"}, func(v view.Outgoing) []any {
		return []any{v.ID, v.StoredAt, wording.Shorten(v.Source, 14), v.Op, wording.Shorten(term.Printable(v.RecordID), 30), v.Version, v.Status, v.Attempts, wording.OrDash(v.ErrorCode)}
	})
}

// outgoingDetail is an event with what a receiver gets.
type outgoingDetail struct {
	view.Outgoing
	Envelope json.RawMessage `json:"envelope,omitempty"`
}

func newOutboxShow(e *term.Env) *cobra.Command {
	return term.NewShow(e, "outbox", &cobra.Command{
		Short: "Show one event with its last error; with -o json as its receiver gets it",
		Example: `  patra outbox show 17
  patra outbox show 17 -o json`,
	}, func(ctx context.Context, app *daemon.App, id int64) error { return showOutgoing(ctx, e, app, id) })
}

func showOutgoing(ctx context.Context, e *term.Env, app *daemon.App, id int64) error {
	v, err := app.Events.Show(ctx, id)
	if err != nil {
		return err
	}
	detail := outgoingDetail{Outgoing: v}
	changes, err := app.Events.ReadRows(ctx, []int64{id}, 0, &event.Room{})
	if err != nil {
		return err
	}
	if len(changes) == 1 && !changes[0].NoBody {
		sealed, err := event.Seal(changes[0], event.Form{})
		if err != nil {
			return err
		}
		detail.Envelope = sealed.Bytes
	}
	if err := term.PrintFacts(e, detail, []term.Fact{
		{"id", v.ID},
		{"event", v.Event},
		{"source", v.Source + " " + v.Endpoint},
		{"what", v.Op},
		{"record", term.Printable(v.RecordID)},
		{"version", v.Version},
		{"status", v.Status},
		{"stored", v.StoredAt},
		{"published", v.PublishedAt},
		{"tries", v.Attempts},
		{"next try", v.NextTryAt},
		{"last error", term.Wrap(wording.FailureText(v.ErrorCode, v.Error))},
		{"batch", v.BatchID},
	}); err != nil {
		return err
	}
	if v.Status == string(event.Dead) {
		e.Hint("to try it again: patra outbox retry %d", v.ID)
	}
	return nil
}

// picked are the flags that choose events.
type picked struct {
	term.Acting
	source string
	yes    bool
}

func (p *picked) addFlags(c *cobra.Command) {
	p.Acting.Flags(c)
	c.Flags().StringVar(&p.source, "source", "", "all dead ones of this source")
	c.Flags().BoolVar(&p.yes, "yes", false, "do it to all that --source chooses")
}

func (p picked) parsePick(args []string) (pick event.Pick, err error) {
	if (len(args) > 0) == (p.source != "") {
		return pick, term.Usagef("name events by their ids, or choose all dead ones of a source with --source")
	}
	pick.Source = p.source
	for _, arg := range args {
		id, err := term.ParseID("outbox", arg)
		if err != nil {
			return pick, err
		}
		pick.IDs = append(pick.IDs, id)
	}
	return pick, nil
}

// actOn does something to events, or tells what it would do.
func actOn(ctx context.Context, e *term.Env, p picked, args []string, verb string, do func(*daemon.App, event.Pick, ingest.Act) (event.Done, error)) error {
	pick, err := p.parsePick(args)
	if err != nil {
		return err
	}
	return e.ReadSource(ctx, p.source, func(app *daemon.App) error {
		act := p.Act()
		unsure := !pick.Named() && !p.yes && !p.Dry
		act.Rehearsal = p.Dry || unsure
		done, err := do(app, pick, act)
		if err != nil {
			return err
		}
		if err := term.PrintFacts(e, done, []term.Fact{{verb, wording.Count(done.Changed, "event")}, {"left as they are", wording.Count(done.Unchanged, "event")}}); err != nil {
			return err
		}
		if unsure && done.Changed > 0 {
			return term.Usagef("%s or more would be changed: add --yes to do it, or --dry-run to only look", wording.Count(done.Changed, "event"))
		}
		e.HintDryRun(p.Dry)
		return nil
	})
}

func newOutboxRetry(e *term.Env) *cobra.Command {
	var p picked
	c := &cobra.Command{
		Use:   "retry [ID…]",
		Short: "Try events again that failed or are dead",
		Long: `Let events be tried again: those with the given ids, or all dead ones of a source.
Each gets its full number of attempts again. Events of the same record that wait
behind them follow in their order. An event that is delivered or waits anyway is left
as it is. If an id is unknown, nothing is changed and the exit code is 5.`,
		Example: `  patra outbox retry 17 18 --reason receiver-fixed
  patra outbox retry --source crossref --dry-run
  patra outbox retry --source crossref --yes --reason receiver-fixed`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return actOn(cmd.Context(), e, p, args, "tried again", func(app *daemon.App, pick event.Pick, by ingest.Act) (event.Done, error) {
				return app.Events.Retry(cmd.Context(), pick, by)
			})
		},
	}
	p.addFlags(c)
	return c
}

func newOutboxDiscard(e *term.Env) *cobra.Command {
	var p picked
	c := &cobra.Command{
		Use:   "discard [ID…]",
		Short: "Give up events that failed or are dead: they are not delivered",
		Long: `Give up events by their ids, or all dead ones of a source. They are not delivered,
and events of the same record that wait behind them go on. A reason is needed. To
take it back: patra events replay --from ID.`,
		Example: `  patra outbox discard 17 --reason has-it-by-hand
  patra outbox discard --source crossref --yes --reason receiver-is-gone`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if p.Reason == "" {
				return term.Usagef("--reason is needed: whoever finds this later will ask for it")
			}
			return actOn(cmd.Context(), e, p, args, "given up", func(app *daemon.App, pick event.Pick, by ingest.Act) (event.Done, error) {
				return app.Events.Discard(cmd.Context(), pick, by)
			})
		},
	}
	p.addFlags(c)
	return c
}
