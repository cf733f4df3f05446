package daemon

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/testkit/check"
	"github.com/patra-ingest/patra/internal/testkit/localstore"
	"github.com/patra-ingest/patra/internal/testkit/mariadb"
	"github.com/patra-ingest/patra/internal/upsim"
)

// library is a simulated Crossref and a program that harvests it.
type library struct {
	*testing.T
	data   *upsim.Dataset
	server *upsim.Server
	app    *App
	db     *sql.DB // beside the app
	now    time.Time
}

func onBothDatabases(t *testing.T, test func(t *testing.T, database string)) {
	onSQLite(t, test)
	t.Run("mysql", func(t *testing.T) { test(t, mariadb.DSN(t)) })
}

// onSQLite runs a test on a file.
func onSQLite(t *testing.T, test func(t *testing.T, database string)) {
	t.Run("sqlite", func(t *testing.T) { test(t, "sqlite:"+filepath.Join(t.TempDir(), "patra.db")) })
}

func newLibrary(t *testing.T, database string, data upsim.Config, faults string) *library {
	t.Helper()
	l := &library{T: t, data: upsim.NewDataset(data), now: data.To}
	list, err := upsim.ParseFaults(faults)
	l.must(err)
	l.server, err = upsim.NewServer(l.data, upsim.Options{Faults: list, LogLimit: 1 << 20})
	l.must(err)
	l.must(l.server.Start())
	t.Cleanup(func() { l.server.Close() })
	localstore.GiveTables(t, database)
	l.app, err = Open(t.Context(), Config{Database: database, Relaxed: true, Workers: 2})
	l.must(err)
	t.Cleanup(func() { l.app.Close() })
	l.db = openBeside(t, database)
	return l
}

// openBeside opens a database beside the program that works on it.
func openBeside(t *testing.T, database string) *sql.DB {
	t.Helper()
	open := check.Open
	if file, ok := strings.CutPrefix(database, "sqlite:"); ok {
		open = func(string) (*sql.DB, error) {
			return sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(60000)")
		}
	}
	db, err := open(database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func (l *library) exec(query string, args ...any) {
	l.Helper()
	if _, err := l.db.ExecContext(l.Context(), query, args...); err != nil {
		l.Fatalf("%s: %v", query, err)
	}
}

func (l *library) must(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

func (l *library) compile(settings ...string) *spec.Compiled {
	l.Helper()
	return l.compileFor(ingest.Harvest, settings...)
}

func (l *library) compileFor(op ingest.Operation, settings ...string) *spec.Compiled {
	l.Helper()
	src, err := Bundled("crossref")
	l.must(err)
	src.Rate.PerSecond, src.Rate.Burst, src.Rate.Concurrency = 5000, 200, 200
	var set []registry.Override
	for _, text := range append([]string{
		"http.baseUrl=" + l.server.URL(), "http.allowPrivate=true", "rate.obeyHeaders=false", "rate.perSecond=5000", "rate.burst=200", "rate.concurrency=200", "retry.initialDelay=PT0.001S", "retry.maxDelay=PT0.002S",
	}, settings...) {
		o, err := registry.ParseOverride(text)
		l.must(err)
		set = append(set, o)
	}
	c, err := Compile(src, "", op, set)
	l.must(err)
	return c
}

func (l *library) harvest(c *spec.Compiled, from *time.Time) Harvested {
	l.Helper()
	h, err := l.app.Harvest(l.Context(), c, NewRequest(l.now, from, nil), Watch{})
	l.must(err)
	if n := h.Plan.Slices[string(ingest.SliceSucceeded)]; n != h.Plan.Total-h.Plan.Replaced {
		l.Errorf("%d of %d slices are covered: %v", n, h.Plan.Total, h.Plan.Slices)
	}
	return h
}

// stored is every record with its stamp.
func (l *library) stored() map[string]time.Time {
	l.Helper()
	out := map[string]time.Time{}
	var after []byte
	for {
		page, err := l.app.store.Records(l.Context(), "crossref", "works", after, 500)
		l.must(err)
		for _, r := range page {
			out[r.ID], after = r.UpdatedAt, r.Key
		}
		if len(page) == 0 {
			return out
		}
	}
}

// hasAll: every work stamped in [from, to) is stored as it is (I2).
func (l *library) hasAll(from, to time.Time) {
	l.Helper()
	stored, want, missing := l.stored(), 0, 0
	for h := range l.data.Heads() {
		if h.Indexed.Before(from) || !h.Indexed.Before(to) {
			continue
		}
		if want++; !stored[strings.ToLower(h.DOI)].Equal(h.Indexed) {
			missing++
		}
	}
	if want == 0 || missing > 0 {
		l.Errorf("%d of %d works are missing", missing, want)
	}
}

// inside is how many works a window holds.
func (l *library) inside(w window.Window) (n int) {
	for h := range l.data.Heads() {
		if w.Contains(h.Indexed) {
			n++
		}
	}
	return n
}

// A harvest of Crossref every hour asks for that hour and what the lookback
// reads again, not for whole days.
func TestBelieve10HarvestEveryHourIsCheap(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) {
		const perHour, pageSize = 100, 10
		begin := time.Date(2025, 3, 3, 0, 0, 0, 0, time.UTC)
		l := newLibrary(t, database, upsim.Config{Seed: 7, From: begin.AddDate(0, 0, -2), To: begin.AddDate(0, 0, 1), PerDay: 24 * perHour, Flat: true}, "")
		c := l.compile(fmt.Sprint("paging.size=", pageSize))
		l.now = begin.Add(12*time.Hour + 17*time.Second)
		l.harvest(c, nil)
		s := c.Snapshot
		again := (time.Hour + s.Window.Lookback.Std()).Hours() * perHour / pageSize
		for range 6 {
			l.now = l.now.Add(time.Hour)
			before := l.server.Requests()
			h := l.harvest(c, nil)
			asked := l.server.Requests() - before
			t.Logf("%d requests for %d works; a day has %d pages", asked, h.Plan.Stats.Seen, 24*perHour/pageSize)
			// Works are not spread evenly, and some requests only count.
			if limit := int(1.2*again) + 3; asked > limit || asked > 24*perHour/pageSize/5 {
				t.Errorf("%d requests of an hourly harvest, want at most %d and not a fifth of a day", asked, limit)
			}
			if h.Plan.Stats.Outside > 0 {
				t.Errorf("%d works outside of what was asked for", h.Plan.Stats.Outside)
			}
		}
		l.hasAll(begin, l.now.Add(-s.Window.SafetyLag.Std()))
	})
}

// A busy day is cut by count: no walk is longer than fifty pages, and a network
// that loses answers costs a short walk each time, not the day.
func TestBelieve10LostAnswerCostsAShortWalk(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) {
		const works, pageSize, most = 2000, 5, 50
		day := time.Date(2025, 3, 3, 0, 0, 0, 0, time.UTC)
		l := newLibrary(t, database, upsim.Config{Seed: 7, From: day, To: day.AddDate(0, 0, 1), PerDay: works, Flat: true}, "lost-answer@p:0.01")
		l.now = day.AddDate(0, 0, 2)
		h := l.harvest(l.compile(fmt.Sprint("paging.size=", pageSize)), &day)
		slices, err := l.app.store.Slices(t.Context(), view.Filter{PlanID: h.Plan.PlanID, Limit: 1000})
		l.must(err)
		if len(slices) < works/pageSize/most {
			t.Errorf("%d slices for %d pages", len(slices), works/pageSize)
		}
		for _, s := range slices {
			if n := l.inside(*s.Window); n > most*pageSize {
				t.Errorf("%s holds %d works, %d pages", s.Window, n, n/pageSize)
			}
		}
		asked := l.server.Requests()
		expected := requestsUntilTheEnd(most, 0.01) * works / pageSize / most
		t.Logf("%d requests, %d slices started over; as one walk of %d pages %.0f would be expected", asked, h.Plan.Stats.Restarts,
			works/pageSize, requestsUntilTheEnd(works/pageSize, 0.01))
		if float64(asked) > 2*expected {
			t.Errorf("%d requests, about %.0f were to be expected", asked, expected)
		}
		l.hasAll(day, day.AddDate(0, 0, 1))
	})
}

// requestsUntilTheEnd is how many requests it takes on average until one walk comes to
// its end: each one that breaks is begun anew.
func requestsUntilTheEnd(pages int64, lost float64) float64 {
	return (1/slicing.ShareOfWalksThatEnd(pages, lost) - 1) / lost
}

// A day of Crossref whose size nobody could count, because no count was asked for, is
// read whole all the same: a longer walk, not a hole.
func TestBelieve10ADayThatWasNotCountedIsReadWhole(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) {
		const works, pageSize = 300, 5
		day := time.Date(2025, 3, 3, 0, 0, 0, 0, time.UTC)
		l := newLibrary(t, database, upsim.Config{Seed: 7, From: day, To: day.AddDate(0, 0, 1), PerDay: works, Flat: true}, "")
		l.now = day.AddDate(0, 0, 2)
		request := NewRequest(l.now, &day, nil)
		request.Offline = true
		h, err := l.app.Harvest(t.Context(), l.compile(fmt.Sprint("paging.size=", pageSize)), request, Watch{})
		l.must(err)
		if h.Counted > 0 {
			t.Errorf("%d requests only counted", h.Counted)
		}
		if n := h.Plan.Slices[string(ingest.SliceSucceeded)]; n == 0 || n != h.Plan.Total-h.Plan.Replaced {
			t.Errorf("%d of %d slices are covered: %v", n, h.Plan.Total, h.Plan.Slices)
		}
		l.hasAll(day, day.AddDate(0, 0, 1))
	})
}
