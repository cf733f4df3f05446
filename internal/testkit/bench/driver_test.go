package bench

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/record"
)

// benchDriver measures the two choices the SQLite driver leaves us, on our own
// schema: rows per statement, and how hard a commit is pressed to the disk.
func benchDriver(b *testing.B, out *table) {
	b.Run("rows", func(b *testing.B) { benchRowsPerInsert(b, out) })
	b.Run("synchronous", func(b *testing.B) { benchSynchronous(b, out) })
}

func benchRowsPerInsert(b *testing.B, out *table) {
	sizes := []int{1, 10, 100}
	writers := make([]*rawWriter, len(sizes))
	took := make([]samples, len(sizes))
	for i, n := range sizes {
		writers[i] = newRawWriter(b, n)
	}
	repeat(b, minBlocks, func() {
		for i, w := range writers {
			for range block {
				took[i].time(b, func() error { return w.write(b.Context()) })
			}
		}
	})
	for i, n := range sizes[1:] {
		wall, processor := took[i+1].over(took[0])
		out.add(b, line{
			what: fmt.Sprintf("insert 100 records, %d rows per statement (mean / p95)", n), ours: took[i+1].String(), reference: took[0].String(),
			ratio: wall, reads: fmt.Sprintf("time / one row per statement; by processor time %.2f", processor),
		})
	}
}

func benchSynchronous(b *testing.B, out *table) {
	full := newCommitter(b, freshSQLite(b).open(b, false))
	normal := newCommitter(b, freshSQLite(b).open(b, true))
	var fullTook, normalTook samples
	repeat(b, minBlocks, func() {
		for range block {
			records := full.renamed()
			fullTook.time(b, func() error { return full.commit(b.Context(), records) })
		}
		for range block {
			records := normal.renamed()
			normalTook.time(b, func() error { return normal.commit(b.Context(), records) })
		}
	})
	wall, _ := fullTook.over(normalTook)
	out.add(b, line{
		what: "commit 100 new records, synchronous FULL (mean / p95)", ours: fullTook.String(), reference: normalTook.String(), ratio: wall,
		reads: "time / synchronous NORMAL",
	})
}

// rawWriter inserts records into the schema's three record tables without the
// store, to change only how many rows a statement carries.
type rawWriter struct {
	db      *sql.DB
	records []record.Incoming
	rows    int
	head    *sql.Stmt
	body    *sql.Stmt
	event   *sql.Stmt
	next    int64
}

func newRawWriter(tb testing.TB, rows int) *rawWriter {
	tb.Helper()
	base := freshSQLite(tb)
	_ = base.open(tb, false).Close()
	w := &rawWriter{db: base.bare(tb, 1, "FULL"), records: extracted(tb, batchSize, 2000), rows: rows}
	prepare := func(table, columns string) *sql.Stmt {
		row := "(" + strings.TrimSuffix(strings.Repeat("?,", strings.Count(columns, ",")+1), ",") + ")"
		stmt, err := w.db.PrepareContext(tb.Context(), "INSERT INTO "+table+" ("+columns+") VALUES "+row+strings.Repeat(","+row, rows-1))
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { _ = stmt.Close() })
		return stmt
	}
	w.head = prepare("ing_record", "dataset_id, id_hash, provider_id, updated_at, content_hash, fetch_at, version, body_id, state_code, expr_id, mapping_id")
	w.body = prepare("ing_record_body", "body_id, dataset_id, id_hash, version, fetch_at, fields, payload, codec")
	w.event = prepare("ing_outbox_message", "aggregate_type, aggregate_id, channel, op_type, partition_key, dedup_key, body_id, record_version, status_code, created_at")
	return w
}

func (w *rawWriter) write(ctx context.Context) error {
	tx, err := w.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // after a commit this does nothing
	head, body, event := tx.StmtContext(ctx, w.head), tx.StmtContext(ctx, w.body), tx.StmtContext(ctx, w.event)
	for at := 0; at < len(w.records); at += w.rows {
		var heads, bodies, events []any
		for _, r := range w.records[at : at+w.rows] {
			w.next++
			id := fmt.Sprintf("10.5555/%d", w.next)
			key := record.KeyOf(id)
			heads = append(heads, 1, key[:], id, w.next, r.ContentHash[:], w.next, 1, w.next, "ACTIVE", 1, 1)
			bodies = append(bodies, w.next, 1, key[:], 1, w.next, string(r.Fields), r.Payload, "plain")
			events = append(events, "Record", 1, "records", "INSERTED", fmt.Sprintf("%x", key), append(key[:], key[:]...), w.next, 1, "PENDING", w.next)
		}
		for _, step := range []struct {
			stmt *sql.Stmt
			args []any
		}{{head, heads}, {body, bodies}, {event, events}} {
			if _, err := step.stmt.ExecContext(ctx, step.args...); err != nil {
				return err
			}
		}
	}
	return tx.Commit()
}
