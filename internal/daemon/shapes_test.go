package daemon

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/testkit/localstore"
)

const shapedSource = `source: shapes
name: Shapes
http: {baseUrl: %q, allowHttp: true, allowPrivate: true}
rate: {perSecond: 1000, burst: 100}
filter: {bounds: NONE}
snapshot: {every: P1D, confirm: 1, maxGone: 1}
endpoints:
  routes:
    role: SEARCH
    request: {path: /menus, query: {offset: "${page.offset}", limit: "${page.size}"}}
    paging: {type: OFFSET, size: 10, expectTotal: true}
    response:
      items: $.menus
      expand: {path: "$.groups[*].routes[*]", carry: {menu: $.id}}
      id: "${carried('menu')}-${jsonPath('$.no')}"
      total: $.count
      fields: {menu: "${carried('menu')}", to: $.to}
  rows:
    role: SEARCH
    request: {path: /table}
    paging: {type: ONE}
    response: {items: "$[1:]", table: {names: "$[0]"}, id: $.id, fields: {n: $.n}}
  entities:
    role: SEARCH
    request: {path: /entities}
    paging: {type: ONE}
    response: {items: "$.entities.*", id: "${key}", fields: {name: "${key}", n: $.n}}
`

// serveShapes serves lists that are no plain lists of objects: 23 menus with routes in groups, a table with a
// row that does not fit, and an object of entities.
func serveShapes(w http.ResponseWriter, r *http.Request) {
	encode := func(v any) { _ = json.NewEncoder(w).Encode(v) }
	switch r.URL.Path {
	case "/table":
		encode([]any{[]any{"id", "n"}, []any{"a", 1}, []any{"b", 2, 3}, []any{"c", 4}})
	case "/entities":
		encode(map[string]any{"entities": map[string]any{"Q1": map[string]any{"n": 1}, "Q2": map[string]any{"n": 1}, "Q3": map[string]any{"n": 2}}})
	default:
		offset, _ := strconv.Atoi(r.FormValue("offset"))
		limit, _ := strconv.Atoi(r.FormValue("limit"))
		menus := []any{}
		for i := offset; i < min(23, offset+limit); i++ {
			routes := []any{}
			for no := range i % 4 {
				routes = append(routes, map[string]any{"no": no, "to": fmt.Sprint("+", i*100+no)})
			}
			menus = append(menus, map[string]any{"id": fmt.Sprint("m", i), "groups": []any{map[string]any{"routes": routes}, map[string]any{"routes": nil}}})
		}
		encode(map[string]any{"menus": menus, "count": 23})
	}
}

// Items that hold several records, rows of a table and members of an object are harvested whole: paging
// counts the items of the upstream, every item is accounted for, the second time all is unchanged, and
// kept answers give the same records.
func TestAnswersOfOtherShapesAreHarvested(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(serveShapes))
	defer server.Close()
	src, _, err := registry.Decode("shapes.yaml", fmt.Appendf(nil, shapedSource, server.URL))
	if err != nil {
		t.Fatal(err)
	}
	onBothDatabases(t, func(t *testing.T, database string) {
		localstore.GiveTables(t, database)
		var clock atomic.Pointer[time.Time]
		now := time.Date(2025, 3, 3, 0, 0, 0, 0, time.UTC)
		clock.Store(&now)
		app, err := Open(t.Context(), Config{Database: database, Relaxed: true, Workers: 1, Clock: func() time.Time { return *clock.Load() }, Raw: RawConfig{Dir: filepath.Join(t.TempDir(), "raw")}})
		if err != nil {
			t.Fatal(err)
		}
		defer app.Close()
		for endpoint, want := range map[string]ingest.BatchStats{
			"routes":   {Seen: 39, Inserted: 33, Excluded: 6}, // menus without a route are left out
			"rows":     {Seen: 3, Inserted: 2, Quarantined: 1},
			"entities": {Seen: 3, Inserted: 3},
		} {
			c, err := Compile(src, endpoint, ingest.Harvest, nil)
			if err != nil {
				t.Fatal(err)
			}
			for round := range 2 {
				later := clock.Load().Add(25 * time.Hour)
				clock.Store(&later)
				h, err := app.Harvest(t.Context(), c, NewRequest(later, nil, nil), Watch{})
				if err != nil || h.Plan.Slices[string(ingest.SliceSucceeded)] != 1 {
					t.Fatalf("%s: %v %v", endpoint, h.Plan.Slices, err)
				}
				readings := 1
				if endpoint == "routes" { // whose pages are counted, and so read until two readings agree
					readings = 2
				}
				s := h.Plan.Stats.BatchStats
				if !s.Balanced() || s.Seen != readings*want.Seen || s.Excluded != readings*want.Excluded || s.Quarantined != readings*want.Quarantined ||
					round == 0 && s.Inserted != want.Inserted || round == 1 && s.Inserted+s.Updated+s.Gone > 0 {
					t.Errorf("%s, harvest %d: %+v, want %+v in each of %d readings", endpoint, round+1, s, want, readings)
				}
			}
		}
		batches, err := app.Tasks.ListBatches(t.Context(), view.Filter{Limit: 100})
		if err != nil || len(batches) < 10 {
			t.Fatalf("%d batches, %v", len(batches), err)
		}
		for _, b := range batches {
			report, err := app.Replays.Replay(t.Context(), BatchRef{BatchID: b.ID}, ReplayOptions{From: ReplayRaw, At: time.Now()})
			if err != nil || !report.Identical {
				t.Errorf("batch %d: %v %+v", b.ID, err, report)
			}
		}
	})
}
