package bench

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/daemon"
)

const (
	fetchers = 4   // slices read at once, by us and by the reference
	pageSize = 500 // as the bundled Crossref has it
)

// minRounds makes the median mean something on a busy machine.
const minRounds = 5

// benchHarvest compares a whole harvest with a bare loop over the same pages.
func benchHarvest(b *testing.B, k kind, out *table) {
	size := works{days: 8, perDay: 3000, bytes: 2000}
	u := startUpstream(b, size, remembered)
	compiled := u.compile(b, fmt.Sprintf("paging.size=%d", pageSize))
	harvestOnce(b, k, u, compiled, size.total(), noBodies, new(samples)) // fills the memory of the upstream
	var ours, kept, unkeyed, keyed samples
	repeat(b, minRounds, func() {
		bareOnce(b, k, u, size.total(), false, &unkeyed)
		harvestOnce(b, k, u, compiled, size.total(), noBodies, &ours)
		bareOnce(b, k, u, size.total(), true, &keyed)
		harvestOnce(b, k, u, compiled, size.total(), daemon.RawConfig{Dir: b.TempDir()}, &kept)
	})
	perSecond := func(s samples) string {
		return fmt.Sprintf("%.0f records/s", float64(size.total())/s.quantile(0.5).Seconds())
	}
	add := func(bare samples, into string) {
		rounds := ours.rounds(bare)
		_, processor := bare.over(ours)
		out.add(b, line{
			what: fmt.Sprintf("harvest %d records of 2 KB, %s", size.total(), k.name), ours: perSecond(ours), reference: perSecond(bare), ratio: median(rounds),
			reads: fmt.Sprintf("our speed / bare loop into %s; rounds %.2f to %.2f; by processor time %.2f", into, slices.Min(rounds), slices.Max(rounds), processor),
		})
	}
	add(unkeyed, "a log")
	add(keyed, "a table by id")
	rounds := kept.rounds(ours)
	_, processor := ours.over(kept)
	out.add(b, line{
		what: fmt.Sprintf("harvest %d records of 2 KB and keep the answers, %s", size.total(), k.name), ours: perSecond(kept), reference: perSecond(ours), ratio: median(rounds),
		reads: fmt.Sprintf("speed with answers kept / without; rounds %.2f to %.2f; by processor time %.2f", slices.Min(rounds), slices.Max(rounds), processor),
	})
}

// noBodies: the bare loop keeps no answers either.
var noBodies = daemon.RawConfig{Off: true}

// harvestOnce harvests everything into a fresh database.
func harvestOnce(b *testing.B, k kind, u upstream, compiled *spec.Compiled, want int, raw daemon.RawConfig, took *samples) {
	b.Helper()
	harvestWith(b, k, u, compiled, want, daemon.Config{Raw: raw}, took)
}

// harvestMeasured does the same with metrics on or off.
func harvestMeasured(b *testing.B, k kind, u upstream, compiled *spec.Compiled, want int, m daemon.MetricsConfig, took *samples) {
	b.Helper()
	harvestWith(b, k, u, compiled, want, daemon.Config{Raw: noBodies, Metrics: m}, took)
}

// harvestWith does so with a program that is set up as one likes.
func harvestWith(b *testing.B, k kind, u upstream, compiled *spec.Compiled, want int, config daemon.Config, took *samples) {
	b.Helper()
	inScope(b, func(tb testing.TB) {
		db := k.fresh(tb)
		_ = db.open(tb, false).Close()
		config.Database, config.Workers = db.address, fetchers
		app, err := daemon.Open(tb.Context(), config)
		if err != nil {
			tb.Fatal(err)
		}
		defer app.Close()
		runtime.GC() // garbage of earlier rounds is not its fault
		took.time(tb, func() error {
			done, err := app.Harvest(tb.Context(), compiled, daemon.NewRequest(u.to().AddDate(0, 0, 1), u.from(), u.to()), daemon.Watch{})
			if err == nil && done.Plan.Stats.Inserted != want {
				err = fmt.Errorf("inserted %d records of %d: %+v", done.Plan.Stats.Inserted, want, done.Plan)
			}
			return err
		})
	})
}

// bareOnce does the same without any of our code.
func bareOnce(b *testing.B, k kind, u upstream, want int, keyed bool, took *samples) {
	b.Helper()
	inScope(b, func(tb testing.TB) {
		table := newPlain(tb, k, k.fresh(tb).bare(tb, k.writers, "FULL"), keyed)
		runtime.GC() // garbage of earlier rounds is not its fault
		took.time(tb, func() error {
			got, err := bareHarvest(tb.Context(), u, table)
			if err == nil && got != want {
				err = fmt.Errorf("the bare loop stored %d records of %d", got, want)
			}
			return err
		})
	})
}
