package look

import (
	"context"
	"database/sql"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/sector"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// SectorRefusals returns which sectors of a namespace the upstream refuses; an unknown one has none.
func (s *Look) SectorRefusals(ctx context.Context, n ingest.Namespace) ([]sector.Refusal, error) {
	return s.refusals(ctx, "c.provenance_code = ? AND c.operation_code = ? AND c.cursor_key = ? AND c.namespace_scope_code = ? AND c.namespace_key = ?",
		n.Source, string(n.Operation), n.CursorKey, string(n.Scope), n.Key)
}

// RefusalsOf lists which sectors of a cursor the upstream refuses, by their names.
func (s *Look) RefusalsOf(ctx context.Context, cursorID int64) ([]sector.Refusal, error) {
	return s.refusals(ctx, "c.id = ?", cursorID)
}

// PlanRefusals lists which sectors of the list that a plan reads the upstream refuses.
func (s *Look) PlanRefusals(ctx context.Context, planID int64) ([]sector.Refusal, error) {
	return s.refusals(ctx, "c.id = (SELECT cursor_id FROM ing_plan WHERE id = ?)", planID)
}

func (s *Look) refusals(ctx context.Context, of string, args ...any) (out []sector.Refusal, err error) {
	rows, err := s.db.Query(ctx, "SELECT r.sector_name, r.status, r.since, r.asked_at, r.recheck_at FROM ing_cursor c JOIN ing_sector_refusal r ON r.cursor_id = c.id WHERE "+of+" ORDER BY r.sector_name", args...)
	if err == nil {
		err = kernel.Each(rows, func() error {
			var one sector.Refusal
			var since, asked, recheck sql.NullInt64
			err := rows.Scan(&one.Sector, &one.Status, &since, &asked, &recheck)
			one.Since, one.Asked, one.Recheck = kernel.Instant(since), kernel.Instant(asked), kernel.Instant(recheck)
			out = append(out, one)
			return err
		})
	}
	return out, kernel.Wrap("list sector refusals", s.db.Translate(err))
}

// PlanLeaves returns which sectors a plan does not ask for where it asks for all others.
func (s *Look) PlanLeaves(ctx context.Context, planID int64) (out sector.LeftOut, err error) {
	var text sql.NullString
	known, err := kernel.Found(s.db.QueryRow(ctx, "SELECT sector_left FROM ing_plan WHERE id = ?", planID).Scan(&text))
	if err == nil && known {
		err = kernel.Decode(text, &out)
	}
	return out, kernel.Wrap("read what a plan leaves out", s.db.Translate(err))
}
