package source

import (
	"context"
	"strings"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/daemon"
)

// nameShared adds to each applied file who shares a rate with it.
func nameShared(ctx context.Context, app *daemon.App, files []view.CheckedFile, rows []Applied) (err error) {
	for i := range min(len(files), len(rows)) {
		if app == nil || len(files[i].Parsed.RateGroups()) == 0 {
			continue
		}
		if rows[i].SharesRate, err = app.SharedRates(ctx, files[i].Parsed); err != nil {
			return err
		}
	}
	return nil
}

// hintShared says whose rate a file has a say in, and who has a say in its own.
func hintShared(e *term.Env, r Applied) {
	for _, s := range r.SharesRate {
		if len(s.With) == 0 {
			e.Hint("%s: no other source names the rate group %s", r.Source, s.Group)
			continue
		}
		e.Hint("%s: shares the rate group %s with %s: the lowest rate and quota that one of them declares counts for all (`patra rate show %s`)",
			r.Source, s.Group, strings.Join(s.With, ", "), s.Group)
	}
}
