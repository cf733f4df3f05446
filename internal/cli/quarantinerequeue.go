package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/daemon"
	"github.com/patra-ingest/patra/internal/engine/inspect"
)

func newQuarantineRequeue(e *env) *cobra.Command {
	var p choosing
	var settings work
	var ask bool
	r := &request{env: e, operation: string(ingest.Update)}
	c := &cobra.Command{
		Use:   "requeue [SRC] [ID…]",
		Short: "Read rejected items again with the source file of today, and store what is good now",
		Long: `Put rejected items back, by their numbers or all of a source that fit, and read them
again under the source file of today: from the answer they came in if that is kept,
else from the item itself. Nobody is asked. What can be had from neither is asked for
by id, if the source has an endpoint for that (details.endpoint); with --ask all are.

What is good now is stored like any other record, with one event each, unless a newer
version is stored already. What is rejected again is open again, with the reason of
today. Items that are settled or discarded are left as they are, so saying it twice
changes nothing. Ctrl-C is safe: say it again.

Exit code 3: some items are still in quarantine.`,
		Example: `  patra quarantine requeue crossref --all --reason mapping-mended
  patra quarantine requeue crossref --code MISSING_FIELD --path $.title --dry-run
  patra quarantine requeue 17 18`,
		RunE: func(cmd *cobra.Command, args []string) error {
			pick, err := p.pick(args)
			if err != nil {
				return err
			}
			if p.dry {
				return e.listing(cmd.Context(), sourceFilter(pick.Dataset.Source), func(app *daemon.App) error {
					return e.rehearseRequeue(cmd.Context(), app, p, pick)
				})
			}
			return e.requeue(cmd.Context(), p, pick, ask, r, settings)
		},
	}
	p.flags(c)
	settings.flags(c)
	c.Flags().BoolVar(&ask, "ask", false, "ask the upstream also for items that are kept, because it was fixed there")
	c.Flags().StringArrayVar(&r.set, "set", nil, "override a setting for this run, such as rate.perSecond=1")
	return c
}

// requeued is what a requeue did.
type requeued struct {
	ingest.RejectsDone
	Plans  []int64         `json:"plans"`
	Slices map[string]int  `json:"slices"`
	Stats  ingest.RunStats `json:"stats"`
	DryRun bool            `json:"dryRun"`
}

func (e *env) rehearseRequeue(ctx context.Context, app *daemon.App, p choosing, pick ingest.RejectPick) error {
	if pick.Named() {
		if _, err := byDataset(ctx, app, pick); err != nil { // of the source that was named with them
			return err
		}
	}
	done, err := app.Quarantine.Requeue(ctx, pick, p.act())
	if err != nil {
		return err
	}
	err = show(e, rejectsDone{done, true}, []fact{{"put back", counted(done.Changed, "item")}, {"left as they are", counted(done.Unchanged, "item")}})
	e.afterDry(true)
	return err
}

func (e *env) requeue(ctx context.Context, p choosing, pick ingest.RejectPick, ask bool, r *request, settings work) error {
	config := daemon.Config{Database: e.database, Installed: e.installed, Log: e.logger(), Warn: e.warnOnce, MustExist: true}
	if err := settings.apply(&config); err != nil {
		return err
	}
	app, err := daemon.Open(ctx, config)
	if err != nil {
		return missingStore(err)
	}
	defer app.Close()
	e.notice(app)
	if source := pick.Dataset.Source; source != "" {
		if _, _, err := app.Source(ctx, source); err != nil {
			return err
		}
	}
	picks, err := byDataset(ctx, app, pick)
	if err != nil {
		return err
	}
	total := requeued{Slices: map[string]int{}, Plans: []int64{}}
	with := make([]reading, len(picks))
	for i, of := range picks { // all or none: nobody shall have to find out what was done before an error
		if with[i], err = r.readingOf(ctx, app, of.Dataset); err != nil {
			return fmt.Errorf("%w; items of %s/%s cannot be put back: choose others by their numbers or --endpoint", err, of.Dataset.Source, of.Dataset.Endpoint)
		}
	}
	for i, of := range picks {
		if err := e.requeueOf(ctx, app, p, of, ask, with[i], &total); err != nil {
			return err
		}
	}
	return e.showRequeued(total, pick, p)
}

// reading is what the items of a dataset are read with.
type reading struct {
	at       parsed
	compiled *spec.Compiled
}

func (r *request) readingOf(ctx context.Context, app *daemon.App, d ingest.Dataset) (out reading, err error) {
	of := *r
	of.endpoint = d.Endpoint
	if out.at, err = of.parseAt(ctx, app); err == nil {
		out.compiled, err = of.compile(ctx, app, d.Source, out.at)
	}
	return out, err
}

// requeueOf reads the items of one dataset again.
func (e *env) requeueOf(ctx context.Context, app *daemon.App, p choosing, pick ingest.RejectPick, ask bool, with reading, total *requeued) error {
	worked := false
	s, err := e.harvestWith(ctx, app, with.compiled, func(watch daemon.Watch) (h daemon.Harvested, err error) {
		done, h, err := app.Requeue(ctx, with.compiled, pick, p.act(), ask, daemon.NewRequest(with.at.now, nil, nil), watch)
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

func (e *env) showRequeued(d requeued, pick ingest.RejectPick, p choosing) error {
	t, left := d.Stats, d.Stats.Refresh.Left
	if len(d.Plans) == 0 && e.output != "json" {
		_, err := fmt.Fprintf(e.out, "nothing to do: no item that was chosen is open\n")
		return err
	}
	if err := show(e, d, []fact{
		{"put back", counted(d.Changed, "item")},
		{"fixed", fmt.Sprintf("%d read again without a request, %d asked for", t.Refresh.Remapped, t.Refresh.Checked)},
		{"records", fmt.Sprintf("%d new, %d updated, %d unchanged, %d older than what is stored", t.Inserted, t.Updated, t.Unchanged, t.Stale)},
		{"still quarantined", fmt.Sprintf("%d rejected again, %d unreadable", t.Quarantined, left)},
	}); err != nil {
		return err
	}
	switch failed := d.Slices[string(ingest.SliceFailed)] + (inspect.Result{Slices: d.Slices}).Unfinished(); {
	case failed > 0:
		return partial("%s not done: `patra task list --status FAILED` tells why; the items wait, say it again", countedAre(failed, "slice"))
	case t.Quarantined+left > 0:
		source := pick.Dataset.Source
		if source == "" {
			return partial("%s still in quarantine: `patra quarantine groups` shows why", counted(t.Quarantined+left, "item"))
		}
		return partial("%s still in quarantine: `patra quarantine groups %s` shows why; correct the source file and say again: patra quarantine requeue %s",
			counted(t.Quarantined+left, "item"), source, chosenBy(source, p))
	}
	return nil
}
