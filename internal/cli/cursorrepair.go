package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/daemon"
)

// repairCursors makes watermarks what their ledger gives, after showing what that
// is. A ledger that contradicts itself is not rewritten: it stays a finding.
func (e *env) repairCursors(ctx context.Context, app *daemon.App, only int64, a agreeing) error {
	if err := a.signed(); err != nil {
		return err
	}
	ids, err := e.cursorIDs(ctx, app, only)
	if err != nil {
		return err
	}
	do := func(dry bool) (out []view.Repair, err error) {
		by := a.act()
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
	err = agree(e, a, do, changes, func(all []view.Repair) error {
		for _, r := range all {
			for _, p := range r.Problems {
				e.hint("cursor %d: %s", r.Cursor.ID, p)
			}
		}
		return list(e, all, repairColumns())
	})
	if err != nil || a.dry {
		return err
	}
	return e.stillWrong(ctx, app, ids)
}

func (e *env) stillWrong(ctx context.Context, app *daemon.App, ids []int64) error {
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
		return findings("%d findings are left, in the ledger itself, which is never rewritten:\n%s", len(problems), strings.Join(problems, "\n"))
	}
	return nil
}

func repairColumns() columns[view.Repair] {
	return newColumns([]string{"cursor", "source", "operation", "stored", "by its ledger", "findings"}, func(r view.Repair) []any {
		after := r.After
		if !r.Changed {
			after = r.Cursor.Value
		}
		return []any{r.Cursor.ID, short(r.Cursor.Source, 14), r.Cursor.Operation, dash(r.Cursor.Value), dash(after), len(r.Problems)}
	})
}
