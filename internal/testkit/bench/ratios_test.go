package bench

import (
	"os"
	"testing"
)

// BenchmarkRatios holds all measurements below one root, so that they can share
// one table. Pick one with -bench 'Ratios/harvest'.
func BenchmarkRatios(b *testing.B) {
	out := &table{}
	b.Run("extract", func(b *testing.B) { benchExtract(b, out) })
	b.Run("render", func(b *testing.B) { benchRender(b, out) })
	b.Run("mask", func(b *testing.B) { benchMask(b, out) })
	b.Run("gate", func(b *testing.B) { benchGate(b, out) })
	b.Run("shared gate", func(b *testing.B) { benchSharedGate(b, out) })
	eachDatabase(b, "compile", func(b *testing.B, kind kind) { benchCompile(b, kind, out) })
	b.Run("driver", func(b *testing.B) { benchDriver(b, out) })
	eachDatabase(b, "commit", func(b *testing.B, kind kind) { benchCommit(b, kind, out) })
	eachDatabase(b, "harvest", func(b *testing.B, kind kind) { benchHarvest(b, kind, out) })
	eachDatabase(b, "rival", func(b *testing.B, kind kind) { benchRival(b, kind, out) })
	eachDatabase(b, "growth", func(b *testing.B, kind kind) { benchGrowth(b, kind, out) })
	eachDatabase(b, "files", func(b *testing.B, kind kind) { benchFiles(b, kind, out) })
	eachDatabase(b, "measured", func(b *testing.B, kind kind) { benchMeasured(b, kind, out) })
	b.Run("scrape/few", func(b *testing.B) { benchScrape(b, 50, out) })
	b.Run("scrape/all", func(b *testing.B) { benchScrape(b, namespaces, out) })
	eachDatabase(b, "viewers", func(b *testing.B, kind kind) { benchViewers(b, kind, out) })
	eachDatabase(b, "logs", func(b *testing.B, kind kind) { benchLogs(b, kind, false, out) })
	eachDatabase(b, "observed", func(b *testing.B, kind kind) { benchLogs(b, kind, true, out) })
	eachDatabase(b, "traces", func(b *testing.B, kind kind) { benchTraced(b, kind, out) })
	b.Run("untraced", func(b *testing.B) { benchUntraced(b, out) })
	eachDatabase(b, "processes", func(b *testing.B, kind kind) { benchProcesses(b, kind, out) })
	eachDatabase(b, "plan", func(b *testing.B, kind kind) { benchPlan(b, kind, out) })
	b.Run("fold", func(b *testing.B) { benchFold(b, out) })
	eachDatabase(b, "advance", func(b *testing.B, kind kind) { benchAdvance(b, kind, out) })
	eachDatabase(b, "partitions", func(b *testing.B, kind kind) { benchSectors(b, kind, out) })
	eachDatabase(b, "parents", func(b *testing.B, kind kind) { benchParents(b, kind, out) })
	eachDatabase(b, "show", func(b *testing.B, kind kind) { benchShow(b, kind, out) })
	eachDatabase(b, "claim", func(b *testing.B, kind kind) { benchClaim(b, kind, out) })
	eachDatabase(b, "reads", func(b *testing.B, kind kind) { benchReads(b, kind, out) })
	eachDatabase(b, "relay", func(b *testing.B, kind kind) { benchRelay(b, kind, out) })
	eachDatabase(b, "replay", func(b *testing.B, kind kind) { benchReplay(b, kind, out) })
	eachDatabase(b, "get", func(b *testing.B, kind kind) { benchGet(b, kind, out) })
	eachDatabase(b, "export", func(b *testing.B, kind kind) { benchExport(b, kind, out) })
	out.print(os.Stdout)
}

// proof is set for the full sizes that take long.
func proof() bool { return os.Getenv("PATRA_PROOF") == "1" }
