package bench

import (
	"fmt"
	"net/http"
	"os"
	process "os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// Turns of the comparison of a large database with a new one.
const (
	growthTurns    = 10
	growthTurnDays = 5
	growthPerDay   = 20_000
)

// benchGrowth tells whether a large database is slower than a new one: the last million records
// of a harvest against the first million of another, by turns of 100,000, because the machine is
// not the same from one minute to the next. Both are run by the program as it ships. The rival, which does nothing but
// find records by their ids, goes the same way before: what it loses is what any table by id loses.
func benchGrowth(b *testing.B, k kind, out *table) {
	days := growthDays(b)
	if days == 0 {
		b.Skip("harvests millions of records; set PATRA_PROOF=1, and PATRA_BENCH_RECORDS to other than 10,000,000")
	}
	u := startUpstream(b, works{days: days, perDay: growthPerDay, bytes: 1000}, func(h http.Handler) http.Handler { return h })
	program, dir := build(b), b.TempDir()
	ours := func(tb testing.TB, of database, raw string, from, days int) footprint {
		cmd := process.Command(program, "harvest", "crossref", "-q", "--db", of.address, "--raw-dir", filepath.Join(dir, raw),
			"--from", u.days[from].Format(time.DateOnly), "--to", u.days[from].AddDate(0, 0, days).Format(time.DateOnly))
		for _, override := range append(u.overrides(), "paging.size=1000") {
			cmd.Args = append(cmd.Args, "--set", override)
		}
		return measureProcess(tb, cmd)
	}
	rivals := func(tb testing.TB, of database, _ string, from, days int) footprint {
		return measureProcess(tb, rivalCommand(k, of, 1, u.url, u.days[from], days))
	}
	grow := func(harvest func(tb testing.TB, of database, raw string, from, days int) footprint) (last, first footprint) {
		inScope(b, func(tb testing.TB) {
			large, fresh := k.fresh(tb), k.fresh(tb)
			before := days - growthTurns*growthTurnDays
			harvest(tb, large, "large", 0, before)
			for turn := range growthTurns {
				last.add(harvest(tb, large, "large", before+turn*growthTurnDays, growthTurnDays))
				first.add(harvest(tb, fresh, "fresh", turn*growthTurnDays, growthTurnDays))
			}
		})
		return last, first
	}
	records := float64(growthTurns * growthTurnDays * growthPerDay)
	compare := func(what, reads string, last, first footprint) {
		out.add(b, line{
			what: fmt.Sprintf("the last million of %d small records, %s%s", days*growthPerDay, k.name, what),
			ours: fmt.Sprintf("%.0f records/s", records/last.wall.Seconds()), reference: fmt.Sprintf("%.0f records/s", records/first.wall.Seconds()),
			ratio: first.wall.Seconds() / last.wall.Seconds(),
			reads: fmt.Sprintf("speed / speed of the first million into a new database, in turns (%s); by processor time %.2f", reads, first.cpu.Seconds()/last.cpu.Seconds()),
		})
	}
	for range b.N {
		last, first := grow(rivals)
		compare(", the rival", "of a table by id alone", last, first)
		last, first = grow(ours)
		compare("", "aim 0.9", last, first)
	}
}

// add sums what two harvests took.
func (f *footprint) add(other footprint) {
	f.wall, f.cpu, f.memory = f.wall+other.wall, f.cpu+other.cpu, max(f.memory, other.memory)
}

// growthDays is how many days the large database has in the end; zero: it is not asked for.
func growthDays(tb testing.TB) int {
	if !proof() {
		return 0
	}
	records := 10_000_000
	if text := os.Getenv(recordsEnv); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			tb.Fatal(err)
		}
		records = n
	}
	return max(growthTurns*growthTurnDays+1, records/growthPerDay)
}
