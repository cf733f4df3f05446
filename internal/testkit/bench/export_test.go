package bench

import (
	"bufio"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"

	core "github.com/patra-ingest/patra/internal/core/export"
	"github.com/patra-ingest/patra/internal/driver/exportfile"
	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/engine/export"
)

// exported is how many records one export of the benchmark has.
const exported = 20_000

// benchExport measures an export of records of 2 KB into a folder, from finding its
// mark to its manifest. The reference reads the frames in the order in which they lie,
// unpacks them and writes what is in them, items and fields, without a record's id, state
// or version, and without a hash: what nobody can do without. Records per second of processor
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
	}{
		{"JSONL", core.Form{Format: core.JSONL}},
		{"JSONL with payload", core.Form{Format: core.JSONL, Payload: true}},
		{"CSV", core.Form{Format: core.CSV, Columns: []string{"title", "doi", "type", "publisher", "issued"}}},
	} {
		b.Run(form.name, func(b *testing.B) {
			var ours, bare samples
			repeat(b, 3, func() {
				inScope(b, func(tb testing.TB) {
					ours.time(tb, func() error { return exportOnce(tb, c.store, form.Form) })
					bare.time(tb, func() error { return bareExport(tb, bareDB) })
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

// bareExport is a loop over frames.
func bareExport(tb testing.TB, db *sql.DB) error {
	file, err := os.Create(filepath.Join(tb.TempDir(), "lines"))
	if err != nil {
		return err
	}
	defer file.Close()
	unpack, err := zstd.NewReader(nil)
	if err != nil {
		return err
	}
	defer unpack.Close()
	rows, err := db.QueryContext(tb.Context(), "SELECT content FROM ing_body_frame ORDER BY frame_id")
	if err != nil {
		return err
	}
	defer rows.Close()
	w := bufio.NewWriterSize(file, 1<<20)
	frames := 0
	var plain []byte
	for ; rows.Next(); frames++ {
		var content sql.RawBytes
		if err := rows.Scan(&content); err != nil {
			return err
		}
		if plain, err = unpack.DecodeAll(content, plain[:0]); err != nil {
			return err
		}
		if _, err := w.Write(plain); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if frames == 0 {
		return errors.New("there are no frames")
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return file.Sync()
}
