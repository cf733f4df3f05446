package bench

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/daemon"
	"github.com/patra-ingest/patra/internal/pause"
)

const (
	viewers      = 20
	viewersVisit = 10 * time.Second // each of them loads its page so often
)

// watchedPages are what viewers look at, each at one of them.
var watchedPages = []string{"/", "/coverage", "/plans", "/rate"}

// benchViewers compares a harvest that twenty people watch with one that nobody watches. Each
// viewer has a stream of events open and loads its page every ten seconds, not all at once.
// The dashboard is served in both, and viewers are part of the process: what they take counts.
func benchViewers(b *testing.B, k kind, out *table) {
	size := works{days: 8, perDay: 7500, bytes: 2000}
	u := startUpstream(b, size, remembered)
	compiled := u.compile(b, fmt.Sprintf("paging.size=%d", pageSize))
	harvestOnce(b, k, u, compiled, size.total(), noBodies, new(samples)) // fills the memory of the upstream
	var with, without samples
	pages := 0
	alternate(b, minRounds,
		func() { pages += harvestWatched(b, k, u, compiled, size.total(), viewers, &with) },
		func() { harvestWatched(b, k, u, compiled, size.total(), 0, &without) })
	perSecond := func(s samples) string {
		return fmt.Sprintf("%.0f records/s", float64(size.total())/s.quantile(0.5).Seconds())
	}
	rounds := with.rounds(without)
	_, processor := without.over(with)
	out.add(b, line{
		what: fmt.Sprintf("harvest %d records of 2 KB with %d viewers, %s", size.total(), viewers, k.name), ours: perSecond(with), reference: perSecond(without), ratio: median(rounds),
		reads: fmt.Sprintf("speed with viewers / without; rounds %.2f to %.2f; by processor time %.2f; %d pages were loaded in %d harvests", slices.Min(rounds), slices.Max(rounds), processor, pages, len(with.wall)),
	})
}

// harvestWatched harvests everything into a fresh database whose dashboard some people watch,
// and returns how many pages they loaded.
func harvestWatched(b *testing.B, k kind, u upstream, compiled *spec.Compiled, want, watchers int, took *samples) (pages int) {
	b.Helper()
	inScope(b, func(tb testing.TB) {
		db := k.fresh(tb)
		_ = db.open(tb, false).Close()
		app, err := daemon.Open(tb.Context(), daemon.Config{Database: db.address, Workers: fetchers, Raw: noBodies})
		if err != nil {
			tb.Fatal(err)
		}
		defer app.Close()
		crowd := gather(tb, serveDashboard(tb, db.address), watchers)
		runtime.GC() // garbage of earlier rounds is not its fault
		took.time(tb, func() error {
			done, err := app.Harvest(tb.Context(), compiled, daemon.NewRequest(u.to().AddDate(0, 0, 1), u.from(), u.to()), daemon.Watch{})
			if err == nil && done.Plan.Stats.Inserted != want {
				err = fmt.Errorf("inserted %d records of %d: %+v", done.Plan.Stats.Inserted, want, done.Plan)
			}
			return err
		})
		pages = crowd.leave()
	})
	return pages
}

// serveDashboard serves the dashboard of a database to anybody, and returns its address.
func serveDashboard(tb testing.TB, database string) (address string) {
	tb.Helper()
	answers := make(chan string, 1)
	var installed daemon.Installed
	installed.Exports.Dir = tb.TempDir()
	app, err := daemon.Open(tb.Context(), daemon.Config{Database: database, Installed: installed, Entrance: daemon.EntranceConfig{
		Address: "127.0.0.1:0", Anonymous: access.Viewer, Opened: func(at, _ string) { answers <- at },
	}})
	if err != nil {
		tb.Fatal(err)
	}
	ctx, stop := context.WithCancel(tb.Context())
	ended := make(chan error, 1)
	go func() { ended <- app.Serve(ctx, []daemon.Role{daemon.RoleAPI}) }()
	tb.Cleanup(func() {
		stop()
		<-ended
		_ = app.Close()
	})
	select {
	case address = <-answers:
	case err := <-ended:
		tb.Fatal(err)
	}
	return address
}

// crowd are people who watch a dashboard.
type crowd struct {
	tb    testing.TB
	stop  context.CancelFunc
	all   sync.WaitGroup
	mu    sync.Mutex
	pages int
	err   error
}

// gather opens a stream for each viewer, and lets them load their pages in turn.
func gather(tb testing.TB, address string, watchers int) *crowd {
	tb.Helper()
	ctx, stop := context.WithCancel(tb.Context())
	c := &crowd{tb: tb, stop: stop}
	for n := range watchers {
		stream, err := open(ctx, address+"/v1/live")
		if err != nil {
			stop()
			tb.Fatal(err)
		}
		c.all.Go(func() {
			defer stream.Close()
			for lines := bufio.NewScanner(stream); lines.Scan(); { // until they leave
			}
		})
		c.all.Go(func() {
			for wait := viewersVisit * time.Duration(n) / time.Duration(watchers); pause.For(ctx, wait) == nil; wait = viewersVisit {
				c.note(ctx, load(ctx, address+watchedPages[n%len(watchedPages)]))
			}
		})
	}
	return c
}

func (c *crowd) note(ctx context.Context, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		c.pages++
	} else if ctx.Err() == nil {
		c.err = err
	}
}

// leave ends what they watch, and returns how many pages they loaded.
func (c *crowd) leave() int {
	c.tb.Helper()
	c.stop()
	c.all.Wait()
	if c.err != nil {
		c.tb.Fatal(c.err)
	}
	return c.pages
}

// load reads a page to its end.
func load(ctx context.Context, address string) error {
	body, err := open(ctx, address)
	if err != nil {
		return err
	}
	defer body.Close()
	_, err = io.Copy(io.Discard, body)
	return err
}

func open(ctx context.Context, address string) (io.ReadCloser, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		answer.Body.Close()
		return nil, fmt.Errorf("%s: %s", address, answer.Status)
	}
	return answer.Body, nil
}
