package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/daemon"
)

func newCoverageWaive(e *env) *cobra.Command {
	var a agreeing
	var s stretch
	c := &cobra.Command{
		Use:   "waive SRC[/ENDPOINT]",
		Short: "Accept that a stretch of time is not read; it stays visible as waived",
		Long: `Accept that a stretch of time is not read, as an event of the ledger with your
name and reason. What of it is done already stays as it is. The rest no longer
holds up the watermark, is no gap any more, and is drawn as waived from then on.
A later plan that wants it again, by its lookback for instance, opens it again.
A window of a backfill campaign is waived with ` + "`patra backfill waive`" + `.

The change is shown first. On a terminal you are asked; elsewhere add --yes.`,
		Example: `  patra coverage waive crossref --from 2025-03-03 --to 2025-03-04 --reason lost-there --dry-run
  patra coverage waive crossref/works --from 2025-03-03 --to 2025-03-04 --reason lost --yes`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			within, err := s.waived(a)
			if err != nil {
				return err
			}
			return e.ledger(cmd.Context(), func(app *daemon.App) error { return e.waive(cmd.Context(), app, args[0], within, a) })
		},
	}
	s.flags(c, "none", "none")
	a.flags(c)
	return c
}

func (e *env) waive(ctx context.Context, app *daemon.App, name string, within window.Window, a agreeing) error {
	b, err := e.oneBook(ctx, app, name)
	if err != nil {
		return err
	}
	do := func(dry bool) (view.Waived, error) {
		by := a.act()
		by.Rehearsal = dry
		return app.Cursors.Waive(ctx, b.cursor.ID, within, by)
	}
	return agree(e, a, do, func(d view.Waived) bool { return len(d.Waived) > 0 }, func(d view.Waived) error {
		return show(e, d, []fact{
			{"cursor", fmt.Sprintf("%d: %s %s by %s", b.cursor.ID, b.source, b.endpoint, b.field)},
			{"asked to waive", brief(d.Window)},
			{"waived", stretches(ingest.CursorTime, d.Waived)},
			{"watermark", dash(d.Before) + " → " + dash(d.After)},
		})
	})
}

// oneBook is the harvest of a source that was named, or of one of its endpoints.
func (e *env) oneBook(ctx context.Context, app *daemon.App, name string) (book, error) {
	code, endpoint, _ := strings.Cut(name, "/")
	src, _, err := app.Source(ctx, code)
	if err != nil {
		return book{}, err
	}
	books, err := e.books(ctx, app, src)
	if err != nil {
		return book{}, err
	}
	var found []book
	for _, b := range books {
		if b.known() && (endpoint == "" || b.endpoint == endpoint) {
			found = append(found, b)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return book{}, notFound("%s was never harvested here as the source asks now: there is no watermark to act on", name)
	}
	return book{}, usagef("%s has several watermarks: name one of its endpoints, as in %s/%s", name, code, found[0].endpoint)
}
