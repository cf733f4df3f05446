package daemon

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/engine/inspect"
	"github.com/patra-ingest/patra/internal/testkit/localstore"
)

const sectorSource = `source: sets
name: Sets
http: {baseUrl: %q, allowHttp: true, allowPrivate: true}
rate: {perSecond: 1000, burst: 100}
retry: {maxAttempts: 1}
endpoints:
  works:
    role: SEARCH
    request: {path: "/${partition.set}/works", query: {from: "${filter.from}", to: "${filter.to}", offset: "${page.offset}", limit: "${page.size}"}}
    filter: {field: updated, precision: SECOND}
    partitions: {set: {values: [%s]}}
    paging: {type: OFFSET, size: 5, stable: true}
    window: {safetyLag: PT0S, earliest: "2025-03-01"}
    slicing: {step: P1D}
    response: {items: $.works, id: $.id, updatedAt: $.updated, filtered: $.updated, total: $.count, fields: {title: $.id}}
`

// shelves serve works by set: so many a day, each set with its own.
type shelves struct {
	sync.Mutex
	perDay map[string]int
	broken map[string]bool
	asked  map[string]int
	status int // of what is broken; zero: 404
}

func (s *shelves) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.Lock()
	defer s.Unlock()
	var set string
	_, _ = fmt.Sscanf(r.URL.Path, "/%s", &set)
	set = set[:len(set)-len("/works")]
	s.asked[set]++
	sets := strings.Split(set, ",")
	if slices.ContainsFunc(sets, func(one string) bool { return s.broken[one] }) {
		http.Error(w, "no such set", cmp.Or(s.status, http.StatusNotFound))
		return
	}
	from, _ := time.Parse(time.RFC3339, r.FormValue("from"))
	to, _ := time.Parse(time.RFC3339, r.FormValue("to"))
	found := []any{}
	for day := marchDay(1); day.Before(marchDay(12)); day = day.AddDate(0, 0, 1) {
		for _, one := range sets {
			for n := range s.perDay[one] {
				at := day.Add(time.Duration(n) * time.Hour)
				if !at.Before(from) && !at.After(to) {
					found = append(found, map[string]any{"id": fmt.Sprintf("%s/%d.%d", one, day.Day(), n), "updated": at})
				}
			}
		}
	}
	offset, _ := strconv.Atoi(r.FormValue("offset"))
	limit, _ := strconv.Atoi(r.FormValue("limit"))
	page := found[min(offset, len(found)):min(offset+limit, len(found))]
	_ = json.NewEncoder(w).Encode(map[string]any{"works": page, "count": len(found)})
}

func marchDay(n int) time.Time { return time.Date(2025, 3, n, 0, 0, 0, 0, time.UTC) }

// sectorWorld is a program on one database that reads shelves.
type sectorWorld struct {
	*testing.T
	shelves *shelves
	url     string
	app     *App
}

func newSectorWorld(t *testing.T, database string) *sectorWorld {
	w := &sectorWorld{T: t, shelves: &shelves{perDay: map[string]int{"cs": 7, "math": 3, "q&a": 12, "new": 4}, broken: map[string]bool{}, asked: map[string]int{}}}
	server := httptest.NewServer(w.shelves)
	t.Cleanup(server.Close)
	w.url = server.URL
	localstore.GiveTables(t, database)
	var err error
	if w.app, err = Open(t.Context(), Config{Database: database, Relaxed: true, Workers: 3}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.app.Close() })
	return w
}

func (w *sectorWorld) compile(values string, op ingest.Operation) *spec.Compiled {
	w.Helper()
	src, _, err := registry.Decode("sets.yaml", fmt.Appendf(nil, sectorSource, w.url, values))
	if err != nil {
		w.Fatal(err)
	}
	c, err := Compile(src, "", op, nil)
	if err != nil {
		w.Fatal(err)
	}
	return c
}

func (w *sectorWorld) harvest(c *spec.Compiled, now int) Harvested {
	w.Helper()
	h, err := w.app.Harvest(w.Context(), c, NewRequest(marchDay(now), nil, nil), Watch{})
	if err != nil {
		w.Fatal(err)
	}
	return h
}

func (w *sectorWorld) state(c *spec.Compiled) coverage.State {
	w.Helper()
	return readCoverage(w, w.app, c)
}

// readCoverage returns what the book says of the question that a source asks.
func readCoverage(t testing.TB, app *App, c *spec.Compiled) coverage.State {
	t.Helper()
	own, err := c.Namespace()
	if err != nil {
		t.Fatal(err)
	}
	state, _, err := app.store.CoverageState(t.Context(), own)
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// stored counts the records of a set.
func (w *sectorWorld) stored(set string) (n int) {
	w.Helper()
	records, err := w.app.store.Records(w.Context(), "sets", "works", nil, 10_000)
	if err != nil {
		w.Fatal(err)
	}
	for _, r := range records {
		if len(r.ID) > len(set) && r.ID[:len(set)+1] == set+"/" {
			n++
		}
	}
	return n
}

// A list that is asked for in parts is harvested for each of them: all is there, nothing is a gap, the second harvest finds
// nothing new; its past is backfilled the same way.
func TestPartitionsAreHarvested(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) {
		w := newSectorWorld(t, database)
		c := w.compile(`cs, math, "q&a"`, ingest.Harvest)
		from, to := marchDay(3), marchDay(6)
		h, err := w.app.Harvest(t.Context(), c, NewRequest(marchDay(6), &from, &to), Watch{})
		if err != nil || h.Plan.Total != 9 || h.Plan.Slices[string(ingest.SliceSucceeded)] != 9 {
			t.Fatalf("%+v, %v", h.Plan, err)
		}
		for set, want := range map[string]int{"cs": 21, "math": 9, "q&a": 36} {
			if got := w.stored(set); got != want {
				t.Errorf("%d works of %s, want %d", got, set, want)
			}
		}
		if s := w.state(c); !s.Cursor.Equal(to) || len(coverage.Gaps(s.Segments, window.Window{From: from, To: to})) > 0 {
			t.Errorf("the watermark stands at %s: %v", s.Cursor, s.Segments)
		}
		if h := w.harvest(c, 7); h.Plan.Stats.Inserted != 22 || h.Plan.Stats.Updated > 0 {
			t.Errorf("a day later: %+v", h.Plan.Stats)
		}
		past := w.compile(`cs, math, "q&a"`, ingest.Backfill)
		old := marchDay(1)
		plan, _, err := w.app.Planner.Plan(t.Context(), past, NewRequest(marchDay(7), &old, &from))
		if err != nil {
			t.Fatal(err)
		}
		if done, err := w.app.Work(t.Context(), plan.ID, nil); err != nil || done.Status != "COMPLETED" || done.Slices["SUCCEEDED"] != 6 {
			t.Fatalf("%+v, %v", done, err)
		}
		if n := w.stored("q&a"); n != 72 {
			t.Errorf("%d works after the backfill", n)
		}
	})
}

// A window of which one set was not read is a gap, whatever the others brought, and is closed when that set answers.
func TestAPartitionThatFailsKeepsItsWindowOwed(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) {
		w := newSectorWorld(t, database)
		c := w.compile("cs, math", ingest.Harvest)
		w.shelves.broken["math"] = true
		from, to := marchDay(3), marchDay(5)
		h, err := w.app.Harvest(t.Context(), c, NewRequest(marchDay(5), &from, &to), Watch{})
		if err != nil || h.Plan.Slices[string(ingest.SliceFailed)] == 0 {
			t.Fatalf("%+v, %v", h.Plan, err)
		}
		missing, err := w.app.Plans.ListSlices(t.Context(), view.Filter{Sector: "set=math", Limit: 10})
		if err != nil || len(missing) != 2 || missing[0].Status != "FAILED" || missing[0].Partition != "set=math" {
			t.Errorf("%+v, %v", missing, err)
		}
		why, err := w.app.store.Failures(t.Context(), missing[0].PlanID)
		if err != nil || len(why) != 1 || !strings.Contains(why[0].Error, "partition set=math: ") {
			t.Errorf("%+v, %v", why, err)
		}
		if s := w.state(c); !s.Cursor.Equal(from) || len(coverage.Gaps(s.Segments, window.Window{From: from, To: to})) != 1 {
			t.Errorf("the watermark stands at %s: %v", s.Cursor, s.Segments)
		}
		w.shelves.broken["math"] = false
		r := NewRequest(marchDay(6), nil, nil)
		r.RetryBefore = time.Now().Add(time.Hour)
		if _, err := w.app.Harvest(t.Context(), c, r, Watch{}); err != nil {
			t.Fatal(err)
		}
		if s := w.state(c); !s.Cursor.Equal(marchDay(6)) || w.stored("math") != 9 || w.stored("cs") != 21 {
			t.Errorf("the watermark stands at %s, %d and %d works", s.Cursor, w.stored("math"), w.stored("cs"))
		}
	})
}

// A set that is added asks another question: everything is owed for it, and nobody believes that it was read.
func TestAPartitionThatIsAddedIsOwed(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) {
		w := newSectorWorld(t, database)
		c := w.compile("cs, math", ingest.Harvest)
		w.harvest(c, 5)
		more := w.compile("math, cs, new", ingest.Harvest)
		if s := w.state(more); !s.Cursor.IsZero() {
			t.Errorf("three sets are read up to %s", s.Cursor)
		}
		if s := w.state(w.compile("math, cs", ingest.Harvest)); !s.Cursor.Equal(marchDay(5)) {
			t.Errorf("the same sets in another order are read up to %s", s.Cursor)
		}
		from, to := marchDay(1), marchDay(6)
		if _, err := w.app.Harvest(t.Context(), more, NewRequest(marchDay(6), &from, &to), Watch{}); err != nil {
			t.Fatal(err)
		}
		if s := w.state(more); !s.Cursor.Equal(marchDay(6)) || w.stored("new") != 20 {
			t.Errorf("the watermark stands at %s, %d works", s.Cursor, w.stored("new"))
		}
	})
}

// endpoint returns what is known of the sets as they are defined.
func (w *sectorWorld) endpoint(c *spec.Compiled, values string) inspect.EndpointCoverage {
	w.Helper()
	src, _, err := registry.Decode("sets.yaml", fmt.Appendf(nil, sectorSource, w.url, values))
	if err != nil {
		w.Fatal(err)
	}
	covered, err := w.app.Inspect.CoverageOf(w.Context(), src)
	if err != nil || len(covered.All) != 1 {
		w.Fatalf("%+v, %v", covered, err)
	}
	return covered.All[0]
}

// One set that fails does not make anybody read the others again: the gap names it, the next harvest asks for it alone, and
// it is filled or waived by itself.
func TestOnlyThePartitionThatFailedIsReadAgain(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) {
		w := newSectorWorld(t, database)
		const values = `cs, math, "q&a"`
		c := w.compile(values, ingest.Harvest)
		w.shelves.broken["math"] = true
		from, to := marchDay(2), marchDay(6)
		if _, err := w.app.Harvest(t.Context(), c, NewRequest(marchDay(6), &from, &to), Watch{}); err != nil {
			t.Fatal(err)
		}
		b := w.endpoint(c, values)
		gaps := b.Gaps(window.Window{From: from, To: to}, true)
		if len(gaps) != 4 || strings.Join(gaps[3].Partitions, " ") != "set=math" {
			t.Fatalf("%+v", gaps)
		}
		if text := wording.GapReason(gaps[0]); !strings.HasPrefix(text, "only set=math is missing: failed ") {
			t.Error(text)
		}
		if of := view.GapsOf(gaps, "set=cs"); len(of) != 0 {
			t.Errorf("a set that was read has gaps: %+v", of)
		}
		for set, want := range map[string]int{"set=cs": 0, "set=math": 1} {
			own, err := w.app.Inspect.SegmentsFor(t.Context(), b.Cursor, b.Segments, set)
			if got := coverage.Gaps(own, window.Window{From: from, To: to}); err != nil || len(got) != want {
				t.Errorf("%s: %v, %v", set, got, err)
			}
		}
		w.shelves.broken["math"] = false
		by := ingest.Act{Actor: "test", Reason: "gone there"}
		if done, err := w.app.Cursors.WaiveSector(t.Context(), b.Cursor.ID, "set=math", window.Window{From: from, To: marchDay(3)}, by); err != nil || len(done.Waived) != 1 {
			t.Errorf("%+v, %v", done, err)
		}
		second := []window.Window{{From: marchDay(3), To: marchDay(4)}}
		filled, _, err := w.app.FillSector(t.Context(), w.endpoint(c, values), "set=math", second, by, func(context.Context, ingest.Operation) (*spec.Compiled, error) { return c, nil })
		if err != nil || len(filled) != 1 || filled[0].Slices != 1 {
			t.Fatalf("%+v, %v", filled, err)
		}
		if done, err := w.app.Work(t.Context(), filled[0].PlanID, nil); err != nil || done.Slices["SUCCEEDED"] != 1 {
			t.Fatalf("%+v, %v", done, err)
		}
		if s := w.state(c); !s.Cursor.Equal(marchDay(4)) || w.stored("math") != 3 {
			t.Errorf("the watermark stands at %s, %d works", s.Cursor, w.stored("math"))
		}
		w.shelves.asked = map[string]int{}
		r := NewRequest(marchDay(7), nil, nil)
		r.RetryBefore = time.Now().Add(time.Hour)
		h, err := w.app.Harvest(t.Context(), c, r, Watch{})
		if err != nil || h.Plan.Total != 5 { // two days of math, and a new day of all three
			t.Fatalf("%+v, %v", h.Plan, err)
		}
		if w.shelves.asked["cs"] != 2 || w.shelves.asked["math"] != 3 {
			t.Errorf("asked %v", w.shelves.asked)
		}
		if s := w.state(c); !s.Cursor.Equal(marchDay(7)) || w.stored("math") != 12 {
			t.Errorf("the watermark stands at %s, %d works", s.Cursor, w.stored("math"))
		}
		if rest, err := w.app.store.LagsOf(t.Context(), b.Cursor.ID); err != nil || len(rest) != 0 {
			t.Errorf("%+v, %v", rest, err)
		}
	})
}

// Where the upstream takes several values at once, one request asks for them, and all of them lag together.
func TestPartitionsAreAskedForTogether(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) {
		w := newSectorWorld(t, database)
		src, _, err := registry.Decode("sets.yaml", []byte(strings.Replace(fmt.Sprintf(sectorSource, w.url, `"q&a", math, cs`), "]}}", "], perRequest: 2}}", 1)))
		if err != nil {
			t.Fatal(err)
		}
		c, err := Compile(src, "", ingest.Harvest, nil)
		if err != nil {
			t.Fatal(err)
		}
		w.shelves.broken["math"] = true
		from, to := marchDay(3), marchDay(5)
		h, err := w.app.Harvest(t.Context(), c, NewRequest(marchDay(5), &from, &to), Watch{})
		if err != nil || h.Plan.Total != 4 || w.stored("q&a") != 24 || w.stored("cs") != 0 {
			t.Fatalf("%+v, %v: %d", h.Plan, err, w.stored("q&a"))
		}
		w.shelves.broken["math"] = false
		w.shelves.asked = map[string]int{}
		r := NewRequest(marchDay(6), nil, nil)
		r.RetryBefore = time.Now().Add(time.Hour)
		if _, err := w.app.Harvest(t.Context(), c, r, Watch{}); err != nil {
			t.Fatal(err)
		}
		if s := w.state(c); !s.Cursor.Equal(marchDay(6)) || w.stored("math") != 9 || w.stored("cs") != 21 || w.stored("q&a") != 36 {
			t.Errorf("the watermark stands at %s, %d and %d and %d works", s.Cursor, w.stored("math"), w.stored("cs"), w.stored("q&a"))
		}
		if w.shelves.asked["cs"]+w.shelves.asked["math"] > 0 || w.shelves.asked["q&a"] != 3 || w.shelves.asked["cs,math"] != 6 {
			t.Errorf("asked %v", w.shelves.asked)
		}
	})
}
