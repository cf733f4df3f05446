package quarantine

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/cli/work"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
	"github.com/patra-ingest/patra/internal/engine/inspect"
)

func newQuarantineRequeue(e *term.Env) *cobra.Command {
	var p choosing
	var settings work.Settings
	var ask bool
	r := &work.Request{Env: e, Operation: string(ingest.Update)}
	c := &cobra.Command{
		Use:   "requeue [SRC] [ID…]",
		Short: "Read rejected items again with the source file of today, and store what is good now",
		Long: `Read rejected items again with the source file as it is today: items named by their
numbers, or all items of a source that match the filters. They are read from the
answer they came in if that is kept, else from the item itself, without a request. An
item that can be read from neither is asked for by id, if the source has an endpoint
for that (details.endpoint); with --ask all of them are.

Items that are good now are stored like any other record, with one event each, unless
a newer version is stored already. Items that are rejected again are open again, with
the reason of today. Items that are settled or discarded are left as they are, so
running it twice changes nothing. Ctrl-C is safe: run it again.

Exit code 3: some items are still in quarantine.`,
		Example: `  patra quarantine requeue crossref --all --reason mapping-fixed
  patra quarantine requeue crossref --code MISSING_FIELD --path $.title --dry-run
  patra quarantine requeue 17 18`,
		RunE: func(cmd *cobra.Command, args []string) error {
			pick, err := p.parsePick(args)
			if err != nil {
				return err
			}
			if p.Dry {
				return e.ReadSource(cmd.Context(), pick.Dataset.Source, func(app *daemon.App) error {
					return rehearseRequeue(cmd.Context(), e, app, p, pick)
				})
			}
			return runRequeue(cmd.Context(), e, p, pick, ask, r, settings)
		},
	}
	p.flags(c)
	settings.Flags(c)
	c.Flags().BoolVar(&ask, "ask", false, "also ask the upstream for items whose answer is kept, because they were fixed there")
	c.Flags().StringArrayVar(&r.Set, "set", nil, "override a setting for this run, such as rate.perSecond=1")
	return c
}

// Requeued is what a requeue did.
type Requeued struct {
	ingest.RejectsDone
	Plans  []int64         `json:"plans"`
	Slices map[string]int  `json:"slices"`
	Stats  ingest.RunStats `json:"stats"`
	DryRun bool            `json:"dryRun"`
}

func rehearseRequeue(ctx context.Context, e *term.Env, app *daemon.App, p choosing, pick ingest.RejectPick) error {
	if pick.Named() {
		if _, err := byDataset(ctx, app, pick); err != nil { // of the source that was named with them
			return err
		}
	}
	done, err := app.Quarantine.Requeue(ctx, pick, p.Act())
	if err != nil {
		return err
	}
	err = term.PrintFacts(e, rejectsDone{done, true}, []term.Fact{{"put back", wording.Count(done.Changed, "item")}, {"left as they are", wording.Count(done.Unchanged, "item")}})
	e.HintDryRun(true)
	return err
}

func runRequeue(ctx context.Context, e *term.Env, p choosing, pick ingest.RejectPick, ask bool, r *work.Request, settings work.Settings) error {
	config := daemon.Config{Database: e.Database, Installed: e.Installed, Log: e.Logger(), Warn: e.WarnOnce, MustExist: true}
	if err := settings.Apply(&config); err != nil {
		return err
	}
	defer config.TraceTo(ctx, term.Version)()
	app, err := daemon.Open(ctx, config)
	if err != nil {
		return work.MissingStore(err)
	}
	defer app.Close()
	work.HintNewAndRaw(e, app)
	if source := pick.Dataset.Source; source != "" {
		if _, _, err := app.Source(ctx, source); err != nil {
			return err
		}
	}
	picks, err := byDataset(ctx, app, pick)
	if err != nil {
		return err
	}
	total := Requeued{Slices: map[string]int{}, Plans: []int64{}}
	with := make([]work.Reading, len(picks))
	for i, of := range picks { // all or none: nobody shall have to find out what was done before an error
		if with[i], err = r.ReadingOf(ctx, app, of.Dataset); err != nil {
			return fmt.Errorf("%w; items of %s/%s cannot be put back: choose others by their numbers or --endpoint", err, of.Dataset.Source, of.Dataset.Endpoint)
		}
	}
	for i, of := range picks {
		if err := requeueOf(ctx, e, app, p, of, ask, with[i], &total); err != nil {
			return err
		}
	}
	return showRequeued(e, total, pick, p)
}

// requeueOf reads the items of one dataset again.
func requeueOf(ctx context.Context, e *term.Env, app *daemon.App, p choosing, pick ingest.RejectPick, ask bool, with work.Reading, total *Requeued) error {
	worked := false
	s, err := work.Run(ctx, e, app, with.Compiled, func(watch daemon.Watch) (h daemon.Harvested, err error) {
		done, h, err := app.Requeue(ctx, with.Compiled, pick, p.Act(), ask, daemon.NewRequest(with.At.Now, nil, nil), watch)
		total.RejectsDone = total.Add(done)
		worked = h.Draft != nil && !h.Draft.Empty
		return h, err
	})
	if err != nil {
		return err
	}
	for status, n := range s.Slices {
		total.Slices[status] += n
	}
	total.Stats, total.Plans = total.Stats.Add(s.Stats), append(total.Plans, s.Continued...)
	if worked {
		total.Plans = append(total.Plans, s.PlanID)
	}
	return nil
}

func showRequeued(e *term.Env, d Requeued, pick ingest.RejectPick, p choosing) error {
	t, left := d.Stats, d.Stats.Refresh.Left
	if len(d.Plans) == 0 && e.Output != "json" {
		_, err := fmt.Fprintf(e.Out, "nothing to do: no item that was chosen is open\n")
		return err
	}
	if err := term.PrintFacts(e, d, []term.Fact{
		{"put back", wording.Count(d.Changed, "item")},
		{"fixed", fmt.Sprintf("%d read again without a request, %d asked for", t.Refresh.Remapped, t.Refresh.Checked)},
		{"records", fmt.Sprintf("%d new, %d updated, %d unchanged, %d older than what is stored", t.Inserted, t.Updated, t.Unchanged, t.Stale)},
		{"still quarantined", fmt.Sprintf("%d rejected again, %d unreadable", t.Quarantined, left)},
	}); err != nil {
		return err
	}
	switch failed := d.Slices[string(ingest.SliceFailed)] + (inspect.Result{Slices: d.Slices}).Unfinished(); {
	case failed > 0:
		return term.Partialf("%s not done: `patra task list --status FAILED` tells why; the items wait: run this command again", wording.CountAre(failed, "slice"))
	case t.Quarantined+left > 0:
		source := pick.Dataset.Source
		if source == "" {
			return term.Partialf("%s still in quarantine: `patra quarantine groups` shows why", wording.Count(t.Quarantined+left, "item"))
		}
		return term.Partialf("%s still in quarantine: `patra quarantine groups %s` shows why; correct the source file, apply it and run again: patra quarantine requeue %s",
			wording.Count(t.Quarantined+left, "item"), source, chosenBy(source, p))
	}
	return nil
}
