package bench

import (
	"bytes"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/cli"
	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/driver/store"
)

// benchAdvance measures the end of a slice: event, fold and cursor in one
// transaction with the statuses, with few and with many events in the namespace.
func benchAdvance(b *testing.B, k kind, out *table) {
	depths := []int{10_000, 100_000}
	if k.name == "SQLite" || proof() {
		depths = append(depths, 1_000_000)
	}
	ledgers := make([]*ledger, len(depths))
	for i, events := range depths {
		ledgers[i] = newLedger(b, k, events)
	}
	took := make([]samples, len(depths))
	round := 0
	repeat(b, 200, func() {
		if round == ending {
			return // all slices have ended
		}
		for i, l := range ledgers {
			end := l.start(b, round)
			took[i].time(b, func() error { return l.store.FinishRun(b.Context(), end) })
		}
		round++
	})
	for i, l := range ledgers {
		out.add(b, line{
			what: fmt.Sprintf("advance a cursor with %s events, %s (mean / p95)", human(l.events), k.name),
			ours: took[i].String(), reference: took[0].String(), ratio: took[i].middle(took[0]),
			reads: "time / time with 10 k events; medians",
		})
	}
}

// ending is how many slices a ledger has left to end.
const ending = 2000

// ledger is a database whose cursor has a long history.
type ledger struct {
	store  *store.Store
	work   []ingest.Work
	events int
}

func newLedger(tb testing.TB, k kind, events int) *ledger {
	tb.Helper()
	base := k.fresh(tb)
	l := &ledger{store: base.open(tb, false), events: events}
	openPlan(tb, l.store, "source-0")
	db := base.bare(tb, 1, "FULL")
	for _, statement := range []string{"CREATE TABLE digit (n INTEGER)", "INSERT INTO digit VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)"} {
		exec(tb, db, statement)
	}
	exec(tb, db, copyEvents, events)
	l.begin(tb, db)
	return l
}

// begin plans the slices whose ends are measured and starts their runs.
func (l *ledger) begin(tb testing.TB, db *sql.DB) {
	tb.Helper()
	ctx, compiled := tb.Context(), compile(tb)
	id, err := l.store.RecordTrigger(ctx, ingest.Trigger{Key: fingerprint.Key("ending"), Scheduler: "bench", Type: ingest.TriggerManual, At: firstDay, Source: "source-0"})
	if err != nil {
		tb.Fatal(err)
	}
	whole := window.Window{From: firstDay, To: firstDay.Add(ending * time.Minute)}
	plan, _, err := l.store.OpenPlan(ctx, ingest.NewPlan{
		Key: fingerprint.Key("ending"), ScheduleID: id, Partition: busiest, Window: whole, AsOf: whole.To, Owed: []window.Window{whole},
		Namespace:     ingest.HarvestNamespace(busiest.Dataset, "indexed", fingerprint.Key("all")),
		ExprProtoHash: fingerprint.Key("all"), ExprProto: []byte("{}"), MappingHash: compiled.MappingHash,
		SpecFingerprint: compiled.Fingerprint, Spec: compiled.Canonical, ConfigHash: compiled.Fingerprint, Strategy: "TIME",
	})
	if err != nil {
		tb.Fatal(err)
	}
	var parts []ingest.NewSlice
	for n := range ending {
		w := window.Window{From: firstDay.Add(time.Duration(n) * time.Minute), To: firstDay.Add(time.Duration(n+1) * time.Minute)}
		parts = append(parts, ingest.NewSlice{
			No: n + 1, Signature: fingerprint.Key("ending", fmt.Sprint(n)), Window: w, Spec: []byte(`{"budget":{}}`), ExprHash: fingerprint.Key("all"),
			Expr: []byte("{}"), TaskKey: fingerprint.Key("ending", "task", fmt.Sprint(n)), TaskParams: []byte("{}"), Priority: 1,
		})
	}
	for len(parts) > 0 {
		n := min(1000, len(parts))
		if err := l.store.AddSlices(ctx, plan.ID, parts[:n], n == len(parts)); err != nil {
			tb.Fatal(err)
		}
		parts = parts[n:]
	}
	var partition int64
	if err := db.QueryRowContext(ctx, "SELECT partition_id FROM ing_plan WHERE id = ?", plan.ID).Scan(&partition); err != nil {
		tb.Fatal(err)
	}
	if l.work, err = l.store.Claim(ctx, ingest.ClaimRequest{PartitionID: partition, Owner: "bench", Token: "ending", Lease: lease, Max: ending}); err != nil || len(l.work) != ending {
		tb.Fatalf("claimed %d tasks, want %d: %v", len(l.work), ending, err)
	}
}

// start begins the run of one slice and tells how it ends.
func (l *ledger) start(tb testing.TB, n int) ingest.Finish {
	tb.Helper()
	work := l.work[n]
	run, err := l.store.StartRun(tb.Context(), work, lease)
	if err != nil {
		tb.Fatal(err)
	}
	work.Lineage.RunID = run.ID
	return ingest.Finish{Lease: work.Lease, Lineage: work.Lineage, Outcome: ingest.Outcome{Task: ingest.TaskSucceeded, Run: ingest.RunSucceeded}}
}

// folded is how many windows a coverage is folded from.
const folded = 100_000

// benchFold measures the fold of a long coverage, and one event more.
func benchFold(b *testing.B, out *table) {
	start, asOf := firstDay, firstDay.AddDate(0, 0, 100)
	at := func(n int) window.Window {
		return window.Window{From: start.Add(time.Duration(n) * time.Minute), To: start.Add(time.Duration(n+1) * time.Minute)}
	}
	whole := window.Window{From: start, To: at(folded - 1).To}
	planned := coverage.Event{Kind: coverage.Planned, Windows: []window.Window{whole}, AsOf: asOf}
	order := make([]coverage.Event, folded) // sixteen workers: nearly in order
	for n := range order {
		order[n] = coverage.Event{Kind: coverage.Succeeded, Windows: []window.Window{at(n/16*16 + (n*7)%16)}, AsOf: asOf}
	}
	b.Run("ledger", func(b *testing.B) {
		ledger := append([]coverage.Event{planned}, order...)
		var ours, bare samples
		repeat(b, 10, func() {
			ours.time(b, func() error {
				var s coverage.State
				for _, e := range ledger {
					s = coverage.Fold(s, e)
				}
				if !s.Cursor.Equal(whole.To) {
					return fmt.Errorf("cursor %v", s.Cursor)
				}
				return nil
			})
			bare.time(b, func() error { return countMinutes(order, start) })
		})
		out.add(b, line{what: "fold a ledger of 100 k windows (mean / p95)", ours: ours.String() + ", processor " + ours.processor(), reference: bare.String() + ", processor " + bare.processor(),
			ratio: ours.middle(bare), reads: "time / an array of minutes"})
	})
	b.Run("one more", func(b *testing.B) {
		book := coverage.Fold(coverage.State{}, planned)
		var scattered []coverage.Segment // nothing merges: every second window is read
		for n := 0; n < folded; n += 2 {
			scattered = append(scattered, coverage.Segment{Window: at(n), Want: asOf, Have: asOf}, coverage.Segment{Window: at(n + 1), Want: asOf})
		}
		book.Segments = scattered
		near := scattered[50_000:50_003]
		var ours, all samples
		repeat(b, 200, func() {
			ours.time(b, func() error {
				if got := coverage.Apply(near, coverage.Event{Kind: coverage.Succeeded, Windows: []window.Window{near[1].Window}, AsOf: asOf}, 0); len(got) != 1 {
					return fmt.Errorf("%d segments", len(got))
				}
				return nil
			})
			all.time(b, func() error {
				if f := coverage.Frontier(book.Origin, coverage.Apply(book.Segments, coverage.Event{Kind: coverage.Succeeded, Windows: []window.Window{at(1)}, AsOf: asOf}, 0)); f.IsZero() {
					return fmt.Errorf("no frontier")
				}
				return nil
			})
		})
		out.add(b, line{what: "one event more in a coverage of 100 k windows, as the store does (mean / p95)", ours: ours.micros(), reference: all.micros(), ratio: ours.middle(all), reads: "time / time over the whole coverage"})
	})
}

// processor is the mean processor time of one operation.
func (s samples) processor() string {
	return fmt.Sprintf("%.1f ms", float64(s.cpu.Microseconds())/1000/float64(len(s.wall)))
}

// countMinutes is the least that knows where the first hole is.
func countMinutes(order []coverage.Event, start time.Time) error {
	read := make([]bool, folded)
	for _, e := range order {
		for _, w := range e.Windows {
			for n := w.From.Sub(start) / time.Minute; n < w.To.Sub(start)/time.Minute; n++ {
				read[n] = true
			}
		}
	}
	for n, is := range read {
		if !is {
			return fmt.Errorf("minute %d", n)
		}
	}
	return nil
}

// benchShow measures the strip of ten years, by day, against one row of the same
// database.
func benchShow(b *testing.B, k kind, out *table) {
	base := k.fresh(b)
	s := base.open(b, false)
	db := base.bare(b, 1, "FULL")
	decade(b, s, db)
	args := []string{"coverage", "show", "crossref", "--from", "2015-01-01", "--to", "2025-01-01", "--by", "day", "--db", base.address}
	var ours, bare samples
	repeat(b, 20, func() {
		ours.time(b, func() error {
			var text, complaints bytes.Buffer
			if code := cli.Main(b.Context(), args, &text, &complaints); code != 0 || bytes.Count(text.Bytes(), []byte("\n")) < 120 {
				return fmt.Errorf("exit code %d: %s%s", code, text.String(), complaints.String())
			}
			return nil
		})
		bare.time(b, func() error {
			rows, err := s.Segments(b.Context(), 1)
			if err == nil && len(rows) < 3000 {
				err = fmt.Errorf("%d segments", len(rows))
			}
			return err
		})
	})
	out.add(b, line{what: fmt.Sprintf("coverage show of ten years by day, %s (mean / p95)", k.name), ours: ours.String(), reference: bare.String(), ratio: ours.middle(bare),
		reads: "time / time to read its 3,653 segments"})
}

// decade stores ten years of days whose segments do not merge, with their counts.
func decade(tb testing.TB, s *store.Store, db *sql.DB) {
	tb.Helper()
	ctx, compiled := tb.Context(), compile(tb)
	from, to := time.Date(2015, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	id, err := s.RecordTrigger(ctx, ingest.Trigger{Key: fingerprint.Key("decade"), Scheduler: "bench", Type: ingest.TriggerManual, At: to, Source: "crossref"})
	if err != nil {
		tb.Fatal(err)
	}
	namespace, err := compiled.Namespace()
	if err != nil {
		tb.Fatal(err)
	}
	hash, err := compiled.Prototype.Hash()
	if err != nil {
		tb.Fatal(err)
	}
	whole := window.Window{From: from, To: to}
	if _, _, err := s.OpenPlan(ctx, ingest.NewPlan{
		Key: fingerprint.Key("decade"), ScheduleID: id, Partition: ingest.Partition{Dataset: compiled.Snapshot.Dataset(), Operation: ingest.Harvest}, Window: whole, AsOf: to,
		Owed: []window.Window{whole}, Namespace: namespace, ExprProtoHash: hash, ExprProto: []byte("{}"), MappingHash: compiled.MappingHash,
		SpecFingerprint: compiled.Fingerprint, Spec: compiled.Canonical, ConfigHash: compiled.Fingerprint, Strategy: "TIME",
	}); err != nil {
		tb.Fatal(err)
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		tb.Fatal(err)
	}
	defer tx.Rollback() // after a commit this does nothing
	must := func(query string, args ...any) {
		if _, err := tx.ExecContext(ctx, query, args...); err != nil {
			tb.Fatalf("%s: %v", query, err)
		}
	}
	must("DELETE FROM ing_coverage")
	for at, n := from, int64(0); at.Before(to); at, n = at.AddDate(0, 0, 1), n+1 {
		next, asOf := at.AddDate(0, 0, 1), to.UnixMicro()+n%2
		must("INSERT INTO ing_coverage (cursor_id, seg_from, seg_to, want_at, have_at, fails) VALUES (1, ?, ?, ?, ?, 0)", at.UnixMicro(), next.UnixMicro(), asOf, asOf)
		must(`INSERT INTO ing_window_history (dataset_id, expr_id, span_log2, window_from, window_to, actual, requests, bytes, as_of, run_id)
  VALUES (1, (SELECT expr_id FROM ing_plan WHERE id = 1), 37, ?, ?, ?, 1, 1, ?, ?)`, at.UnixMicro(), next.UnixMicro(), 1000+n%50, asOf, n)
	}
	if err := tx.Commit(); err != nil {
		tb.Fatal(err)
	}
}
