package bench

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/patra-ingest/patra/internal/core/span"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/daemon"
)

// benchTraced compares a whole harvest whose spans all go to a collector with one that
// records none. Small pages make many spans. The collector is in this process and throws
// away what it gets.
func benchTraced(b *testing.B, k kind, out *table) {
	size := works{days: 20, perDay: 500, bytes: 2000}
	u := startUpstream(b, size, remembered)
	compiled := u.compile(b, "paging.size=100")
	var taken atomic.Int64
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		taken.Add(n)
	}))
	defer collector.Close()
	b.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	harvestTraced(b, k, u, compiled, size.total(), true, new(samples)) // fills the memory of the upstream
	var with, without samples
	alternate(b, 2*minRounds,
		func() { harvestTraced(b, k, u, compiled, size.total(), true, &with) },
		func() { harvestTraced(b, k, u, compiled, size.total(), false, &without) })
	if taken.Load() == 0 {
		b.Fatal("no span was sent")
	}
	perSecond := func(s samples) string {
		return fmt.Sprintf("%.0f records/s", float64(size.total())/s.quantile(0.5).Seconds())
	}
	rounds := with.rounds(without)
	_, processor := without.over(with)
	out.add(b, line{
		what: fmt.Sprintf("harvest %d records in pages of 100 with traces, %s", size.total(), k.name), ours: perSecond(with), reference: perSecond(without), ratio: median(rounds),
		reads: fmt.Sprintf("speed with traces / without, %d KB of them; rounds %.2f to %.2f; by processor time %.2f",
			int(taken.Load())/1000/(len(rounds)+1), slices.Min(rounds), slices.Max(rounds), processor),
	})
}

// harvestTraced harvests everything into a fresh database, with or without spans. Sending
// the last of them belongs to the time of a command.
func harvestTraced(b *testing.B, k kind, u upstream, compiled *spec.Compiled, want int, traced bool, took *samples) {
	b.Helper()
	config := daemon.Config{Raw: noBodies}
	stop := func() {}
	if traced {
		stop = config.TraceTo(b.Context(), "bench")
	}
	harvestWith(b, k, u, compiled, want, config, took)
	stop()
}

// spansOfABatch are those that a page with one request has.
func spansOfABatch(ctx context.Context) {
	batch, s := span.Begin(ctx, span.Batch)
	for range 2 { // request, commit
		_, inner := span.Begin(batch, span.Commit)
		if inner.IsKept() {
			inner.Note(span.Number(span.Page, 1))
		}
		inner.End(nil)
	}
	if s.Traceparent() != "" {
		s.Note(span.Number(span.Page, 1))
	}
	s.End(nil)
}

// benchUntraced measures what the spans of a page cost while nobody records them, against
// the shortest a page can take: asking for it on this machine.
func benchUntraced(b *testing.B, out *table) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }))
	defer server.Close()
	ctx := b.Context()
	for range 12 { // as deep as contexts of a request are
		ctx = context.WithValue(ctx, new(int), 1)
	}
	const calls = 1000
	var spans, pings samples
	repeat(b, 20, func() {
		spans.time(b, func() error {
			for range calls {
				spansOfABatch(ctx)
			}
			return nil
		})
		pings.time(b, func() error { return scrapePage(server.URL, new(int)) })
	})
	each := spans.perCall(calls)
	out.add(b, line{
		what: "the spans of a page while nobody records them", ours: each.micros(), reference: pings.micros(), ratio: each.middle(pings),
		reads: fmt.Sprintf("their time / that of a request that is answered at once; %.0f allocations", testing.AllocsPerRun(100, func() { spansOfABatch(ctx) })),
	})
}
