package bench

import (
	"fmt"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/window"
)

// benchSectors measures what a slice costs to store, to claim and to end where its window is read for very many parts of a
// list, against slices of windows that are read for one.
func benchSectors(b *testing.B, k kind, out *table) {
	counts := []int{1, 100_000}
	if k.name == "SQLite" || proof() {
		counts = append(counts, 1_000_000)
	}
	plans := make([]*sectorPlan, len(counts))
	for i, n := range counts {
		plans[i] = newSectorPlan(b, k, n)
	}
	claims, ends := make([]samples, len(counts)), make([]samples, len(counts))
	round := 0
	repeat(b, 300, func() {
		if round == ending-1 {
			return // the last slice would end its window
		}
		for i, p := range plans {
			var work ingest.Work
			claims[i].time(b, func() (err error) {
				work, err = claim(b.Context(), p.store, p.partition, round)
				return err
			})
			p.work = []ingest.Work{work}
			end := p.start(b, 0)
			ends[i].time(b, func() error { return p.store.FinishRun(b.Context(), end) })
		}
		round++
	})
	for i, n := range counts {
		for what, took := range map[string][]samples{"claim a slice": claims, "end a slice": ends} {
			out.add(b, line{
				what: fmt.Sprintf("%s of a window with %d partitions, %s (mean / p95)", what, n, k.name),
				ours: took[i].String(), reference: took[0].String(), ratio: took[i].middle(took[0]), reads: "time / time with one; medians",
			})
		}
		out.add(b, line{
			what: fmt.Sprintf("plan a thousand slices of a window with %d partitions, %s (mean / p95)", n, k.name),
			ours: plans[i].planned.String(), reference: plans[0].planned.String(), ratio: plans[i].planned.middle(plans[0].planned), reads: "time / time with one; medians",
		})
	}
}

// sectorPlan is a database with one plan, whose window is read for so many sectors.
type sectorPlan struct {
	ledger
	partition int64
	planned   samples // chunks of a thousand slices
}

// likeSectors is how many windows a plan for one sector has: slices are compared in plans of a size.
const likeSectors = 100_000

// newSectorPlan plans one window for many sectors, or many windows for one.
func newSectorPlan(b *testing.B, k kind, sectors int) *sectorPlan {
	b.Helper()
	base, compiled, ctx := k.fresh(b), compile(b), b.Context()
	p := &sectorPlan{ledger: ledger{store: base.open(b, false)}}
	id, err := p.store.RecordTrigger(ctx, ingest.Trigger{Key: fingerprint.Key("sectors"), Scheduler: "bench", Type: ingest.TriggerManual, At: firstDay, Source: "source-0"})
	if err != nil {
		b.Fatal(err)
	}
	windows := 1
	if sectors == 1 {
		windows = likeSectors
	}
	whole := window.Window{From: firstDay, To: firstDay.Add(time.Duration(windows) * time.Minute)}
	plan, _, err := p.store.OpenPlan(ctx, ingest.NewPlan{
		Key: fingerprint.Key("sectors"), ScheduleID: id, Partition: busiest, Window: whole, AsOf: whole.To, Owed: []window.Window{whole}, Sectors: sectors,
		Namespace:     ingest.HarvestNamespace(busiest.Dataset, "indexed", fingerprint.Key("all")),
		ExprProtoHash: fingerprint.Key("all"), ExprProto: []byte("{}"), MappingHash: compiled.MappingHash,
		SpecFingerprint: compiled.Fingerprint, Spec: compiled.Canonical, ConfigHash: compiled.Fingerprint, Strategy: "TIME",
	})
	if err != nil {
		b.Fatal(err)
	}
	for from, total := 0, windows*sectors; from < total; from += 1000 {
		var chunk []ingest.NewSlice
		for n := from; n < min(from+1000, total); n++ {
			at := firstDay.Add(time.Duration(n/sectors) * time.Minute)
			chunk = append(chunk, ingest.NewSlice{
				No: n + 1, Signature: fingerprint.Key("sectors", fmt.Sprint(n)), Window: window.Window{From: at, To: at.Add(time.Minute)}, Sector: fmt.Sprint("set=", n%sectors),
				Spec: []byte(`{"budget":{}}`), ExprHash: fingerprint.Key("all"), Expr: []byte("{}"), TaskKey: fingerprint.Key("sectors", "task", fmt.Sprint(n)), TaskParams: []byte("{}"), Priority: 1,
			})
		}
		p.planned.time(b, func() error { return p.store.AddSlices(ctx, plan.ID, chunk, false) })
	}
	if err := p.store.AddSlices(ctx, plan.ID, nil, true); err != nil {
		b.Fatal(err)
	}
	db := base.bare(b, 1, "FULL")
	if err := db.QueryRowContext(ctx, "SELECT partition_id FROM ing_plan WHERE id = ?", plan.ID).Scan(&p.partition); err != nil {
		b.Fatal(err)
	}
	return p
}
