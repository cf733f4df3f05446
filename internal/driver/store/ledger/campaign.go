package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// OpenCampaign begins a campaign, or finds the one of that name. A new one wants
// all of its range from the start: what nobody comes to read shows as a gap, and
// its cursor does not run ahead of it (I5, D§5.7). One that was completed and has
// something to read again is ACTIVE again. Order and length of its parts may be
// changed at any time.
func (s *Ledger) OpenCampaign(ctx context.Context, in ingest.NewCampaign, by ingest.Act) (c ingest.Campaign, existed bool, err error) {
	err = s.step(ctx, "open campaign", kernel.Bulk, func(t *tx) error {
		var err error
		if c, existed, err = t.campaignBy("g.name = ?", in.Name); err != nil {
			return err
		}
		if existed {
			if c.Namespace != in.Namespace || c.Range != in.Range {
				return kernel.Refuse(fault.ErrConflict, fmt.Sprintf("a campaign %s already exists, for another question or for the range %s: choose another --name", c.Name, c.Range))
			}
			c, err = t.reopenCampaign(c, in, by)
			return err
		}
		c, err = t.insertCampaign(in, by)
		return err
	})
	return c, existed, kernel.Performed(err)
}

func (t *tx) insertCampaign(in ingest.NewCampaign, by ingest.Act) (c ingest.Campaign, err error) {
	cursor, err := t.cursorRow(in.Namespace, in.Dataset.Endpoint)
	if err != nil {
		return c, err
	}
	overrides, err := json.Marshal(in.Overrides)
	if err != nil {
		return c, err
	}
	_, err = t.Insert(`INSERT INTO ing_campaign (name, cursor_id, provenance_code, endpoint_name, expr_proto_hash, range_from, range_to, typed, order_code,
  chunk_us, overrides, state_code, actor, reason, since, created_at, updated_at) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`,
		in.Name, cursor, in.Dataset.Source, in.Dataset.Endpoint, in.ExprProtoHash, kernel.Micros(in.Range.From), kernel.Micros(in.Range.To), kernel.OrNull(kernel.Cut(in.Typed, 256)),
		string(in.Order), in.Chunk.Microseconds(), kernel.JSONOrNull(overrides), string(ingest.CampaignActive), kernel.Cut(by.Actor, 128), kernel.OrNull(kernel.Cut(by.Reason, 512)),
		kernel.Micros(t.Now), kernel.Micros(t.Now), kernel.Micros(t.Now))
	if err != nil {
		return c, err
	}
	if err := t.wantRange(cursor, in); err != nil {
		return c, err
	}
	if err := t.auditCampaign("campaign.open", in.Name, by, map[string]any{"range": in.Range, "order": string(in.Order)}); err != nil {
		return c, err
	}
	c, _, err = t.campaignBy("g.name = ?", in.Name)
	return c, err
}

// wantRange notes that the range is wanted, apart from what plans in the same
// namespace have read before.
func (t *tx) wantRange(cursor int64, in ingest.NewCampaign) error {
	read, err := t.readSegments("cursor_id = ? AND seg_to >= ? AND seg_from <= ?", cursor, in.Range.From.UnixMicro(), in.Range.To.UnixMicro())
	if err != nil {
		return err
	}
	owed := coverage.Gaps(read, in.Range)
	if len(owed) == 0 {
		return nil
	}
	return t.advanceCursor(cursor, ledgerEntry{
		Event: coverage.Event{Kind: coverage.Planned, Windows: owed, AsOf: in.AsOf, At: t.Now, Lookback: in.Lookback},
		key:   fingerprint.Key(fmt.Sprint(cursor), "campaign", in.Name, string(coverage.Planned)), exprHash: in.ExprProtoHash,
	})
}

func (t *tx) reopenCampaign(c ingest.Campaign, in ingest.NewCampaign, by ingest.Act) (ingest.Campaign, error) {
	if c.State == ingest.CampaignCompleted {
		owed, err := t.owedOf(c)
		if err != nil {
			return c, err
		}
		if len(owed) > 0 {
			if err := t.moveCampaign(&c, ingest.CampaignActive, by, "campaign.open"); err != nil {
				return c, err
			}
		}
	}
	order, chunk := c.Order, c.Chunk
	if in.Order != "" {
		order = in.Order
	}
	if in.Chunk != 0 {
		chunk = in.Chunk
	}
	if order == c.Order && chunk == c.Chunk {
		return c, nil
	}
	c.Order, c.Chunk = order, chunk
	return c, t.ExecOne("UPDATE ing_campaign SET order_code = ?, chunk_us = ?, updated_at = ?, version = version + 1 WHERE id = ?",
		string(order), chunk.Microseconds(), kernel.Micros(t.Now), c.ID)
}

// owedOf returns what of its range is neither read nor waived.
func (t *tx) owedOf(c ingest.Campaign) ([]window.Window, error) {
	read, err := t.readSegments("cursor_id = ? AND seg_to >= ? AND seg_from <= ?", c.CursorID, c.Range.From.UnixMicro(), c.Range.To.UnixMicro())
	return coverage.Gaps(read, c.Range), err
}

const campaignColumns = `SELECT g.id, g.name, g.cursor_id, g.provenance_code, g.endpoint_name, g.expr_proto_hash, g.range_from, g.range_to, g.typed, g.order_code,
  g.chunk_us, g.overrides, g.state_code, g.actor, g.reason, g.since, g.note, g.created_at,
  u.operation_code, u.cursor_key, u.namespace_scope_code, u.namespace_key FROM ing_campaign g JOIN ing_cursor u ON u.id = g.cursor_id`

func scanCampaign(rows kernel.Scanner) (c ingest.Campaign, err error) {
	var from, to, since, created sql.NullInt64
	var typed, overrides, reason, note sql.NullString
	var chunk int64
	err = rows.Scan(&c.ID, &c.Name, &c.CursorID, &c.Dataset.Source, &c.Dataset.Endpoint, &c.ExprProtoHash, &from, &to, &typed, &c.Order, &chunk, &overrides,
		&c.State, &c.Actor, &reason, &since, &note, &created, &c.Namespace.Operation, &c.Namespace.CursorKey, &c.Namespace.Scope, &c.Namespace.Key)
	if err != nil {
		return c, err
	}
	c.Namespace.Source = c.Dataset.Source
	c.Range, c.Typed = window.Window{From: kernel.Instant(from), To: kernel.Instant(to)}, typed.String
	c.Chunk, c.Reason, c.Note = time.Duration(chunk)*time.Microsecond, reason.String, note.String
	c.Since, c.CreatedAt = kernel.Instant(since), kernel.Instant(created)
	return c, kernel.Decode(overrides, &c.Overrides)
}

// campaignBy locks the campaign: of those who change it at once each finds what
// the other left.
func (t *tx) campaignBy(where string, arg any) (c ingest.Campaign, known bool, err error) {
	c, err = scanCampaign(t.Row(campaignColumns+" WHERE "+where+t.Dialect().ForUpdate, arg))
	known, err = kernel.Found(err)
	return c, known, err
}

// Campaign returns a campaign by its name.
func (s *Ledger) Campaign(ctx context.Context, name string) (c ingest.Campaign, known bool, err error) {
	c, err = scanCampaign(s.db.QueryRow(ctx, campaignColumns+" WHERE g.name = ?", name))
	known, err = kernel.Found(err)
	return c, known, kernel.Wrap("read campaign", s.db.Translate(err))
}

// Campaigns lists campaigns, those of one source or state if named, oldest first.
func (s *Ledger) Campaigns(ctx context.Context, source string, state ingest.CampaignState) (out []ingest.Campaign, err error) {
	w := &kernel.Where{}
	w.Add(source != "", "g.provenance_code = ?", source)
	w.Add(state != "", "g.state_code = ?", string(state))
	rows, err := s.db.Query(ctx, campaignColumns+w.String()+" ORDER BY g.id", w.Args...)
	if err != nil {
		return nil, kernel.Wrap("list campaigns", s.db.Translate(err))
	}
	return out, kernel.Wrap("list campaigns", kernel.Each(rows, func() error {
		c, err := scanCampaign(rows)
		out = append(out, c)
		return err
	}))
}

// CampaignPlans returns how many plans a campaign ever had, and those that have
// not ended. They are counted first: two processes that plan the next part by the
// same number meet at its key.
func (s *Ledger) CampaignPlans(ctx context.Context, cursorID int64) (ever int, open []ingest.OpenPlan, err error) {
	if err := s.db.QueryRow(ctx, "SELECT COUNT(*) FROM ing_plan WHERE cursor_id = ?", cursorID).Scan(&ever); err != nil {
		return 0, nil, kernel.Wrap("list plans of a campaign", s.db.Translate(err))
	}
	open, _, err = s.openPlansWhere(ctx, "p.cursor_id = ?", cursorID)
	if err != nil {
		return 0, nil, kernel.Wrap("list plans of a campaign", s.db.Translate(err))
	}
	for i, o := range open {
		if open[i].Owed, _, err = s.owedBy(ctx, cursorID, o.Key); err != nil {
			return 0, nil, kernel.Wrap("list plans of a campaign", s.db.Translate(err))
		}
	}
	return ever, open, nil
}
