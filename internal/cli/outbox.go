package cli

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/core/event"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/daemon"
)

func newOutbox(e *env) *cobra.Command {
	return group("outbox", "Look at events that are not delivered, and see to those that failed",
		newOutboxList(e), newOutboxShow(e), newOutboxRetry(e), newOutboxDiscard(e))
}

func newOutboxList(e *env) *cobra.Command {
	f := &filter{statuses: statusTexts(event.Pending, event.Failed, event.Dead, event.Published, event.Skipped)}
	c := &cobra.Command{
		Use:   "list",
		Short: "List events that are not delivered, newest first",
		Long: `List events that are not delivered, newest first, or those of one status.

  PENDING    waits for a relay
  FAILED     its receiver refused it, or an older event of its record is not
             delivered (BEHIND); it is tried again by itself
  DEAD       was refused too often: see to its receiver, then retry or discard it.
             Later events of its record wait behind it
  PUBLISHED  delivered
  SKIPPED    nobody is declared to get it, or it was discarded`,
		Example: `  patra outbox list
  patra outbox list --status DEAD --source crossref
  patra outbox list --status PUBLISHED --limit 5 -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			statuses := []event.Status{event.Pending, event.Failed, event.Dead}
			if f.Status != "" {
				statuses = []event.Status{event.Status(f.Status)}
			}
			return e.listing(cmd.Context(), f, func(app *daemon.App) error {
				rows, err := app.Events.List(cmd.Context(), f.ahead(), statuses...)
				if err != nil {
					return err
				}
				return listPage(e, page(e, "events", rows, f.Limit, func(v view.Outgoing) int64 { return v.ID }), outgoingColumns())
			})
		},
	}
	f.flags(c)
	return c
}

func outgoingColumns() columns[view.Outgoing] {
	return newColumns([]string{"id", "stored", "source", "what", "record", "version", "status", "tries", "error"}, func(v view.Outgoing) []any {
		return []any{v.ID, v.StoredAt, short(v.Source, 14), v.Op, short(printable(v.RecordID), 30), v.Version, v.Status, v.Attempts, dash(v.ErrorCode)}
	})
}

// outgoingDetail is an event with what a receiver gets.
type outgoingDetail struct {
	view.Outgoing
	Envelope json.RawMessage `json:"envelope,omitempty"`
}

func newOutboxShow(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "Show one event with its last error; with -o json as its receiver gets it",
		Example: `  patra outbox show 17
  patra outbox show 17 -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := parseID("outbox", args[0])
			if err != nil {
				return err
			}
			return e.ledger(cmd.Context(), func(app *daemon.App) error { return e.showOutgoing(cmd.Context(), app, id) })
		},
	}
}

func (e *env) showOutgoing(ctx context.Context, app *daemon.App, id int64) error {
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
	if err := show(e, detail, []fact{
		{"id", v.ID},
		{"event", v.Event},
		{"source", v.Source + " " + v.Endpoint},
		{"what", v.Op},
		{"record", printable(v.RecordID)},
		{"version", v.Version},
		{"status", v.Status},
		{"stored", v.StoredAt},
		{"published", v.PublishedAt},
		{"tries", v.Attempts},
		{"next try", v.NextTryAt},
		{"last error", wrapped(failure(v.ErrorCode, v.Error))},
		{"batch", v.BatchID},
	}); err != nil {
		return err
	}
	if v.Status == string(event.Dead) {
		e.hint("to try it again: patra outbox retry %d", v.ID)
	}
	return nil
}

// picked are the flags that choose events.
type picked struct {
	acting
	source string
	yes    bool
}

func (p *picked) flags(c *cobra.Command) {
	p.acting.flags(c)
	c.Flags().StringVar(&p.source, "source", "", "all dead ones of this source")
	c.Flags().BoolVar(&p.yes, "yes", false, "do it to all that --source chooses")
}

func (p picked) pick(args []string) (pick event.Pick, err error) {
	if (len(args) > 0) == (p.source != "") {
		return pick, usagef("name events by their ids, or all dead ones of a --source")
	}
	pick.Source = p.source
	for _, arg := range args {
		id, err := parseID("outbox", arg)
		if err != nil {
			return pick, err
		}
		pick.IDs = append(pick.IDs, id)
	}
	return pick, nil
}

// actOn does something to events, or tells what it would do.
func (e *env) actOn(ctx context.Context, p picked, args []string, verb string, do func(*daemon.App, event.Pick, ingest.Act) (event.Done, error)) error {
	pick, err := p.pick(args)
	if err != nil {
		return err
	}
	f := &filter{}
	f.Source = p.source
	return e.listing(ctx, f, func(app *daemon.App) error {
		act := p.act()
		unsure := !pick.Named() && !p.yes && !p.dry
		act.Rehearsal = p.dry || unsure
		done, err := do(app, pick, act)
		if err != nil {
			return err
		}
		if err := show(e, done, []fact{{verb, counted(done.Changed, "event")}, {"left as they are", counted(done.Unchanged, "event")}}); err != nil {
			return err
		}
		if unsure && done.Changed > 0 {
			return usagef("%s or more would be changed: add --yes to do it, or --dry-run to only look", counted(done.Changed, "event"))
		}
		e.afterDry(p.dry)
		return nil
	})
}

func newOutboxRetry(e *env) *cobra.Command {
	var p picked
	c := &cobra.Command{
		Use:   "retry [ID…]",
		Short: "Try events again that failed or are dead",
		Long: `Let events be tried again, by their ids or all dead ones of a source, with all their
attempts anew. Events of the same record that wait behind them follow in their order.
One that is delivered or waits anyway is left as it is; an unknown one ends with exit
code 5 and nothing is changed.`,
		Example: `  patra outbox retry 17 18 --reason receiver-fixed
  patra outbox retry --source crossref --dry-run
  patra outbox retry --source crossref --yes --reason receiver-fixed`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return e.actOn(cmd.Context(), p, args, "tried again", func(app *daemon.App, pick event.Pick, by ingest.Act) (event.Done, error) {
				return app.Events.Retry(cmd.Context(), pick, by)
			})
		},
	}
	p.flags(c)
	return c
}

func newOutboxDiscard(e *env) *cobra.Command {
	var p picked
	c := &cobra.Command{
		Use:   "discard [ID…]",
		Short: "Give events up that failed or are dead: nobody gets them",
		Long: `Give events up, by their ids or all dead ones of a source. Nobody gets them, and
events of the same record that wait behind them go on. A reason is needed. To take it
back: patra events replay --from ID.`,
		Example: `  patra outbox discard 17 --reason has-it-by-hand
  patra outbox discard --source crossref --yes --reason receiver-is-gone`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if p.reason == "" {
				return usagef("--reason is needed: whoever finds this later will ask for it")
			}
			return e.actOn(cmd.Context(), p, args, "given up", func(app *daemon.App, pick event.Pick, by ingest.Act) (event.Done, error) {
				return app.Events.Discard(cmd.Context(), pick, by)
			})
		},
	}
	p.flags(c)
	return c
}
