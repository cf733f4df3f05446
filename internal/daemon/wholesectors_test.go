package daemon

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/generation"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/testkit/localstore"
)

const wholeSectors = `source: groups
name: Members of groups
http: {baseUrl: %q, allowHttp: true, allowPrivate: true}
rate: {perSecond: 1000, burst: 100}
retry: {maxAttempts: 1, taskAttempts: 1}
endpoints:
  members:
    role: SEARCH
    request: {path: "/groups/${partition.group}/members", query: {offset: "${page.offset}", limit: "${page.size}"}}
    filter: {bounds: NONE}
    partitions: {group: {values: [red, green, blue, white]}}
    paging: {type: OFFSET, size: 3}
    snapshot: {every: P1D, confirm: 1, maxGone: 1}
    response: {items: $.members, id: $.id, total: $.count, fields: {title: $.id}}
`

// wholeParents has the groups from a list of its own, which is read whole as well.
var wholeParents = strings.Replace(strings.Replace(wholeSectors, "values: [red, green, blue, white]", "from: {endpoint: groups, value: $.id}", 1), "endpoints:\n", `endpoints:
  groups:
    role: SEARCH
    request: {path: /groups/all, query: {offset: "${page.offset}", limit: "${page.size}"}}
    filter: {bounds: NONE}
    paging: {type: OFFSET, size: 3}
    snapshot: {every: P1D, confirm: 1, maxGone: 1, minShare: 0}
    response: {items: $.members, id: $.id, total: $.count, fields: {title: $.id}}
`, 1)

// groups serve the members of each group, without dates.
type groups struct {
	sync.Mutex
	members map[string]map[string]bool
	broken  map[string]bool
	closed  map[string]bool // groups that the list of groups does not have
	emptied string          // a group that is served without its members
}

func (g *groups) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.Lock()
	defer g.Unlock()
	name := strings.Split(r.URL.Path, "/")[2]
	if g.broken[name] {
		http.Error(w, "broken", http.StatusBadRequest)
		return
	}
	offset, _ := strconv.Atoi(r.FormValue("offset"))
	limit, _ := strconv.Atoi(r.FormValue("limit"))
	all, page := slices.Sorted(maps.Keys(g.members[name])), []any{}
	if name == "all" {
		all = slices.DeleteFunc(slices.Sorted(maps.Keys(g.members)), func(name string) bool { return g.closed[name] })
	}
	if name == g.emptied {
		all = nil
	}
	for _, id := range all[min(offset, len(all)):min(offset+limit, len(all))] {
		page = append(page, map[string]any{"id": id, "size": len(g.members[id])})
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"members": page, "count": len(all)})
}

// living are the members of all groups.
func (g *groups) living() map[string]bool {
	out := map[string]bool{}
	for name, members := range g.members {
		if !g.closed[name] {
			maps.Copy(out, members)
		}
	}
	return out
}

// wholeGroups is a program that reads the members of all groups, day after day.
type wholeGroups struct {
	*testing.T
	groups *groups
	app    *App
	list   *spec.Compiled
	all    *spec.Compiled // the list of groups; nil: they are listed in the file
	now    time.Time
	clock  atomic.Pointer[time.Time]
}

func newWholeGroups(t *testing.T, database, file string) *wholeGroups {
	w := &wholeGroups{T: t, groups: &groups{members: map[string]map[string]bool{"red": {}, "green": {}, "blue": {}, "white": {}}, broken: map[string]bool{}, closed: map[string]bool{}}, now: time.Date(2025, 3, 3, 0, 0, 0, 0, time.UTC)}
	server := httptest.NewServer(w.groups)
	t.Cleanup(server.Close)
	src, _, err := registry.Decode("groups.yaml", fmt.Appendf(nil, file, server.URL))
	w.must(err)
	w.list, err = Compile(src, "members", ingest.Harvest, nil)
	w.must(err)
	if strings.Contains(file, "  groups:\n") {
		w.all, err = Compile(src, "groups", ingest.Harvest, nil)
		w.must(err)
	}
	localstore.GiveTables(t, database)
	w.tick(0)
	w.app, err = Open(t.Context(), Config{Database: database, Relaxed: true, Workers: 4, Clock: func() time.Time { return *w.clock.Load() }})
	w.must(err)
	t.Cleanup(func() { w.app.Close() })
	return w
}

func (w *wholeGroups) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *wholeGroups) tick(d time.Duration) {
	now := w.now.Add(d)
	w.now = now
	w.clock.Store(&now)
}

// harvest reads all groups a day later, and returns as of when the list is known.
func (w *wholeGroups) harvest() (known time.Time) {
	w.Helper()
	w.tick(24 * time.Hour)
	if w.all != nil {
		_, err := w.app.Harvest(w.Context(), w.all, NewRequest(w.now, nil, nil), Watch{})
		w.must(err)
	}
	_, err := w.app.Harvest(w.Context(), w.list, NewRequest(w.now, nil, nil), Watch{})
	w.must(err)
	own, err := w.list.Namespace()
	w.must(err)
	state, _, err := w.app.store.CoverageState(w.Context(), own)
	w.must(err)
	return state.Cursor
}

// stored are the records that are there, by their state.
func (w *wholeGroups) stored() map[string]string {
	w.Helper()
	out := map[string]string{}
	records, err := w.app.store.Records(w.Context(), "groups", "members", nil, 10_000)
	w.must(err)
	for _, r := range records {
		out[r.ID] = string(r.State)
	}
	return out
}

// A list in partitions that is read whole is one reading: it counts if every partition was read, and a record is
// gone if none of them has it any more. Members come, leave, change the group and are in several; groups break.
func TestAWholeListInPartitionsIsOneReading(t *testing.T) { tryWholeGroups(t, wholeSectors) }

// So is one whose partitions are stored records, which come and go: what only a group had that is gone is gone with it.
func TestAWholeListOfParentsIsOneReading(t *testing.T) { tryWholeGroups(t, wholeParents) }

func tryWholeGroups(t *testing.T, file string) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			onBothDatabases(t, func(t *testing.T, database string) {
				w, random := newWholeGroups(t, database, file), rand.New(rand.NewPCG(seed, 1))
				names := slices.Sorted(maps.Keys(w.groups.members))
				for n := range 40 {
					w.groups.members[names[n%4]][fmt.Sprint("m", n)] = true
				}
				known := w.harvest()
				if !known.Equal(w.now) {
					t.Fatalf("known as of %s, want %s", known, w.now)
				}
				for round := range 8 {
					for range 6 {
						id, from, to := fmt.Sprint("m", random.IntN(50)), names[random.IntN(4)], names[random.IntN(4)]
						switch random.IntN(3) {
						case 0:
							w.groups.members[to][id] = true
						case 1:
							delete(w.groups.members[from], id)
						case 2: // moves
							if w.groups.members[from][id] {
								delete(w.groups.members[from], id)
								w.groups.members[to][id] = true
							}
						}
					}
					clear(w.groups.broken)
					if clear(w.groups.closed); w.all != nil && random.IntN(2) == 0 {
						w.groups.closed[names[random.IntN(4)]] = true
					}
					if random.IntN(3) == 0 {
						if name := names[random.IntN(4)]; !w.groups.closed[name] {
							w.groups.broken[name] = true
						}
					}
					before, stored := known, w.stored()
					known = w.harvest()
					if whole := len(w.groups.broken) == 0; whole != known.Equal(w.now) || !whole && !known.Equal(before) {
						t.Fatalf("round %d, broken %v: known as of %s, and as of %s before", round, w.groups.broken, known, before)
					}
					living := w.groups.living()
					for id, state := range w.stored() {
						switch {
						case living[id] && state != "ACTIVE" && len(w.groups.broken) == 0:
							t.Errorf("round %d: %s is in a list and is %s", round, id, state)
						case state != "ACTIVE" && stored[id] == "ACTIVE" && (living[id] || len(w.groups.broken) > 0):
							t.Errorf("round %d: %s became %s by a reading that does not tell so", round, id, state)
						case !living[id] && state == "ACTIVE" && len(w.groups.broken) == 0:
							t.Errorf("round %d: %s is in no list and is %s", round, id, state)
						}
						delete(living, id)
					}
					if len(living) > 0 && len(w.groups.broken) == 0 {
						t.Errorf("round %d: %v are not there", round, living)
					}
				}
			})
		})
	}
}

// A group that is served without the members which its own record counts does not count as read, if the file compares the two. Without
// that nobody can tell.
func TestAnEmptyPartitionThatItsRecordDenies(t *testing.T) {
	carried := strings.Replace(wholeParents, "from: {endpoint: groups, value: $.id}", "from: {endpoint: groups, value: $.id, carry: {size: $.size}}", 1)
	compared := strings.TrimSuffix(strings.TrimSpace(carried), "}") + `, errorWhen: ["${jsonPath('$.count') == 0 && partition.group.size != '0'}"]}` + "\n"
	for name, file := range map[string]string{"compared": compared, "believed": carried} {
		t.Run(name, func(t *testing.T) {
			onBothDatabases(t, func(t *testing.T, database string) {
				w := newWholeGroups(t, database, file)
				for n := range 40 {
					w.groups.members[[]string{"red", "green", "blue"}[n%3]][fmt.Sprint("m", n)] = true // white has none, and says so
				}
				known := w.harvest()
				if !known.Equal(w.now) || len(w.stored()) != 40 {
					t.Fatalf("known as of %s, %d are stored", known, len(w.stored()))
				}
				w.groups.emptied = "green"
				if got := w.harvest(); got.Equal(w.now) != (name == "believed") {
					t.Errorf("known as of %s at %s", got, w.now)
				}
				w.groups.emptied = ""
				if got := w.harvest(); !got.Equal(w.now) {
					t.Errorf("known as of %s at %s", got, w.now)
				}
			})
		})
	}
}

// A list whose partitions came whole and hold too little together does not count, though each was read to its end; the
// next reading asks all of them again. Nobody lags alone.
func TestAShrunkListInPartitions(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) {
		w := newWholeGroups(t, database, wholeSectors)
		for n := range 40 {
			w.groups.members[[]string{"red", "green", "blue", "white"}[n%4]][fmt.Sprint("m", n)] = true
		}
		known := w.harvest()
		full := w.groups.members
		w.groups.members = map[string]map[string]bool{"red": full["red"], "green": {}, "blue": {}, "white": {}}
		if got := w.harvest(); !got.Equal(known) {
			t.Errorf("a list with a quarter of its members counts as of %s", got)
		}
		own, err := w.list.Namespace()
		w.must(err)
		if lags, err := w.app.store.SectorLags(t.Context(), own); err != nil || len(lags) > 0 {
			t.Errorf("%v lags alone: %v", lags, err)
		}
		src, _, err := registry.Decode("groups.yaml", fmt.Appendf(nil, wholeSectors, "http://127.0.0.1"))
		w.must(err)
		covered, err := w.app.Inspect.CoverageOf(t.Context(), src)
		if err != nil || len(covered.All) != 1 {
			t.Fatalf("%+v %v", covered, err)
		}
		readings, err := w.app.Cursors.ListReadings(t.Context(), covered.All[0].Cursor.ID, 0, 10)
		if err != nil || len(readings) != 2 || readings[0].State != generation.Shrunk || readings[0].Items != 10 || readings[0].Last != 40 {
			t.Fatalf("%+v %v", readings, err)
		}
		w.groups.members = full
		if got := w.harvest(); !got.Equal(w.now) {
			t.Errorf("the whole list is there again, and is known as of %s", got)
		}
		for id, state := range w.stored() {
			if state != "ACTIVE" {
				t.Errorf("%s is %s", id, state)
			}
		}
	})
}
