package data

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

// usualSince is how far back changes are listed without --since.
const usualSince = "-24h"

func newDataChanges(e *term.Env) *cobra.Command {
	var since, until string
	var after int64
	var limit int
	c := &cobra.Command{
		Use:   "changes SRC[/ENDPOINT]",
		Short: "List versions in the order in which they were stored",
		Long: `List versions of records without their content, in the order in which they were
stored: what came new, what changed, what is gone. --since is about the time of
storing, not about a date of the upstream. --after continues after a position.

To get the content too, use patra data export --since.`,
		Example: `  patra data changes crossref
  patra data changes crossref --since -7d --limit 500 -o json
  patra data changes crossref/works --since 2025-03-01 --until 2025-03-02`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := term.CheckLimit(limit); err != nil {
				return err
			}
			q, err := wantedChanges(since, until, after, limit)
			if err != nil {
				return err
			}
			return readDataset(cmd.Context(), e, args[0], func(app *daemon.App, d view.Dataset) error {
				rows, err := collectChanges(cmd.Context(), app, d, q)
				if err != nil {
					return err
				}
				return term.PrintPage(e, term.PageAfter(e, "versions", rows, limit, func(c view.Change) string { return strconv.FormatInt(c.Body, 10) }), changeColumns())
			})
		},
	}
	c.Flags().StringVar(&since, "since", "", "stored from then on: RFC 3339, a date, or -7d (default "+usualSince+")")
	c.Flags().StringVar(&until, "until", "", "stored before then (default now)")
	c.Flags().Int64Var(&after, "after", 0, "continue after this position")
	term.LimitFlag(c, &limit, "how many to list")
	return c
}

func changeColumns() term.Columns[view.Change] {
	return term.NewColumns([]string{"position", "stored", "id", "version", "state", "updated", "batch"}, func(c view.Change) []any {
		return []any{c.Body, c.StoredAt, wording.Shorten(term.Printable(c.ID), 40), c.Version, wording.OrDash(c.State), c.UpdatedAt, c.BatchID}
	})
}

func wantedChanges(since, until string, after int64, limit int) (q view.Changes, err error) {
	if after < 0 {
		return q, term.Usagef("--after %d: expected a position of this list, a whole number from 1", after)
	}
	if since == "" && after == 0 {
		since = usualSince
	}
	now := time.Now()
	from, err := term.ParseTime("since", since, now)
	if err != nil {
		return q, err
	}
	to, err := term.ParseTime("until", until, now)
	if err != nil {
		return q, err
	}
	q = view.Changes{Behind: after, Limit: limit + 1}
	if from != nil {
		q.Since = *from
	}
	if to != nil {
		q.Until = *to
	}
	if from != nil && to != nil && !from.Before(*to) {
		return q, term.Usagef("--since %s --until %s: since must lie before until", since, until)
	}
	return q, nil
}

// collectChanges reads pages, which may be short or empty, until there are enough rows.
func collectChanges(ctx context.Context, app *daemon.App, d view.Dataset, q view.Changes) (rows []view.Change, err error) {
	for most := q.Limit; len(rows) < most; {
		q.Limit = most - len(rows)
		page, next, err := app.Records.ListChanges(ctx, d, q)
		if err != nil {
			return nil, err
		}
		rows = append(rows, page...)
		if next == 0 {
			break
		}
		q.Behind = next
	}
	return rows, nil
}
