package bench

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/config"
	"github.com/patra-ingest/patra/internal/daemon"
)

// observed is how a service is observed: by lines of JSON in a file, at the level that a service
// has, and by metrics too.
func observed(log *slog.Logger, measured bool) daemon.Config {
	return daemon.Config{Raw: noBodies, Log: log, Metrics: daemon.MetricsConfig{On: measured}}
}

// benchLogs compares a harvest that is observed with one that tells nothing. Small pages make many
// lines.
func benchLogs(b *testing.B, k kind, measured bool, out *table) {
	size := works{days: 20, perDay: 500, bytes: 2000}
	u := startUpstream(b, size, remembered)
	compiled := u.compile(b, "paging.size=100")
	file, err := os.OpenFile(filepath.Join(b.TempDir(), "patra.log"), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	log := term.NewLog(file, config.LogJSON, slog.LevelInfo)
	harvestOnce(b, k, u, compiled, size.total(), noBodies, new(samples)) // fills the memory of the upstream
	var silent, telling samples
	alternate(b, 2*minRounds,
		func() { harvestWith(b, k, u, compiled, size.total(), daemon.Config{Raw: noBodies}, &silent) },
		func() { harvestWith(b, k, u, compiled, size.total(), observed(log, measured), &telling) })
	written, err := file.Stat()
	if err != nil || written.Size() == 0 {
		b.Fatalf("nothing was logged: %v", err)
	}
	perSecond := func(s samples) string {
		return fmt.Sprintf("%.0f records/s", float64(size.total())/s.quantile(0.5).Seconds())
	}
	with := "log lines of JSON"
	if measured {
		with = "metrics and " + with
	}
	rounds := telling.rounds(silent)
	_, processor := silent.over(telling)
	out.add(b, line{
		what: fmt.Sprintf("harvest %d records in pages of 100 with %s, %s", size.total(), with, k.name), ours: perSecond(telling), reference: perSecond(silent), ratio: median(rounds),
		reads: fmt.Sprintf("speed with / without, %d KB of log; rounds %.2f to %.2f; by processor time %.2f",
			int(written.Size())/1000/len(rounds), slices.Min(rounds), slices.Max(rounds), processor),
	})
}
