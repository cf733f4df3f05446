package bench

import (
	"context"
	"fmt"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/extract"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/paging"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/upsim"
)

const (
	batchSize = 100
	// block is how many commits follow one another before the other side has its turn.
	block     = 10
	minBlocks = 30
)

// benchCommit compares the commit of a batch with a bare transaction that
// inserts the same payloads into one table. The table is in a database of its
// own on the same disk or server: in a shared SQLite file, the work of emptying
// the log falls on whoever happens to commit next.
func benchCommit(b *testing.B, k kind, out *table) {
	b.Run("new", func(b *testing.B) { benchCommitOf(b, k, out, "new", (*committer).renamed) })
	b.Run("unchanged", func(b *testing.B) { benchCommitOf(b, k, out, "unchanged", (*committer).same) })
}

func benchCommitOf(b *testing.B, k kind, out *table, what string, next func(*committer) []record.Incoming) {
	c := newCommitter(b, k.fresh(b).open(b, false))
	reference := newPlain(b, k, k.fresh(b).bare(b, 1, "FULL"), false)
	rows := make([]plainRow, batchSize)
	for i, r := range c.records {
		rows[i] = plainRow{r.ProviderID, r.Payload}
	}
	if err := c.commit(b.Context(), c.records); err != nil {
		b.Fatal(err)
	}
	var ours, bare samples
	repeat(b, minBlocks, func() {
		for range block {
			records := next(c)
			ours.time(b, func() error { return c.commit(b.Context(), records) })
		}
		for range block {
			bare.time(b, func() error { return reference.insert(b.Context(), rows) })
		}
	})
	wall, processor := ours.over(bare)
	out.add(b, line{
		what: fmt.Sprintf("commit 100 %s records of 2 KB, %s (mean / p95)", what, k.name), ours: ours.String(), reference: bare.String(),
		ratio: wall, reads: fmt.Sprintf("our time / bare transaction; by processor time %.2f", processor),
	})
}

// committer writes batches of one run.
type committer struct {
	store   *store.Store
	work    ingest.Work
	records []record.Incoming
	no      int
}

func newCommitter(tb testing.TB, s *store.Store) *committer {
	tb.Helper()
	openPlan(tb, s, "crossref")
	return &committer{store: s, work: startRun(tb, s), records: extracted(tb, batchSize, 2000)}
}

func (c *committer) same() []record.Incoming { return c.records }

// renamed are the records under ids that are not stored yet.
func (c *committer) renamed() []record.Incoming {
	out := slices.Clone(c.records)
	for i := range out {
		out[i].ProviderID = fmt.Sprintf("10.5555/%d.%d", c.no, i)
	}
	return out
}

func (c *committer) commit(ctx context.Context, records []record.Incoming) error {
	c.no++
	_, err := c.store.CommitBatch(ctx, ingest.BatchCommit{
		Lease: c.work.Lease, Extend: lease, Lineage: c.work.Lineage, Partition: c.work.Partition, DatasetID: c.work.DatasetID, ExprID: c.work.ExprID,
		No: c.no, Pass: 1, PageNo: c.no, PageSize: batchSize, BeforeToken: fmt.Sprint("token-", c.no), AfterToken: fmt.Sprint("token-", c.no+1),
		Records: records, Seen: len(records), Request: []byte(`{"method":"GET","url":"https://api.example.org/works"}`), Response: []byte(`{"status":200}`),
		Checkpoint: ingest.Checkpoint{Pass: 1, Paging: paging.State{Pages: c.no, Token: fmt.Sprint("token-", c.no+1)}},
	})
	return err
}

// extracted are records as the program reads them from a page of the simulator.
func extracted(tb testing.TB, n, bytes int) []record.Incoming {
	tb.Helper()
	w := window.Window{From: firstDay, To: firstDay.AddDate(0, 0, 1)}
	data := upsim.NewDataset(upsim.Config{Seed: 7, From: w.From, To: w.To, PerDay: n, Flat: true, PayloadBytes: bytes})
	server, err := upsim.NewServer(data, upsim.Options{LogLimit: -1, DisableGzip: true})
	if err != nil {
		tb.Fatal(err)
	}
	answer := httptest.NewRecorder()
	server.ServeHTTP(answer, httptest.NewRequest("GET", fmt.Sprintf("/works?rows=%d", n), nil))
	program, err := compile(tb).Snapshot.Program()
	if err != nil {
		tb.Fatal(err)
	}
	page, err := program.Read.Read(answer.Body.Bytes(), extract.Asked{Window: w, FetchAt: time.Now(), MappingID: 1})
	if err != nil || len(page.Records) != n {
		tb.Fatalf("read %d records of %d: %v", len(page.Records), n, err)
	}
	return page.Records
}
