package archive

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/integrity"
	"github.com/patra-ingest/patra/internal/driver/store/bodies"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// CheckPages lets the database look at its own structure, and lists what it says.
func (s *Archive) CheckPages(ctx context.Context) (found []integrity.Damage, err error) {
	said, err := s.db.CheckStructure(ctx)
	for _, text := range said {
		found = append(found, integrity.Damage{Kind: integrity.Pages, Where: s.db.Dialect.Name, Text: text})
	}
	return found, kernel.Wrap("check structure", s.db.Translate(err))
}

// CheckCounts holds some batches behind one against what they say they stored (I4).
// Where retention removes versions, those cannot be counted any more: then only the
// sums of a batch are looked at.
func (s *Archive) CheckCounts(ctx context.Context, after int64, pruned bool) (part integrity.Part, next int64, err error) {
	next = after
	rows, err := s.db.Query(ctx, "SELECT id, stats FROM ing_task_run_batch WHERE id > ? AND status_code = 'SUCCEEDED' ORDER BY id LIMIT ?", after, checkRows)
	if err != nil {
		return part, next, kernel.Wrap("check counts", s.db.Translate(err))
	}
	want := map[int64]int64{}
	err = kernel.Each(rows, func() error {
		var row int64
		var text string
		if err := rows.Scan(&row, &text); err != nil {
			return err
		}
		part.Looked++
		if row <= next {
			part.Found = append(part.Found, countDamage(row, "it is not in its place; what follows was not looked at"))
			return errDisorder
		}
		next = row
		var stats ingest.BatchStats
		if err := json.Unmarshal([]byte(text), &stats); err != nil {
			part.Found = append(part.Found, countDamage(next, "its sums cannot be read"))
			return nil
		}
		want[next] = int64(stats.Inserted + stats.Updated + stats.Gone)
		if !stats.Balanced() {
			part.Found = append(part.Found, countDamage(next, fmt.Sprintf("its sums do not add up: %d items were seen", stats.Seen)))
		}
		return nil
	})
	part.End, err = endOfLook(part.Looked, err)
	if err != nil || pruned || len(want) == 0 {
		return part, next, kernel.Wrap("check counts", s.db.Translate(err))
	}
	err = s.countVersions(ctx, after, next, want, &part)
	return part, next, kernel.Wrap("check counts", s.db.Translate(err))
}

// countVersions compares how many versions the batches of a range say they wrote with
// those that are there.
func (s *Archive) countVersions(ctx context.Context, after, upto int64, want map[int64]int64, part *integrity.Part) error {
	there, err := bodies.CountVersions(s.db.Ask(ctx), after, upto)
	if errors.Is(err, fault.ErrDamaged) {
		return nil // the look at the versions tells of it
	}
	if err != nil {
		return err
	}
	var differ []integrity.Damage
	for batch, n := range want {
		if there[batch] == n {
			continue
		}
		got, err := bodies.CountBatch(s.db.Ask(ctx), batch) // one may have been counted twice
		if err != nil {
			return err
		}
		if there[batch] = got; got != n {
			differ = append(differ, countDamage(batch, fmt.Sprintf("it stored %d versions of records, %d are there", n, there[batch])))
		}
	}
	if len(differ) == 0 {
		return nil
	}
	// Retention may have begun since the check did. It says so in the transaction that
	// removes the first version, so whoever sees one missing sees that too.
	if pruned, err := s.Pruned(ctx); err != nil || pruned {
		return err
	}
	part.Found = append(part.Found, differ...)
	return nil
}

func countDamage(batch int64, text string) integrity.Damage {
	return integrity.Damage{Kind: integrity.Count, Where: fmt.Sprintf("batch %d", batch), Text: text}
}

// prunedMark is there once a version of a record was removed.
const prunedMark = "pruned"

// notePruned writes down that versions are removed, with the first of them.
func (t *tx) notePruned() error {
	at, err := markAt(t.Row, prunedMark)
	if err != nil || at > 0 {
		return err
	}
	return t.markIfAt(prunedMark, 0, 1)
}

// Pruned tells whether versions of records were ever removed.
func (s *Archive) Pruned(ctx context.Context) (bool, error) {
	var n int64
	err := s.db.QueryRow(ctx, "SELECT COUNT(*) FROM ing_upkeep_mark WHERE name = ? OR name LIKE 'versions/%'", prunedMark).Scan(&n)
	return n > 0, kernel.Wrap("look for pruned versions", s.db.Translate(err))
}

// checkMark is where the last check is noted: when it ended, and how much it found.
const checkMark = "check"

// EndCheck notes that a check came to its end. Repeating it changes nothing but the
// time (I8).
func (s *Archive) EndCheck(ctx context.Context, found int64) error {
	return s.step(ctx, "end check", kernel.Bulk, func(t *tx) error {
		n, err := t.Affected("UPDATE ing_upkeep_mark SET position = ?, updated_at = ? WHERE name = ?", found, kernel.Micros(t.Now), checkMark)
		if err == nil && n == 0 {
			_, err = t.Exec("INSERT INTO ing_upkeep_mark (name, position, updated_at) VALUES (?,?,?)", checkMark, found, kernel.Micros(t.Now))
		}
		return err
	})
}

// LastCheck returns what is known of the last check, and since when the database
// exists.
func (s *Archive) LastCheck(ctx context.Context) (last integrity.Last, err error) {
	var created, at sql.NullInt64
	err = s.db.QueryRow(ctx, "SELECT MIN(started_at) FROM "+kernel.VersionTable).Scan(&created)
	if err == nil {
		_, err = kernel.Found(s.db.QueryRow(ctx, "SELECT updated_at, position FROM ing_upkeep_mark WHERE name = ?", checkMark).Scan(&at, &last.Found))
	}
	last.CreatedAt, last.At = kernel.Instant(created), kernel.Instant(at)
	return last, kernel.Wrap("look for the last check", s.db.Translate(err))
}

// RecallSeal lets maintenance go through the bodies once more: a check found some
// without checksums, which an older program has written.
func (s *Archive) RecallSeal(ctx context.Context) error {
	return s.step(ctx, "recall seal", kernel.Bulk, func(t *tx) error {
		_, err := t.Exec("DELETE FROM ing_upkeep_mark WHERE name IN (?, ?)", sealMark, sealUpto)
		return err
	})
}

// cutOut removes a part of a text.
func cutOut(text, part string) string { return strings.Replace(text, part, "", 1) }
