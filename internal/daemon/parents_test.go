package daemon

import (
	"cmp"
	"encoding/json"
	"errors"
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
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/sector"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/testkit/localstore"
)

const forgeSource = `source: forge
name: Forge
http: {baseUrl: %q, allowHttp: true, allowPrivate: true}
rate: {perSecond: 10000, burst: 1000}
retry: {maxAttempts: 1, taskAttempts: 1}
filter: {field: updated, precision: SECOND, to: EXCLUSIVE}
window: {safetyLag: PT0S, earliest: "2025-01-01"}
slicing: {step: P2D}
paging: {type: OFFSET, size: 3, stable: true}
endpoints:
  repos:
    role: SEARCH
    request: {path: /repos, query: {from: "${filter.from}", to: "${filter.to}", offset: "${page.offset}", limit: "${page.size}"}}
    response: {items: $.items, id: $.id, updatedAt: $.updated, gone: "${jsonPath('$.closed')}", total: $.count, fields: {name: $.name}}
  issues:
    role: SEARCH
    partitions: {repo: {from: {endpoint: repos, value: $.id, carry: {name: $.name}, since: $.created}}}
    request: {path: "/${partition.repo.name}/issues", query: {from: "${filter.from}", to: "${filter.to}", offset: "${page.offset}", limit: "${page.size}"}}
    response: {items: $.items, id: "${partition.repo}/${jsonPath('$.number')}", updatedAt: $.updated, total: $.count, fields: {repo: "${partition.repo.name}"}}
`

// forgeFeed reads the issues of each repository as a feed, which takes no dates and has the latest first.
var forgeFeed = strings.Replace(strings.Replace(forgeSource, "  issues:\n    role: SEARCH\n", "  issues:\n    role: SEARCH\n    filter: {bounds: NONE}\n    window: {order: DESC}\n    paging: {stable: false}\n", 1),
	`/issues", query: {from: "${filter.from}", to: "${filter.to}", offset: "${page.offset}", limit: "${page.size}"}}
    response: {`, `/issues", query: {offset: "${page.offset}", limit: "${page.size}"}}
    response: {filtered: $.updated, `, 1)

// forgeSince reads the issues of each repository from an instant on.
var forgeSince = strings.Replace(strings.Replace(forgeSource, "  issues:\n    role: SEARCH\n", "  issues:\n    role: SEARCH\n    filter: {bounds: FROM}\n    paging: {stable: false}\n", 1),
	`/issues", query: {from: "${filter.from}", to: "${filter.to}", offset: "${page.offset}", limit: "${page.size}"}}
    response: {`, `/issues", query: {from: "${filter.from}", offset: "${page.offset}", limit: "${page.size}"}}
    response: {filtered: $.updated, `, 1)

// forge serves repositories and their issues.
type forge struct {
	sync.Mutex
	repos  map[string]*repository
	broken map[string]int // status by the name of the repository
	asked  map[string]int
	spans  map[string][]window.Window // what was asked for of each
	during func()                     // called once, while issues are read
}

type repository struct {
	ID      int
	Name    string
	Created time.Time
	Updated time.Time
	Closed  bool
	issues  map[int]time.Time
}

func (f *forge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.Lock()
	defer f.Unlock()
	name, _, _ := strings.Cut(strings.Trim(r.URL.Path, "/"), "/")
	from, _ := time.Parse(time.RFC3339, r.FormValue("from"))
	to, _ := time.Parse(time.RFC3339, r.FormValue("to"))
	within := func(at time.Time) bool { return !at.Before(from) && (to.IsZero() || at.Before(to)) }
	f.asked[name]++
	found := []map[string]any{}
	if name == "repos" {
		for _, repo := range f.repos {
			if within(repo.Updated) {
				item := map[string]any{"id": repo.ID, "name": repo.Name, "updated": repo.Updated, "closed": repo.Closed}
				if !repo.Created.IsZero() {
					item["created"] = repo.Created
				}
				found = append(found, item)
			}
		}
	} else {
		if change := f.during; change != nil {
			f.during = nil
			change()
		}
		f.spans[name] = append(f.spans[name], window.Window{From: from, To: to})
		if status := f.broken[name]; status != 0 {
			http.Error(w, "no", status)
			return
		}
		if repo := f.repos[name]; repo != nil {
			for number, at := range repo.issues {
				if within(at) {
					found = append(found, map[string]any{"number": number, "updated": at})
				}
			}
		}
	}
	slices.SortFunc(found, func(a, b map[string]any) int {
		return cmp.Or(b["updated"].(time.Time).Compare(a["updated"].(time.Time)), strings.Compare(fmt.Sprint(a), fmt.Sprint(b)))
	})
	offset, _ := strconv.Atoi(r.FormValue("offset"))
	limit, _ := strconv.Atoi(r.FormValue("limit"))
	_ = json.NewEncoder(w).Encode(map[string]any{"items": found[min(offset, len(found)):min(offset+limit, len(found))], "count": len(found)})
}

// add makes a repository with an issue on each of some days.
func (f *forge) add(id int, created, updated time.Time, days ...int) *repository {
	repo := &repository{ID: id, Name: fmt.Sprintf("r%d", id), Created: created, Updated: updated, issues: map[int]time.Time{}}
	for _, day := range days {
		repo.issues[day] = marchDay(day).Add(time.Hour)
	}
	f.repos[repo.Name] = repo
	return repo
}

// forgeWorld is a program on one database that reads a forge.
type forgeWorld struct {
	testing.TB
	forge *forge
	file  string
	url   string
	clock func() time.Time // of the store; nil: its own
	apart string           // address under which issues are asked for, where they are a source of their own; empty: they are not
	app   *App
	first time.Time // where the first harvest begins

	database string
}

func newForgeWorld(t *testing.T, database string) *forgeWorld {
	return newForgeWorldAt(t, database, nil)
}

// newForgeWorldAt makes one whose database has another clock.
func newForgeWorldAt(t *testing.T, database string, clock func() time.Time) *forgeWorld {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir()) // nobody agreed to anything
	t.Setenv("PATRA_CONFIG", "")
	w := &forgeWorld{TB: t, forge: &forge{}, file: forgeSource, clock: clock, first: marchDay(1), database: database}
	server := httptest.NewServer(w.forge)
	t.Cleanup(server.Close)
	w.url = server.URL
	localstore.GiveTables(t, database)
	w.open(database)
	t.Cleanup(func() { w.app.Close() })
	w.clear()
	return w
}

func (w *forgeWorld) open(database string) {
	w.Helper()
	installed, err := ReadInstalled("")
	if err != nil {
		w.Fatal(err)
	}
	if w.app, err = Open(w.Context(), Config{Database: database, Relaxed: true, Workers: 2, Installed: installed, Clock: w.clock}); err != nil {
		w.Fatal(err)
	}
	w.app.Planner.Settling = time.Nanosecond // nobody else writes
}

// clear begins with an empty forge.
func (w *forgeWorld) clear() {
	w.forge.Lock()
	defer w.forge.Unlock()
	w.forge.repos, w.forge.broken, w.forge.asked, w.forge.spans, w.forge.during = map[string]*repository{}, map[string]int{}, map[string]int{}, map[string][]window.Window{}, nil
}

// forget clears what was counted.
func (w *forgeWorld) forget() {
	w.forge.asked, w.forge.spans = map[string]int{}, map[string][]window.Window{}
}

func (w *forgeWorld) source(code string) *registry.Source {
	w.Helper()
	src, _, err := registry.Decode("forge.yaml", []byte(strings.Replace(fmt.Sprintf(w.file, w.url), "source: forge", "source: "+code, 1)))
	if err != nil {
		w.Fatal(err)
	}
	return src
}

func (w *forgeWorld) compile(code, endpoint string) *spec.Compiled {
	w.Helper()
	if w.apart != "" {
		return w.compileApart(code, endpoint)
	}
	c, err := Compile(w.source(code), endpoint, ingest.Harvest, nil)
	if err != nil {
		w.Fatal(err)
	}
	return c
}

// harvest reads an endpoint up to an instant, and tries again what failed.
func (w *forgeWorld) harvest(c *spec.Compiled, now time.Time) Harvested {
	w.Helper()
	r := NewRequest(now, nil, nil)
	if s := w.state(c); s.Cursor.IsZero() {
		r.From = &w.first
	}
	r.RetryBefore = time.Now().Add(time.Hour)
	h, err := w.app.Harvest(w.Context(), c, r, Watch{})
	if err != nil {
		w.Fatal(err)
	}
	return h
}

func (w *forgeWorld) state(c *spec.Compiled) coverage.State {
	w.Helper()
	return readCoverage(w.TB, w.app, c)
}

// stored returns the issues that are stored, by their ids.
func (w *forgeWorld) stored(code string) map[string]time.Time {
	w.Helper()
	out := map[string]time.Time{}
	records, err := w.app.store.Records(w.Context(), code, "issues", nil, 100_000)
	if err != nil {
		w.Fatal(err)
	}
	for _, r := range records {
		out[r.ID] = r.UpdatedAt
	}
	return out
}

func (w *forgeWorld) lags(c *spec.Compiled) []sector.Lag {
	w.Helper()
	own, _ := c.Namespace()
	all, err := w.app.store.SectorLags(w.Context(), own)
	if err != nil {
		w.Fatal(err)
	}
	return all
}

// readFirst harvests issues of five repositories for the first time: not before the repositories are known, for the reason that is
// given, and no further than they are.
func (w *forgeWorld) readFirst(repos, issues *spec.Compiled, reason string) {
	w.Helper()
	for id := range 5 {
		w.forge.add(id, marchDay(1), marchDay(1), 1, 2, 3, 4, 5)
	}
	if h := w.harvest(issues, marchDay(6)); !h.Draft.Empty || !strings.Contains(h.Draft.Reason, reason) {
		w.Fatalf("%+v", h.Draft)
	}
	w.harvest(repos, marchDay(4))
	if h := w.harvest(issues, marchDay(6)); h.Plan.Slices["SUCCEEDED"] != h.Plan.Total || h.Plan.Stats.Inserted != 15 {
		w.Fatalf("%+v", h.Plan)
	}
	if s := w.state(issues); !s.Cursor.Equal(marchDay(4)) {
		w.Errorf("the watermark stands at %s", s.Cursor)
	}
}

// Issues are read of every repository that is stored, each as one part of the list, and no further than the repositories
// themselves are known.
func TestPartsComeFromStoredRecords(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) {
		w := newForgeWorld(t, database)
		repos, issues := w.compile("forge", "repos"), w.compile("forge", "issues")
		w.readFirst(repos, issues, "patra harvest forge --endpoint repos")
		stored := w.stored("forge")
		if at := stored["3/2"]; !at.Equal(marchDay(2).Add(time.Hour)) || len(stored) != 15 {
			t.Errorf("%v", stored)
		}
		w.harvest(repos, marchDay(6))
		w.forget()
		if h := w.harvest(issues, marchDay(6)); h.Plan.Stats.Inserted != 10 || h.Plan.Stats.Updated != 0 {
			t.Errorf("%+v", h.Plan)
		}
		for _, spans := range w.forge.spans {
			if spans[0].From.Before(marchDay(3)) {
				t.Errorf("asked again from %v", spans)
			}
		}
	})
}

// A repository that is new is read from its beginning, once, and the others are not; so is one that was closed and is back.
func TestANewParentIsReadFromItsBeginning(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) {
		w := newForgeWorld(t, database)
		repos, issues := w.compile("forge", "repos"), w.compile("forge", "issues")
		w.forge.add(1, marchDay(1), marchDay(1), 1, 2, 6, 7, 8)
		w.harvest(repos, marchDay(5))
		w.harvest(issues, marchDay(5))
		w.forge.add(2, marchDay(2), marchDay(5), 2, 3, 4, 6)
		late := w.forge.add(3, time.Time{}, marchDay(5), 4, 8)
		late.issues[0] = time.Date(2025, 1, 5, 0, 0, 0, 0, time.UTC)
		w.harvest(repos, marchDay(7))
		w.forget()
		if h := w.harvest(issues, marchDay(7)); h.Plan.Stats.Inserted != 7 {
			t.Fatalf("%+v: %v", h.Plan, w.forge.spans)
		}
		if first := w.forge.spans["r1"][0]; first.From.Before(marchDay(4)) {
			t.Errorf("one that is known is asked for from %s", first.From)
		}
		w.harvest(repos, marchDay(8))
		w.forget()
		w.harvest(issues, marchDay(8))
		for name, spans := range w.forge.spans {
			if len(spans) != 1 || spans[0].From.Before(marchDay(6)) {
				t.Errorf("%s is asked for %v", name, spans)
			}
		}
		w.forge.repos["r2"].Closed, w.forge.repos["r2"].Updated = true, marchDay(8)
		w.harvest(repos, marchDay(9))
		w.forget()
		w.harvest(issues, marchDay(9))
		if w.forge.asked["r2"] != 0 || w.forge.asked["r1"] == 0 {
			t.Errorf("asked %v", w.forge.asked)
		}
		w.forge.repos["r2"].Closed, w.forge.repos["r2"].Updated = false, marchDay(9)
		w.forge.repos["r2"].issues[8] = marchDay(8).Add(time.Hour)
		w.harvest(repos, marchDay(10))
		if h := w.harvest(issues, marchDay(10)); h.Plan.Stats.Inserted != 1 {
			t.Errorf("%+v", h.Plan)
		}
	})
}

// A repository that fails is behind by itself: the gap names it, the others are not read again, and one that is closed owes
// nothing.
func TestAParentThatFailsIsBehindByItself(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) {
		w := newForgeWorld(t, database)
		repos, issues := w.compile("forge", "repos"), w.compile("forge", "issues")
		for id := range 6 {
			w.forge.add(id, marchDay(1), marchDay(1), 1, 2, 3, 4, 5, 6)
		}
		w.forge.broken["r2"], w.forge.broken["r4"] = 404, 500
		w.harvest(repos, marchDay(5))
		if h := w.harvest(issues, marchDay(5)); h.Plan.Stats.Inserted != 16 || h.Plan.Slices["FAILED"] != 2 {
			t.Fatalf("%+v", h.Plan)
		}
		if s := w.state(issues); !s.Cursor.Equal(marchDay(1)) || len(coverage.Gaps(s.Segments, window.Window{From: marchDay(1), To: marchDay(5)})) == 0 {
			t.Errorf("the watermark stands at %s: %v", s.Cursor, s.Segments)
		}
		if all := w.lags(issues); len(all) != 4 || all[0].Sector != "repo=2" || all[1].Sector != "repo=4" {
			t.Errorf("%+v", all)
		}
		delete(w.forge.broken, "r4")
		w.forge.repos["r2"].Closed, w.forge.repos["r2"].Updated = true, marchDay(5)
		w.harvest(repos, marchDay(6))
		w.forget()
		if h := w.harvest(issues, marchDay(6)); h.Plan.Slices["FAILED"] != 0 {
			t.Fatalf("%+v", h.Plan)
		}
		if w.forge.asked["r2"] != 0 || w.forge.asked["r1"] != 1 || w.forge.asked["r4"] < 3 {
			t.Errorf("asked %v", w.forge.asked)
		}
		if s := w.state(issues); !s.Cursor.Equal(marchDay(6)) || len(w.lags(issues)) != 0 || len(w.stored("forge")) != 25 {
			t.Errorf("the watermark stands at %s, %d issues, %+v", s.Cursor, len(w.stored("forge")), w.lags(issues))
		}
	})
}

// A new repository that cannot be read from its beginning is a gap there, for itself alone.
func TestANewParentThatFailsIsAGap(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) {
		w := newForgeWorld(t, database)
		repos, issues := w.compile("forge", "repos"), w.compile("forge", "issues")
		w.forge.add(1, marchDay(1), marchDay(1), 1, 2, 3, 4, 5, 6)
		w.harvest(repos, marchDay(5))
		w.harvest(issues, marchDay(5))
		w.forge.add(2, marchDay(2), marchDay(5), 2, 3, 5)
		w.forge.broken["r2"] = 404
		w.harvest(repos, marchDay(6))
		w.harvest(issues, marchDay(6))
		s := w.state(issues)
		if gaps := coverage.Gaps(s.Segments, window.Window{From: marchDay(1), To: marchDay(6)}); len(gaps) == 0 || !gaps[0].From.Equal(marchDay(2)) {
			t.Fatalf("%v", s.Segments)
		}
		delete(w.forge.broken, "r2")
		w.harvest(repos, marchDay(7))
		w.forget()
		w.harvest(issues, marchDay(7))
		if s := w.state(issues); len(coverage.Gaps(s.Segments, window.Window{From: marchDay(1), To: marchDay(7)})) != 0 || len(w.stored("forge")) != 9 || len(w.lags(issues)) != 0 {
			t.Errorf("%v, %v, %+v", s.Segments, w.stored("forge"), w.lags(issues))
		}
		if w.forge.asked["r1"] != 1 {
			t.Errorf("asked %v", w.forge.asked)
		}
	})
}

// A repository that fails for weeks keeps no other from being read: its failures are not taken for trouble of the upstream, which
// would open the breaker of the endpoint or pause its planning.
func TestAParentThatFailsForWeeksKeepsNobodyWaiting(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) {
		w := newForgeWorld(t, database)
		repos, issues := w.compile("forge", "repos"), w.compile("forge", "issues")
		for id := range 4 {
			w.forge.add(id, marchDay(1), marchDay(1), 1, 2, 3, 4, 5, 6, 7, 8, 9)
		}
		w.forge.broken["r1"], w.forge.broken["r3"] = 500, 404
		for day := 2; day <= 9; day++ {
			w.harvest(repos, marchDay(day))
			h := w.harvest(issues, marchDay(day))
			if open := h.Plan.Total - h.Plan.Slices["FAILED"] - h.Plan.Slices["SUCCEEDED"]; open != 0 || len(w.stored("forge")) != 2*(day-1) {
				t.Fatalf("on day %d %d issues are stored: %+v", day, len(w.stored("forge")), h.Plan)
			}
		}
	})
}

// How the record of a part stands is told: one that is new is not read yet, one that is gone was read until then, and one that nobody
// knows is refused.
func TestARecordThatIsAPartIsLookedAt(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) {
		w := newForgeWorld(t, database)
		repos, issues := w.compile("forge", "repos"), w.compile("forge", "issues")
		w.forge.add(1, marchDay(1), marchDay(1), 1)
		w.forge.add(2, marchDay(1), marchDay(1), 1)
		w.harvest(repos, marchDay(4))
		w.harvest(issues, marchDay(4))
		look := func(id string) (Part, error) {
			found, err := sector.Find(issues.Snapshot.Partitions, "repo="+id)
			if err != nil {
				t.Fatal(err)
			}
			return w.app.LookAtPart(t.Context(), issues, found)
		}
		w.forge.repos["r2"].Closed, w.forge.repos["r2"].Updated = true, marchDay(4)
		w.forge.add(3, marchDay(4), marchDay(4), 4)
		w.harvest(repos, marchDay(6))
		if p, err := look("1"); err != nil || p.Unread || !p.Closed.IsZero() {
			t.Errorf("one that was read: %+v %v", p, err)
		}
		if p, err := look("2"); err != nil || p.Unread || p.Closed.IsZero() {
			t.Errorf("one that is gone: %+v %v", p, err)
		}
		if p, err := look("3"); err != nil || !p.Unread || !p.Closed.IsZero() {
			t.Errorf("one that is new: %+v %v", p, err)
		}
		if p, err := look("17"); !errors.Is(err, fault.ErrInvalid) {
			t.Errorf("one that nobody knows: %+v %v", p, err)
		}
		w.harvest(issues, marchDay(6))
		if p, err := look("3"); err != nil || p.Unread {
			t.Errorf("one that was new: %+v %v", p, err)
		}
	})
}

// A backfill of a list whose parts nobody has read claims nothing: the parts that are stored later would not be read from their
// beginning.
func TestABackfillWaitsForItsParts(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) {
		w := newForgeWorld(t, database)
		w.first = marchDay(4) // the harvest leaves the past to the backfill
		repos, issues := w.compile("forge", "repos"), w.compile("forge", "issues")
		backfill, err := Compile(w.source("forge"), "issues", ingest.Backfill, nil)
		if err != nil {
			t.Fatal(err)
		}
		for id := range 3 {
			w.forge.add(id, marchDay(1), marchDay(5), 1, 2, 3)
		}
		past := wish("past", window.Window{From: marchDay(1), To: marchDay(4)})
		past.Now, past.Typed, past.By = marchDay(6), "past", tester
		read := func() ingest.CampaignState {
			t.Helper()
			campaign, empty, err := w.app.OpenCampaign(t.Context(), backfill, past)
			if err != nil || empty != "" {
				t.Fatalf("%q, %v", empty, err)
			}
			stand, err := w.app.Backfill(t.Context(), backfill, campaign, CampaignRun{Now: fixed(marchDay(6))})
			if err != nil {
				t.Logf("%v", err)
			}
			return stand.State
		}
		if state := read(); state == ingest.CampaignCompleted {
			t.Error("a backfill of nobody is complete")
		}
		w.harvest(repos, marchDay(6))
		if state := read(); state == ingest.CampaignCompleted {
			t.Error("a backfill is complete before the harvest began to which later parents are new")
		}
		w.harvest(issues, marchDay(6))
		for range 3 {
			if read() == ingest.CampaignCompleted {
				break
			}
		}
		if n := len(w.stored("forge")); n != 9 {
			t.Errorf("%d issues of 9 are stored", n)
		}
	})
}
