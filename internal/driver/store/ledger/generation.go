package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/generation"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// OpenGeneration returns the reading of a whole list that a slice belongs to, and notes it
// when it is opened first. A list that is asked for in sectors has one reading for all of
// them, known by the first slice of its plan. Readings of the same list that ended without a
// word are BROKEN. A unit that is named is that of a window whose readings replace each other: then
// the slice is a reading of that window.
func (s *Ledger) OpenGeneration(ctx context.Context, sliceID int64, unit string) (g ingest.Generation, err error) {
	err = s.step(ctx, "open generation", kernel.Urgent, func(t *tx) error {
		of, err := t.endedSlice(sliceID)
		if err != nil {
			return err
		}
		first := sliceID
		if of.sectors > 0 && unit == "" {
			if first, err = t.firstOfReading(of.cursorID, sliceID); err != nil {
				return err
			}
		}
		if g.AsOf = of.asOf; unit != "" { // its plan is as of before a safety lag, and what was fetched since was seen by others
			g.AsOf = t.Now
		}
		var kept bool
		var asOf sql.NullInt64
		known, err := kernel.Found(t.Row("SELECT id, is_kept, as_of FROM ing_generation WHERE slice_id = ?", first).Scan(&g.ID, &kept, &asOf))
		if known {
			g.AsOf = kernel.Instant(asOf)
		}
		if g.Overtaken = known && !kept; err != nil || g.Overtaken {
			return err
		}
		if known { // a slice that failed may be tried again
			_, err := t.Exec("UPDATE ing_generation SET state_code = ? WHERE id = ? AND state_code IN ('SHRUNK','BROKEN')", string(generation.Reading), g.ID)
			return err
		}
		if err := t.breakOthers(of, unit); err != nil {
			return err
		}
		g.AsOf = g.AsOf.Truncate(time.Microsecond)
		g.ID, err = t.Insert(`INSERT INTO ing_generation (slice_id, cursor_id, as_of, state_code, is_kept, base_id, id_count, items, last_items, last_kept, vanished, gone, created_at, dataset_id, expr_id, unit_name)
  VALUES (?,?,?,?,1,0,0,0,0,0,0,0,?,?,?,?)`, first, of.cursorID, kernel.Micros(g.AsOf), string(generation.Reading), kernel.Micros(t.Now), of.dataset, of.expr, kernel.OrNull(unit))
		return err
	})
	return g, err
}

// breakOthers ends readings of the same list or window that ended without a word.
func (t *tx) breakOthers(of endedSlice, unit string) error {
	where, args := "cursor_id = ? AND unit_name IS NULL", []any{string(generation.Broken), kernel.Micros(t.Now), of.cursorID}
	if unit != "" {
		where, args = "dataset_id = ? AND unit_name = ?", []any{string(generation.Broken), kernel.Micros(t.Now), of.dataset, unit}
	}
	_, err := t.Exec(`UPDATE ing_generation SET state_code = ?, ended_at = ? WHERE `+where+` AND state_code = ? AND NOT EXISTS
  (SELECT 1 FROM ing_plan_slice f JOIN ing_plan_slice s ON s.plan_id = f.plan_id WHERE f.id = ing_generation.slice_id AND s.status_code IN ('PENDING','READY')
    AND (ing_generation.unit_name IS NULL OR s.id = f.id))`, append(args, string(generation.Reading))...)
	return err
}

// firstOfReading returns the slice that the reading of a list in sectors is known by: the
// first one of its plan. Slices that open it at once, or end at once, wait here for each other.
func (t *tx) firstOfReading(cursorID, sliceID int64) (first int64, err error) {
	if err := t.lockCursor(cursorID); err != nil {
		return 0, err
	}
	err = t.Row("SELECT ("+firstSlice+")", sliceID).Scan(&first)
	return first, kernel.OrNotFound(err)
}

// firstSlice finds the first slice of the plan that a slice is of.
const firstSlice = "SELECT f.id FROM ing_plan_slice s JOIN ing_plan_slice f ON f.plan_id = s.plan_id WHERE s.id = ? ORDER BY f.slice_no LIMIT 1"

// readsWhole reports whether a slice is part of a reading of a whole list in sectors. Where readings of a window replace each other,
// each slice is a reading of its own.
func (t *tx) readsWhole(sliceID int64) (whole bool, err error) {
	err = t.Row("SELECT EXISTS (SELECT 1 FROM ing_generation WHERE slice_id = ("+firstSlice+") AND unit_name IS NULL)", sliceID).Scan(&whole)
	return whole, err
}

// readsUnit reports whether a slice is a reading of its window, which replaces the one before it.
func (t *tx) readsUnit(sliceID int64) (own bool, err error) {
	err = t.Row("SELECT EXISTS (SELECT 1 FROM ing_generation WHERE slice_id = ? AND unit_name IS NOT NULL)", sliceID).Scan(&own)
	return own, err
}

// JudgesReading reports whether a slice that was read to its end is the last one of its
// reading, and all others were read too: then it says what the reading is worth. Who ends at
// the same time may be told no as well; FinishRun tells one of them to judge after all.
func (s *Ledger) JudgesReading(ctx context.Context, of ingest.Lineage) (judges bool, err error) {
	err = s.db.QueryRow(ctx, `SELECT status_code IN ('READY','COMPLETED') AND NOT EXISTS
  (SELECT 1 FROM ing_plan_slice WHERE plan_id = ing_plan.id AND status_code IN ('PENDING','READY','FAILED','PARTIAL','CANCELLED') AND id <> ?) FROM ing_plan WHERE id = ?`,
		of.SliceID, of.PlanID).Scan(&judges)
	return judges, kernel.Wrap("judge of a reading", s.db.Translate(err))
}

// othersOfReading reports whether other slices of a reading are open, and whether some are lost.
func (t *tx) othersOfReading(of ingest.Lineage, s endedSlice) (open, lost bool, err error) {
	if s.sectors == 0 {
		return false, false, nil
	}
	if open, err = t.othersOpen(sliceEnd{in: ingest.Finish{Lineage: of}}, s, s.window); err != nil || open {
		return open, false, err
	}
	err = t.Row("SELECT EXISTS (SELECT 1 FROM ing_plan_slice WHERE plan_id = ? AND status_code IN ('FAILED','PARTIAL','CANCELLED') AND id <> ?)", of.PlanID, of.SliceID).Scan(&lost)
	return false, lost, err
}

// noteSeenIDs keeps the ids of a page of a whole list with the batch that brought them: who
// goes on after a crash finds what was committed, and no more.
func (t *tx) noteSeenIDs(in ingest.BatchCommit, batchID int64) error {
	seen := in.SeenIDs
	if seen == nil || len(seen.IDs) == 0 && seen.Unnamed == 0 {
		return nil
	}
	if _, err := t.Exec("INSERT INTO ing_generation_ids (generation_id, batch_id, pass, unnamed, ids) VALUES (?,?,?,?,?)",
		seen.Generation, batchID, in.Pass, seen.Unnamed, seen.IDs); err != nil {
		return err
	}
	return t.ExecOne("UPDATE ing_generation SET id_count = id_count + ? WHERE id = ? AND state_code = ?", len(seen.IDs)/generation.IDBytes+1, seen.Generation, string(generation.Reading))
}

// KeptGenerations lists the other readings of a list or a window whose ids are kept, the newest
// first. Of a window they are those of every operation, and those for another question are marked.
func (s *Ledger) KeptGenerations(ctx context.Context, of int64) (out []generation.Kept, err error) {
	var cursor, dataset, expr sql.NullInt64
	var unit sql.NullString
	err = s.db.QueryRow(ctx, "SELECT cursor_id, dataset_id, expr_id, unit_name FROM ing_generation WHERE id = ?", of).Scan(&cursor, &dataset, &expr, &unit)
	if err != nil {
		return nil, kernel.Wrap("kept generations", kernel.OrNotFound(s.db.Translate(err)))
	}
	where, args := "cursor_id = ? AND unit_name IS NULL", []any{cursor.Int64, of}
	if unit.Valid {
		where, args = "dataset_id = ? AND unit_name = ?", []any{dataset.Int64, unit.String, of}
	}
	rows, err := s.db.Query(ctx, "SELECT id, as_of, state_code, base_id, items, id_count, expr_id FROM ing_generation WHERE "+where+" AND id <> ? AND is_kept = 1 ORDER BY as_of DESC, id DESC", args...)
	if err == nil {
		err = kernel.Each(rows, func() error {
			var k generation.Kept
			var asOf, asked sql.NullInt64
			err := rows.Scan(&k.ID, &asOf, &k.State, &k.Base, &k.Items, &k.IDs, &asked)
			k.AsOf, k.Other = kernel.Instant(asOf), unit.Valid && asked != expr
			out = append(out, k)
			return err
		})
	}
	return out, kernel.Wrap("kept generations", s.db.Translate(err))
}

// GenerationIDs reads pages of ids of a generation behind a batch, in their order.
func (s *Ledger) GenerationIDs(ctx context.Context, of, after int64, limit int) (out []ingest.IDPage, err error) {
	rows, err := s.db.Query(ctx, `SELECT i.batch_id, COALESCE(b.slice_id, 0), i.pass, i.unnamed, i.ids FROM ing_generation_ids i LEFT JOIN ing_task_run_batch b ON b.id = i.batch_id
  WHERE i.generation_id = ? AND i.batch_id > ? ORDER BY i.batch_id LIMIT ?`, of, after, limit)
	if err == nil {
		err = kernel.Each(rows, func() error {
			var p ingest.IDPage
			err := rows.Scan(&p.Batch, &p.Slice, &p.Pass, &p.Unnamed, &p.IDs)
			out = append(out, p)
			return err
		})
	}
	return out, kernel.Wrap("ids of a generation", s.db.Translate(err))
}

// hashesPer is how many hashes one statement looks up.
const hashesPer = 100

// ActiveByHash returns the ids of living records that have one of some hashes, in the order
// of their keys. At most as many hashes as fit a batch may be asked for.
func (s *Ledger) ActiveByHash(ctx context.Context, datasetID int64, hashes []uint64) (ids []string, err error) {
	for chunk := range slices.Chunk(hashes, hashesPer) {
		args := []any{datasetID}
		for _, h := range chunk {
			first, last := generation.KeyRange(h)
			args = append(args, first[:], last[:])
		}
		rows, err := s.db.Query(ctx, "SELECT provider_id FROM ing_record WHERE dataset_id = ? AND state_code = 'ACTIVE' AND ("+
			strings.TrimSuffix(strings.Repeat("id_hash BETWEEN ? AND ? OR ", len(chunk)), " OR ")+") ORDER BY id_hash", args...)
		if err == nil {
			err = kernel.Each(rows, func() error {
				var id string
				err := rows.Scan(&id)
				ids = append(ids, id)
				return err
			})
		}
		if err != nil {
			return nil, kernel.Wrap("records by hash", s.db.Translate(err))
		}
	}
	return ids, nil
}

// CountActive counts the active records of a dataset, and no more than most of them.
func (s *Ledger) CountActive(ctx context.Context, datasetID int64, most int) (n int, err error) {
	err = s.db.QueryRow(ctx, "SELECT COUNT(*) FROM (SELECT 1 FROM ing_record WHERE dataset_id = ? AND state_code = 'ACTIVE' LIMIT ?) part", datasetID, most).Scan(&n)
	return n, kernel.Wrap("count active records", s.db.Translate(err))
}

// endGeneration writes what a reading of a whole list came to, if the slice was one or the
// last of one. A reading that ends without a verdict was not read to its end.
func (t *tx) endGeneration(in ingest.Finish) error {
	end := in.Generation
	if end == nil {
		return t.endUnjudged(in)
	}
	base := end.Base
	if base == 0 {
		base = end.ID
	}
	err := t.ExecOne(`UPDATE ing_generation SET state_code = ?, base_id = ?, items = ?, last_items = ?, last_kept = ?, vanished = ?, gone = ?, held = ?, why = ?, ended_at = ?
  WHERE id = ?`, string(end.State), base, end.Items, end.Last, end.LastKept, end.Vanished, end.Gone, kernel.OrNull(kernel.Cut(end.Held, 512)),
		kernel.OrNull(kernel.Cut(end.Why, 1024)), kernel.Micros(t.Now), end.ID)
	if err != nil {
		return err
	}
	for _, id := range end.Drop {
		if err := t.ExecOne("UPDATE ing_generation SET is_kept = 0 WHERE id = ?", id); err != nil {
			return err
		}
	}
	return nil
}

// endUnjudged ends a slice of a whole list that nobody judged: the list was not read to its
// end, or other slices of the reading are open and the last one judges. If this one is the
// last, and all were read, it must be judged first.
func (t *tx) endUnjudged(in ingest.Finish) error {
	s, err := t.endedSlice(in.Lineage.SliceID)
	if err != nil {
		return err
	}
	if own, err := t.readsUnit(in.Lineage.SliceID); err != nil {
		return err
	} else if own {
		s.sectors = 0 // nobody else has a part in its reading
	}
	first := in.Lineage.SliceID
	if s.sectors > 0 {
		if first, err = t.firstOfReading(s.cursorID, first); err != nil {
			return err
		}
	}
	var id int64
	reading, err := kernel.Found(t.Row("SELECT id FROM ing_generation WHERE slice_id = ? AND state_code = ?", first, string(generation.Reading)).Scan(&id))
	if err != nil || !reading {
		return err
	}
	open, lost, err := t.othersOfReading(in.Lineage, s)
	if err != nil || open {
		return err
	}
	why := in.Outcome.Error
	if in.Outcome.Task == ingest.TaskSucceeded {
		if !lost {
			return fault.ErrUnjudged
		}
		why = "other partitions of the list were not read to their end"
	}
	return t.ExecOne("UPDATE ing_generation SET state_code = ?, why = ?, ended_at = ? WHERE id = ?",
		string(generation.Broken), kernel.OrNull(kernel.Cut(kernel.Readable(why), 1024)), kernel.Micros(t.Now), id)
}

// sweptAtOnce is how many pages of ids one step removes.
const sweptAtOnce = 500

// readingsKept is how long a reading is listed whose ids are not needed any more.
const readingsKept = 400 * 24 * time.Hour

// pruneReadings removes readings that are past their time. Kept are those whose ids are compared with,
// the newest of each list, and those of a plan with a slice that was not read: it may be tried again, and must
// be told then that it was overtaken.
func (t *tx) pruneReadings() (more bool, err error) {
	old, err := t.IDs(`SELECT g.id FROM ing_generation g WHERE g.is_kept = 0 AND g.id_count = 0 AND g.state_code <> 'READING' AND g.created_at < ?
  AND EXISTS (SELECT 1 FROM ing_generation n WHERE n.cursor_id = g.cursor_id AND n.id > g.id)
  AND NOT EXISTS (SELECT 1 FROM ing_plan_slice f JOIN ing_plan_slice s ON s.plan_id = f.plan_id WHERE f.id = g.slice_id AND s.status_code <> 'SUCCEEDED')
  ORDER BY g.id LIMIT ?`, kernel.Micros(t.Now.Add(-readingsKept)), sweptAtOnce)
	for _, id := range old {
		if err == nil {
			err = t.ExecOne("DELETE FROM ing_generation WHERE id = ?", id)
		}
	}
	return len(old) == sweptAtOnce, err
}

// SweepGenerations removes some ids of generations that need not be kept, and then readings that
// are past their time. It reports whether there are more.
func (s *Ledger) SweepGenerations(ctx context.Context) (more bool, err error) {
	var id int64
	err = s.step(ctx, "sweep generations", kernel.Bulk, func(t *tx) error {
		more = false
		found, err := kernel.Found(t.Row("SELECT id FROM ing_generation WHERE is_kept = 0 AND id_count > 0 ORDER BY id_count LIMIT 1").Scan(&id))
		if err == nil && !found {
			more, err = t.pruneReadings()
		}
		if err != nil || !found {
			return err
		}
		batches, err := t.IDs("SELECT batch_id FROM ing_generation_ids WHERE generation_id = ? ORDER BY batch_id LIMIT ?", id, sweptAtOnce)
		if err != nil {
			return err
		}
		if more = true; len(batches) > 0 {
			if _, err := t.Exec("DELETE FROM ing_generation_ids WHERE generation_id = ? AND batch_id <= ?", id, batches[len(batches)-1]); err != nil {
				return err
			}
		}
		if len(batches) < sweptAtOnce {
			return t.ExecOne("UPDATE ing_generation SET id_count = 0 WHERE id = ?", id)
		}
		return nil
	})
	return more, err
}

// AcceptGeneration takes a reading that is SHRUNK for the whole list, by the word of a
// person. What was owed up to it counts as done from then on, and stays visible as waived.
// Repeating it changes nothing.
func (s *Ledger) AcceptGeneration(ctx context.Context, id int64, by ingest.Act) (done view.ReadingAccepted, err error) {
	err = s.step(ctx, "accept generation", kernel.Urgent, func(t *tx) error {
		if done, err = t.acceptGeneration(id, by); err == nil && by.Rehearsal {
			return kernel.ErrRehearsed
		}
		return err
	})
	done.DryRun = by.Rehearsal
	return done, kernel.Performed(err)
}

func (t *tx) acceptGeneration(id int64, by ingest.Act) (done view.ReadingAccepted, err error) {
	var cursorID, newest int64
	var asOf sql.NullInt64
	var unit sql.NullString
	var state generation.State
	err = t.Row(`SELECT g.cursor_id, g.unit_name, g.as_of, g.state_code, g.items, (SELECT MAX(n.id) FROM ing_generation n WHERE n.cursor_id = g.cursor_id AND n.state_code IN ('SHRUNK','COMPLETE','ACCEPTED'))
  FROM ing_generation g WHERE g.id = ?`, id).Scan(&cursorID, &unit, &asOf, &state, &done.Items, &newest)
	done.ID, done.AsOf = id, kernel.Instant(asOf)
	switch {
	case err != nil:
		return done, kernel.OrNotFound(err)
	case unit.Valid:
		return done, kernel.Refuse(fault.ErrInvalid, fmt.Sprintf("reading %d is of a window (%s) and cannot be accepted: if this is all of it now, read it again with `patra harvest SRC --retry --set snapshot.minShare=0`", id, unit.String))
	case state == generation.Accepted:
		return done, nil
	case state != generation.Shrunk:
		return done, kernel.Refuse(fault.ErrInvalid, fmt.Sprintf("reading %d is %s: only one that is SHRUNK waits to be accepted", id, state))
	case newest != id:
		return done, kernel.Refuse(fault.ErrInvalid, fmt.Sprintf("reading %d is not the newest one of its list: %d is, and tells what is there now", id, newest))
	}
	done.Changed = true
	if done.Waived, err = t.waiveUpTo(cursorID, done.AsOf, by); err != nil || by.Rehearsal {
		return done, err
	}
	if err := t.ExecOne("UPDATE ing_generation SET state_code = ?, is_kept = 1 WHERE id = ?", string(generation.Accepted), id); err != nil {
		return done, err
	}
	return done, t.Audit(kernel.AuditEntry{At: t.Now, Actor: by.Actor, Action: "coverage.accept", Object: fmt.Sprintf("generation/%d", id), Reason: by.Reason,
		Detail: map[string]any{"cursor": cursorID, "asOf": done.AsOf, "items": done.Items, "waived": done.Waived.Waived}})
}
