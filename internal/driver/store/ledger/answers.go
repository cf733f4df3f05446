package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/query"
	"github.com/patra-ingest/patra/internal/core/skew"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// answeredBy is whose answers a run has read.
type answeredBy struct {
	ingest.Partition
	fingerprint string
}

// keptDays is how long rows stay that nobody looks at any more.
const keptDays = 30

func dayNo(t time.Time) int64 { return t.Unix() / (24 * 60 * 60) }

const answerKey = "provenance_code = ? AND endpoint_name = ? AND operation_code = ? AND day_no = ? AND spec_fingerprint = ?"

// saysNothing reports that a run learned nothing about its answers.
func saysNothing(s ingest.RunStats) bool {
	return s.Dated == 0 && s.Lists == 0 && s.Unsorted == 0 && s.Swept == 0 && len(s.Members) == 0
}

// noteAnswers adds what a run that ended learned about the answers of its source.
// As with late items, it is done once a run and not with every batch. Nearly
// always there is nothing to say, and it is one statement.
func (t *tx) noteAnswers(by answeredBy, stats ingest.RunStats) error {
	if saysNothing(stats) {
		return nil
	}
	key := []any{by.Source, by.Endpoint, string(by.Operation), dayNo(t.Now), by.fingerprint}
	apart, err := t.apartSoFar(stats.Apart, key)
	if err != nil {
		return err
	}
	members, err := t.membersSoFar(stats.Members, key)
	if err != nil {
		return err
	}
	values := []any{stats.Dated, apart, stats.Lists, stats.ShortLists, stats.Announced, stats.Delivered, stats.Unsorted, stats.Swept, members, kernel.Micros(t.Now)}
	n, err := t.Affected(`UPDATE ing_answer_check SET dated_items = dated_items + ?, apart = COALESCE(?, apart), lists = lists + ?, short_lists = short_lists + ?,
  announced_items = announced_items + ?, delivered_items = delivered_items + ?, unsorted_lists = unsorted_lists + ?, swept_items = swept_items + ?, members = COALESCE(?, members), measured_at = ? WHERE `+answerKey, append(values, key...)...)
	if err != nil || n > 0 {
		return err
	}
	// The first run of a day.
	if _, err := t.Exec("DELETE FROM ing_answer_check WHERE provenance_code = ? AND endpoint_name = ? AND operation_code = ? AND day_no < ?",
		by.Source, by.Endpoint, string(by.Operation), dayNo(t.Now)-keptDays); err != nil {
		return err
	}
	_, err = t.Exec(`INSERT INTO ing_answer_check (dated_items, apart, lists, short_lists, announced_items, delivered_items, unsorted_lists, swept_items, members, measured_at,
  provenance_code, endpoint_name, operation_code, day_no, spec_fingerprint) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`, append(values, key...)...)
	return err
}

// apartSoFar adds distances to those of the day; nil if there are none to add.
func (t *tx) apartSoFar(more skew.Spread, key []any) (any, error) {
	if more.Count() == 0 {
		return nil, nil
	}
	var stored sql.NullString
	if _, err := kernel.Found(t.Row("SELECT apart FROM ing_answer_check WHERE "+answerKey+t.Dialect().ForUpdate, key...).Scan(&stored)); err != nil {
		return nil, err
	}
	var before skew.Spread
	if err := kernel.Decode(stored, &before); err != nil {
		return nil, err
	}
	text, err := json.Marshal(before.Add(more))
	return string(text), err
}

// membersSoFar adds what a run had of the members of a pool to those of the day; nil if it chose from none.
func (t *tx) membersSoFar(more ingest.MemberTally, key []any) (any, error) {
	if len(more) == 0 {
		return nil, nil
	}
	var stored sql.NullString
	if _, err := kernel.Found(t.Row("SELECT members FROM ing_answer_check WHERE "+answerKey+t.Dialect().ForUpdate, key...).Scan(&stored)); err != nil {
		return nil, err
	}
	var before ingest.MembersSeen
	if err := kernel.Decode(stored, &before); err != nil {
		return nil, err
	}
	text, err := json.Marshal(before.Add(more.SeenAt(t.Now)))
	return string(text), err
}

// noteAnswersOf does so for a run whose worker did not live to say it.
func (t *tx) noteAnswersOf(task int64, stats ingest.RunStats) error {
	if saysNothing(stats) {
		return nil
	}
	var by answeredBy
	err := t.Row("SELECT provenance_code, endpoint_name, operation_code, spec_fingerprint FROM ing_task WHERE id = ?", task).
		Scan(&by.Source, &by.Endpoint, &by.Operation, &by.fingerprint)
	if err != nil {
		return err
	}
	return t.noteAnswers(by, stats)
}

// Doubts lists what the answers of the last days tell about their sources, or
// about one of them. Each is about the newest snapshot that was read under: what
// a source file said before it was corrected does not count.
func (s *Ledger) Doubts(ctx context.Context, source string) ([]view.Doubt, error) {
	now, err := s.db.Now(ctx)
	if err != nil {
		return nil, err
	}
	out, err := s.listDoubts(ctx, source, dayNo(now)-view.DoubtDays+1)
	if err == nil {
		out, err = s.addHeld(ctx, source, out)
	}
	if err != nil {
		return nil, kernel.Wrap("read doubts", s.db.Translate(err))
	}
	return out, nil
}

func (s *Ledger) listDoubts(ctx context.Context, source string, since int64) (out []view.Doubt, err error) {
	rows, err := s.db.Query(ctx, `SELECT provenance_code, endpoint_name, operation_code, spec_fingerprint, dated_items, apart, lists, short_lists,
  announced_items, delivered_items, unsorted_lists, swept_items, members, measured_at FROM ing_answer_check WHERE day_no >= ? AND (? = '' OR provenance_code = ?)
  ORDER BY provenance_code, endpoint_name, operation_code, measured_at DESC`, since, source, source)
	if err != nil {
		return nil, err
	}
	var under []string // fingerprints of out
	err = kernel.Each(rows, func() error {
		d, fingerprint, err := scanDoubt(rows)
		if err != nil {
			return err
		}
		last := len(out) - 1
		switch {
		case last < 0 || out[last].About() != d.About():
			out, under = append(out, d), append(under, fingerprint)
		case under[last] == fingerprint:
			out[last] = mergeDoubts(out[last], d)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i := range out {
		out[i].Outside = out[i].Apart.Count()
		if out[i].MaxShare, err = s.outsideShare(ctx, out[i], under[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// addHeld adds lists whose last whole reading lacks records that were not taken for gone: too many at once, or
// some of its items could not be told by an id. It is over with the next whole reading that holds nothing.
func (s *Ledger) addHeld(ctx context.Context, source string, to []view.Doubt) ([]view.Doubt, error) {
	rows, err := s.db.Query(ctx, `SELECT c.provenance_code, c.endpoint_name, c.operation_code, g.held, g.vanished, g.ended_at FROM ing_generation g JOIN ing_cursor c ON c.id = g.cursor_id
  WHERE g.held IS NOT NULL AND (? = '' OR c.provenance_code = ?) AND g.state_code IN ('COMPLETE','ACCEPTED') AND NOT EXISTS (SELECT 1 FROM ing_generation n JOIN ing_cursor o ON o.id = n.cursor_id
  WHERE n.id > g.id AND n.state_code IN ('COMPLETE','ACCEPTED') AND o.provenance_code = c.provenance_code AND o.endpoint_name = c.endpoint_name AND (o.operation_code = c.operation_code OR n.unit_name IS NOT NULL) AND COALESCE(n.unit_name, '') = COALESCE(g.unit_name, ''))
  ORDER BY c.provenance_code, c.endpoint_name, c.operation_code`, source, source)
	if err != nil {
		return nil, err
	}
	err = kernel.Each(rows, func() error {
		var d view.Doubt
		var at sql.NullInt64
		if err := rows.Scan(&d.Source, &d.Endpoint, &d.Operation, &d.Held, &d.Vanished, &at); err != nil {
			return err
		}
		d.LastAt = kernel.Instant(at)
		known := slices.IndexFunc(to, func(other view.Doubt) bool { return other.About() == d.About() })
		if known < 0 {
			to = append(to, d)
			return nil
		}
		to[known].Held, to[known].Vanished = d.Held, to[known].Vanished+d.Vanished // windows have readings of their own
		return nil
	})
	return to, err
}

func scanDoubt(rows *sql.Rows) (d view.Doubt, fingerprint string, err error) {
	var apart, members sql.NullString
	var at sql.NullInt64
	err = rows.Scan(&d.Source, &d.Endpoint, &d.Operation, &fingerprint, &d.Dated, &apart, &d.Lists, &d.ShortLists, &d.Announced, &d.Delivered, &d.Unsorted, &d.Swept, &members, &at)
	if err == nil {
		err = kernel.Decode(apart, &d.Apart)
	}
	if err == nil {
		err = kernel.Decode(members, &d.Members)
	}
	d.LastAt = kernel.Instant(at)
	return d, fingerprint, err
}

// mergeDoubts adds an earlier day.
func mergeDoubts(d, earlier view.Doubt) view.Doubt {
	d.Dated, d.Apart = d.Dated+earlier.Dated, d.Apart.Add(earlier.Apart)
	d.Lists, d.ShortLists = d.Lists+earlier.Lists, d.ShortLists+earlier.ShortLists
	d.Announced, d.Delivered = d.Announced+earlier.Announced, d.Delivered+earlier.Delivered
	d.Unsorted, d.Swept = d.Unsorted+earlier.Unsorted, d.Swept+earlier.Swept
	if len(earlier.Members) > 0 {
		d.Members = d.Members.Add(earlier.Members)
	}
	return d
}

// outsideShare returns what the snapshot tolerates. Without the snapshot, which
// may be gone with its plans, it is what a source tolerates that says nothing.
func (s *Ledger) outsideShare(ctx context.Context, d view.Doubt, fingerprint string) (float64, error) {
	var snapshot struct {
		Filter query.DateFilter `json:"filter"`
	}
	if d.Outside > 0 {
		var text sql.NullString
		if _, err := kernel.Found(s.db.QueryRow(ctx, "SELECT snapshot FROM ing_spec_snapshot WHERE spec_fingerprint = ?", fingerprint).Scan(&text)); err != nil {
			return 0, err
		}
		if err := kernel.Decode(text, &snapshot); err != nil {
			return 0, err
		}
	}
	return snapshot.Filter.OutsideShare(), nil
}
