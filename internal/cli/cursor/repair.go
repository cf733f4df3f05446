package cursor

import (
	"context"
	"fmt"
	"strings"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

// repairCursors sets watermarks to what their ledger gives, after showing what that
// is. A ledger that contradicts itself is not rewritten: it stays a finding.
func repairCursors(ctx context.Context, e *term.Env, app *daemon.App, only int64, a term.Confirming) error {
	if err := a.CheckReason(); err != nil {
		return err
	}
	ids, err := cursorIDs(ctx, e, app, only)
	if err != nil {
		return err
	}
	do := func(dry bool) (out []view.Repair, err error) {
		by := a.Act()
		by.Rehearsal = dry
		for _, id := range ids {
			done, err := app.Cursors.Repair(ctx, id, by)
			if err != nil {
				return out, fmt.Errorf("cursor %d: %w", id, err)
			}
			out = append(out, done)
		}
		return out, nil
	}
	changes := func(all []view.Repair) bool {
		for _, r := range all {
			if r.Changed {
				return true
			}
		}
		return false
	}
	err = term.RehearseAndDo(e, a, do, changes, func(all []view.Repair) error {
		for _, r := range all {
			for _, p := range r.Problems {
				e.Hint("cursor %d: %s", r.Cursor.ID, p)
			}
		}
		return term.PrintList(e, all, repairColumns())
	})
	if err != nil || a.Dry {
		return err
	}
	return stillWrong(ctx, e, app, ids)
}

func stillWrong(ctx context.Context, e *term.Env, app *daemon.App, ids []int64) error {
	var problems []string
	for _, id := range ids {
		v, err := app.Cursors.Verify(ctx, id)
		if err != nil {
			return fmt.Errorf("cursor %d: %w", id, err)
		}
		for _, p := range v.Problems {
			problems = append(problems, fmt.Sprintf("cursor %d: %s", id, p))
		}
	}
	if len(problems) > 0 {
		return term.Findingsf("%d findings are left, in the ledger itself, which is never rewritten:\n%s", len(problems), strings.Join(problems, "\n"))
	}
	return nil
}

func repairColumns() term.Columns[view.Repair] {
	return term.NewColumns([]string{"cursor", "source", "operation", "stored", "by its ledger", "findings"}, func(r view.Repair) []any {
		after := r.After
		if !r.Changed {
			after = r.Cursor.Value
		}
		return []any{r.Cursor.ID, wording.Shorten(r.Cursor.Source, 14), r.Cursor.Operation, wording.OrDash(r.Cursor.Value), wording.OrDash(after), len(r.Problems)}
	})
}
