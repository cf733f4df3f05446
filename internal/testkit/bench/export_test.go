package bench

import (
	"bufio"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	core "github.com/patra-ingest/patra/internal/core/export"
	"github.com/patra-ingest/patra/internal/driver/exportfile"
	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/engine/export"
)

// exported is how many records one export of the benchmark has.
const exported = 20_000

// benchExport measures an export of records of 2 KB into a folder, from finding its
// mark to its manifest. The reference reads the same mapped fields in the order in
// which they lie and writes them as lines, without a record's id, state or version,
// and without a hash: what nobody can do without. Records per second of processor
// time are those of one core, whatever else the machine does.
func benchExport(b *testing.B, k kind, out *table) {
	db := k.fresh(b)
	c := newCommitter(b, db.open(b, false))
	for range exported / batchSize {
		if err := c.commit(b.Context(), c.renamed()); err != nil {
			b.Fatal(err)
		}
	}
	bareDB := db.bare(b, 1, "FULL")
	for _, form := range []struct {
		name string
		core.Form
		query string
	}{
		{"JSONL", core.Form{Format: core.JSONL}, "SELECT fields FROM ing_record_body ORDER BY body_id"},
		{"JSONL with payload", core.Form{Format: core.JSONL, Payload: true}, "SELECT fields, payload FROM ing_record_body ORDER BY body_id"},
		{"CSV", core.Form{Format: core.CSV, Columns: []string{"title", "doi", "type", "publisher", "issued"}}, "SELECT fields FROM ing_record_body ORDER BY body_id"},
	} {
		b.Run(form.name, func(b *testing.B) {
			var ours, bare samples
			repeat(b, 3, func() {
				inScope(b, func(tb testing.TB) {
					ours.time(tb, func() error { return exportOnce(tb, c.store, form.Form) })
					bare.time(tb, func() error { return bareExport(tb, bareDB, form.query) })
				})
			})
			wall, processor := ours.over(bare)
			perSecond := float64(exported*len(ours.wall)) / ours.cpu.Seconds()
			out.add(b, line{
				what: fmt.Sprintf("export %d records of 2 KB from %s, %s (mean / p95)", exported, k.name, form.name), ours: ours.String(), reference: bare.String(), ratio: wall,
				reads: fmt.Sprintf("our time / bare loop; by processor time %.2f: %.0f records/s of one core, %.0f by the clock", processor, perSecond, exported/ours.mean().Seconds()),
			})
			b.ReportMetric(perSecond, "records/cpu-s")
		})
	}
}

func exportOnce(tb testing.TB, s *store.Store, f core.Form) error {
	to, err := exportfile.Create(exportfile.Target{Dir: filepath.Join(tb.TempDir(), "out")}, core.Plain, false)
	if err != nil {
		return err
	}
	m, err := export.New(s, "bench").Run(tb.Context(), core.Order{Source: "crossref", Endpoint: "works", Form: f, States: core.Active}, to, nil)
	if err == nil && m.Records != exported {
		err = fmt.Errorf("%d records were exported, want %d", m.Records, exported)
	}
	if err != nil {
		return err
	}
	return to.Close()
}

// bareExport is a loop over rows.
func bareExport(tb testing.TB, db *sql.DB, query string) error {
	file, err := os.Create(filepath.Join(tb.TempDir(), "lines"))
	if err != nil {
		return err
	}
	defer file.Close()
	rows, err := db.QueryContext(tb.Context(), query)
	if err != nil {
		return err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	values, targets := make([]sql.RawBytes, len(columns)), make([]any, len(columns))
	for i := range values {
		targets[i] = &values[i]
	}
	w := bufio.NewWriterSize(file, 1<<20)
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return err
		}
		for _, v := range values {
			if _, err := w.Write(v); err != nil {
				return err
			}
		}
		if err := w.WriteByte('\n'); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return file.Sync()
}
