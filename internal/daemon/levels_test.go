package daemon

import (
	"cmp"
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
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/testkit/localstore"
)

// levelSource has repositories, the issues of each, and the comments on each issue.
const levelSource = `source: levels
name: Levels
http: {baseUrl: %q, allowHttp: true, allowPrivate: true}
rate: {perSecond: 10000, burst: 1000}
retry: {maxAttempts: 1, taskAttempts: 1}
filter: {field: updated, precision: SECOND, to: EXCLUSIVE}
window: {safetyLag: PT0S, lookback: P1D, earliest: "2025-03-01"}
slicing: {step: P2D}
paging: {type: OFFSET, size: 3, stable: true}
endpoints:
  repos:
    role: SEARCH
    request: {path: /of/all, query: {from: "${filter.from}", to: "${filter.to}", offset: "${page.offset}", limit: "${page.size}"}}
    response: {items: $.items, id: $.id, updatedAt: $.updated, total: $.count, fields: {of: $.of}}
  issues:
    role: SEARCH
    partitions: {repo: {from: {endpoint: repos, value: $.id, since: $.updated}}}
    request: {path: "/of/${partition.repo}", query: {from: "${filter.from}", to: "${filter.to}", offset: "${page.offset}", limit: "${page.size}"}}
    response: {items: $.items, id: $.id, updatedAt: $.updated, total: $.count, fields: {of: $.of}}
  comments:
    role: SEARCH
    partitions: {issue: {from: {endpoint: issues, value: $.id, carry: {repo: $.of}, since: $.updated}}}
    request: {path: "/of/${partition.issue}", query: {repo: "${partition.issue.repo}", from: "${filter.from}", to: "${filter.to}", offset: "${page.offset}", limit: "${page.size}"}}
    response: {items: $.items, id: $.id, updatedAt: $.updated, total: $.count, fields: {of: $.of}}
`

// tree serves things that have others below them: each is no older than what it is below.
type tree struct {
	sync.Mutex
	below  map[string]map[string]time.Time // by the id of what they are below; "all" has the first level
	broken map[string]bool
	wrong  []string // questions about a thing that name another parent of it
}

func (s *tree) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.Lock()
	defer s.Unlock()
	of := strings.TrimPrefix(r.URL.Path, "/of/")
	if repo := r.FormValue("repo"); repo != "" && !strings.HasPrefix(of, repo+".") {
		s.wrong = append(s.wrong, r.URL.String())
	}
	if s.broken[of] {
		http.Error(w, "no", http.StatusNotFound)
		return
	}
	from, _ := time.Parse(time.RFC3339, r.FormValue("from"))
	to, _ := time.Parse(time.RFC3339, r.FormValue("to"))
	type item struct {
		ID      string    `json:"id"`
		Of      string    `json:"of"`
		Updated time.Time `json:"updated"`
	}
	found := []item{}
	for id, at := range s.below[of] {
		if !at.Before(from) && at.Before(to) {
			found = append(found, item{id, of, at})
		}
	}
	slices.SortFunc(found, func(a, b item) int { return cmp.Or(a.Updated.Compare(b.Updated), strings.Compare(a.ID, b.ID)) })
	offset, _ := strconv.Atoi(r.FormValue("offset"))
	limit, _ := strconv.Atoi(r.FormValue("limit"))
	_ = json.NewEncoder(w).Encode(map[string]any{"items": found[min(offset, len(found)):min(offset+limit, len(found))], "count": len(found)})
}

// grow adds a repository on a day, with an issue on that day and on two later ones, and three comments on each issue.
func (s *tree) grow(repo string, day int) {
	s.Lock()
	defer s.Unlock()
	add := func(of, id string, at time.Time) {
		if s.below[of] == nil {
			s.below[of] = map[string]time.Time{}
		}
		s.below[of][id] = at
	}
	add("all", repo, marchDay(day).Add(time.Hour))
	for i := range 3 {
		issue := fmt.Sprintf("%s.i%d", repo, i)
		add(repo, issue, marchDay(day+i).Add(2*time.Hour))
		for n := range 3 {
			add(issue, fmt.Sprintf("%s.c%d", issue, n), marchDay(day+i+n).Add(3*time.Hour))
		}
	}
}

// levelWorld reads a tree, a level at a time.
type levelWorld struct {
	*testing.T
	app    *App
	tree   *tree
	source *registry.Source
	levels []*spec.Compiled // from the first level down
}

func newLevelWorld(t *testing.T, database string) *levelWorld {
	w := &levelWorld{T: t, tree: &tree{below: map[string]map[string]time.Time{}, broken: map[string]bool{}}}
	server := httptest.NewServer(w.tree)
	t.Cleanup(server.Close)
	var err error
	if w.source, _, err = registry.Decode("levels.yaml", fmt.Appendf(nil, levelSource, server.URL)); err != nil {
		t.Fatal(err)
	}
	for _, endpoint := range []string{"repos", "issues", "comments"} {
		c, err := Compile(w.source, endpoint, ingest.Harvest, nil)
		if err != nil {
			t.Fatal(err)
		}
		w.levels = append(w.levels, c)
	}
	localstore.GiveTables(t, database)
	if w.app, err = Open(t.Context(), Config{Database: database, Relaxed: true, Workers: 2}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.app.Close() })
	w.app.Planner.Settling = time.Nanosecond // nobody else writes
	return w
}

// harvest reads one level up to a day, and holds what the ledger says of all levels against the tree.
func (w *levelWorld) harvest(level, day int) Harvested {
	w.Helper()
	r := NewRequest(marchDay(day), nil, nil)
	if w.cursor(level).IsZero() {
		from := marchDay(1)
		r.From = &from
	}
	r.RetryBefore = time.Now().Add(time.Hour)
	h, err := w.app.Harvest(w.Context(), w.levels[level], r, Watch{})
	if err != nil {
		w.Fatal(err)
	}
	w.checkClaims()
	return h
}

func (w *levelWorld) cursor(level int) time.Time {
	return readCoverage(w, w.app, w.levels[level]).Cursor
}

func (w *levelWorld) stored(level int) map[string]bool {
	w.Helper()
	records, err := w.app.store.Records(w.Context(), "levels", w.levels[level].Snapshot.Endpoint, nil, 10_000)
	if err != nil {
		w.Fatal(err)
	}
	out := map[string]bool{}
	for _, r := range records {
		out[r.ID] = true
	}
	return out
}

// checkClaims holds that no level claims more than the one above it, and that all that the tree has before the watermark of a
// level is stored: what is below a thing that nobody knows yet too.
func (w *levelWorld) checkClaims() {
	w.Helper()
	w.tree.Lock()
	defer w.tree.Unlock()
	of := []string{"all"}
	for level := range w.levels {
		at, stored, next := w.cursor(level), w.stored(level), []string(nil)
		if level > 0 && at.After(w.cursor(level-1)) {
			w.Errorf("level %d is known up to %s, and level %d up to %s", level+1, at, level, w.cursor(level-1))
		}
		for _, parent := range of {
			for id, updated := range w.tree.below[parent] {
				if next = append(next, id); updated.Before(at) && !stored[id] {
					w.Errorf("%s of %s is not stored, and its level is known up to %s", id, updated, at)
				}
			}
		}
		of = next
	}
}

// Three levels are read one below the other: comments on the issues of repositories. No level claims more than the one above
// it, whichever is read first; what is new anywhere is read with all that is below it; at the end all of it is stored,
// nothing is missing, and reading again changes nothing.
func TestThreeLevelsAreHarvested(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) {
		w := newLevelWorld(t, database)
		w.tree.grow("a", 1)
		w.tree.grow("b", 2)
		if h := w.harvest(2, 4); !h.Draft.Empty || !strings.Contains(h.Draft.Reason, "patra harvest levels --endpoint issues") {
			t.Fatalf("comments before issues: %+v", h.Draft)
		}
		w.harvest(0, 4)
		if h := w.harvest(2, 4); !h.Draft.Empty {
			t.Fatalf("comments before issues: %+v", h.Draft)
		}
		w.harvest(1, 3) // not as far as repositories are known
		w.harvest(2, 9)
		if at := w.cursor(2); !at.Equal(marchDay(3)) {
			t.Errorf("comments are known up to %s, issues up to %s", at, w.cursor(1))
		}
		// The middle level goes on without the first, and the last without both.
		w.tree.grow("c", 4)
		w.harvest(1, 9)
		w.harvest(2, 9)
		if at := w.cursor(2); !at.Equal(marchDay(4)) {
			t.Errorf("comments are known up to %s, repositories up to %s", at, w.cursor(0))
		}
		// A part of the last level fails while the first has something new.
		w.tree.Lock()
		w.tree.broken["c.i0"] = true
		w.tree.Unlock()
		for level, day := range []int{6, 6, 6} {
			w.harvest(level, day)
		}
		if at := w.cursor(2); !at.Before(marchDay(6)) {
			t.Errorf("the comments on an issue failed, and comments are known up to %s", at)
		}
		w.tree.Lock()
		w.tree.broken = map[string]bool{}
		w.tree.Unlock()
		for range 2 { // what failed tells that it answers, and is read
			for level := range w.levels {
				w.harvest(level, 12)
			}
		}
		w.isWhole(12, 9, 27)
		for level := range w.levels {
			if h := w.harvest(level, 12); h.Plan.Stats.Inserted+h.Plan.Stats.Updated+h.Plan.Stats.Gone != 0 || len(h.Plan.Slices) > 1 {
				t.Errorf("level %d, read again: %+v", level+1, h.Plan)
			}
		}
		if len(w.tree.wrong) > 0 {
			t.Errorf("questions that name another repository: %q", w.tree.wrong)
		}
	})
}

// isWhole holds that all levels are known up to a day, with three repositories and so many issues and comments, and miss nothing.
func (w *levelWorld) isWhole(day, issues, comments int) {
	w.Helper()
	for level, want := range []int{3, issues, comments} {
		state := readCoverage(w, w.app, w.levels[level])
		if gaps := coverage.Gaps(state.Segments, window.Window{From: marchDay(1), To: marchDay(day)}); len(gaps) > 0 || !state.Cursor.Equal(marchDay(day)) {
			w.Errorf("level %d is known up to %s, without %v", level+1, state.Cursor, gaps)
		}
		if got := len(w.stored(level)); got != want {
			w.Errorf("level %d has %d records, want %d", level+1, got, want)
		}
	}
	covered, err := w.app.Inspect.CoverageOf(w.Context(), w.source)
	if err != nil || len(covered.All) != 3 {
		w.Fatalf("%+v %v", covered, err)
	}
	for _, one := range covered.All {
		if len(one.FailedGaps()) > 0 || len(one.Lags) > 0 {
			w.Errorf("%s: %+v, %+v", one.Endpoint, one.FailedGaps(), one.Lags)
		}
	}
}

// A product of two lists is read for every combination: all is stored, nothing is missing, one combination that fails keeps its
// windows owed alone, and reading again changes nothing.
func TestAProductOfValuesIsHarvested(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) {
		shelves := &tree{below: map[string]map[string]time.Time{}, broken: map[string]bool{"de/math": true}}
		want := 0
		for _, lang := range []string{"en", "de"} {
			for n, set := range []string{"cs", "math", "physics"} {
				shelf := map[string]time.Time{}
				for i := range 4 * (n + 1) {
					shelf[fmt.Sprintf("%s-%s-%d", lang, set, i)], want = marchDay(1+i%4).Add(time.Duration(i)*time.Minute), want+1
				}
				shelves.below[lang+"/"+set] = shelf
			}
		}
		server := httptest.NewServer(shelves)
		defer server.Close()
		text := strings.NewReplacer("/of/all", `"/of/${partition.lang}/${partition.set}"`, "    role: SEARCH\n", "    role: SEARCH\n    partitions: {lang: {values: [en, de]}, set: {values: [cs, math, physics]}}\n").Replace(levelSource[:strings.Index(levelSource, "  issues:")])
		src, _, err := registry.Decode("levels.yaml", fmt.Appendf(nil, text, server.URL))
		if err != nil {
			t.Fatal(err)
		}
		c, err := Compile(src, "repos", ingest.Harvest, nil)
		if err != nil {
			t.Fatal(err)
		}
		localstore.GiveTables(t, database)
		app, err := Open(t.Context(), Config{Database: database, Relaxed: true, Workers: 2})
		if err != nil {
			t.Fatal(err)
		}
		defer app.Close()
		harvest := func(first bool) Harvested {
			t.Helper()
			from, r := marchDay(1), NewRequest(marchDay(5), nil, nil)
			if first {
				r.From = &from
			}
			r.RetryBefore = time.Now().Add(time.Hour)
			h, err := app.Harvest(t.Context(), c, r, Watch{})
			if err != nil {
				t.Fatal(err)
			}
			return h
		}
		if h := harvest(true); h.Plan.Stats.Inserted != want-8 || h.Plan.Slices["FAILED"] != 2 || h.Plan.Total != 12 {
			t.Errorf("%+v, want all but 8 of %d", h.Plan, want)
		}
		covered, err := app.Inspect.CoverageOf(t.Context(), src)
		if err != nil || len(covered.All) != 1 || len(covered.All[0].Lags) == 0 {
			t.Fatalf("%+v %v", covered, err)
		}
		for _, l := range covered.All[0].Lags {
			if l.Sector != "lang=de,set=math" {
				t.Errorf("%s lags, and it was read", l.Sector)
			}
		}
		shelves.Lock()
		shelves.broken = map[string]bool{}
		shelves.Unlock()
		harvest(false)
		harvest(false)
		state := readCoverage(t, app, c)
		if gaps := coverage.Gaps(state.Segments, window.Window{From: marchDay(1), To: marchDay(5)}); len(gaps) > 0 || !state.Cursor.Equal(marchDay(5)) {
			t.Errorf("known up to %s, without %v", state.Cursor, gaps)
		}
		if records, err := app.store.Records(t.Context(), "levels", "repos", nil, 1000); err != nil || len(records) != want {
			t.Errorf("%d records, want %d: %v", len(records), want, err)
		}
		if h := harvest(false); h.Plan.Stats.Inserted+h.Plan.Stats.Updated != 0 || h.Plan.Stats.Unchanged == 0 {
			t.Errorf("read again: %+v", h.Plan.Stats)
		}
	})
}
