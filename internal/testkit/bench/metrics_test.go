package bench

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/measure"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/daemon"
	"github.com/patra-ingest/patra/internal/surface/metrics"
)

// benchMeasured compares a whole harvest that is measured with one that is not.
func benchMeasured(b *testing.B, k kind, out *table) {
	size := works{days: 8, perDay: 3000, bytes: 2000}
	u := startUpstream(b, size, remembered)
	compiled := u.compile(b, fmt.Sprintf("paging.size=%d", pageSize))
	on := daemon.MetricsConfig{On: true}
	harvestMeasured(b, k, u, compiled, size.total(), on, new(samples)) // fills the memory of the upstream
	var with, without samples
	alternate(b, 2*minRounds,
		func() { harvestMeasured(b, k, u, compiled, size.total(), on, &with) },
		func() {
			harvestMeasured(b, k, u, compiled, size.total(), daemon.MetricsConfig{}, &without)
		})
	perSecond := func(s samples) string {
		return fmt.Sprintf("%.0f records/s", float64(size.total())/s.quantile(0.5).Seconds())
	}
	rounds := with.rounds(without)
	_, processor := without.over(with)
	out.add(b, line{
		what: fmt.Sprintf("harvest %d records of 2 KB with metrics, %s", size.total(), k.name), ours: perSecond(with), reference: perSecond(without), ratio: median(rounds),
		reads: fmt.Sprintf("speed with metrics / without; rounds %.2f to %.2f; by processor time %.2f", slices.Min(rounds), slices.Max(rounds), processor),
	})
}

// namespaces is how many watermarks the scraped process shows.
const namespaces = 1000

// benchScrape reads /metrics of a process that shows a thousand watermarks and worked on
// some or on all of their sources; the reference is a page that says ok.
func benchScrape(b *testing.B, worked int, out *table) {
	server := startScraped(worked)
	defer server.Close()
	var scrapes, pings samples
	bytes := 0
	repeat(b, 20, func() {
		pings.time(b, func() error { return scrapePage(server.URL+"/healthz", new(int)) })
		scrapes.time(b, func() error { return scrapePage(server.URL+"/metrics", &bytes) })
	})
	out.add(b, line{
		what: fmt.Sprintf("scrape of %d namespaces, %d worked on here, %d KB", namespaces, worked, bytes/1000), ours: scrapes.String(), reference: pings.String(),
		ratio: pings.middle(scrapes),
		reads: fmt.Sprintf("time of a page that says ok / of the metrics; processor time %s", scrapes.processor()),
	})
}

// startScraped serves the metrics of a process that worked on some of its sources.
func startScraped(worked int) *httptest.Server {
	m, now := metrics.NewMeter(), time.Now()
	g := view.Gauges{At: now, Status: view.Status{Now: now}}
	for n := range namespaces {
		of := ingest.Partition{Dataset: ingest.Dataset{Source: fmt.Sprintf("source-%d", n), Endpoint: "works"}, Operation: ingest.Harvest}
		g.Status.Sources = append(g.Status.Sources, view.SourceStatus{Source: of.Source, Endpoint: of.Endpoint, CursorID: int64(n + 1), FreshTo: now, LagSec: 60})
		g.Work = append(g.Work, view.Workload{Source: of.Source, Endpoint: of.Endpoint, Operation: string(of.Operation)})
		if n < worked {
			m.NoteAttempt(of, measure.Attempt{Status: 200, Took: time.Second, Waited: time.Millisecond})
			m.NoteBatch(of, measure.Batch{Stored: true, Took: time.Second, Stats: ingest.BatchStats{Seen: 1, Inserted: 1}})
		}
	}
	m.Show(g, now)
	return httptest.NewServer(metrics.NewHandler(metrics.Served{Metrics: metrics.NewGatherer(m, metrics.About{}), Log: slog.New(slog.DiscardHandler)}))
}

func scrapePage(address string, bytes *int) error {
	answer, err := http.Get(address)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if *bytes = len(text); err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", address, answer.Status)
	}
	return err
}
