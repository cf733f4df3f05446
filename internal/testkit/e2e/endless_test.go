package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/testkit/check"
	"github.com/patra-ingest/patra/internal/upsim"
)

// endless is an upstream whose pages never end and that ignores the window it is asked
// for.
type endless struct {
	*httptest.Server
	endlessKind
	hits, items atomic.Int64
}

// endlessKind is what an endless upstream shows.
type endlessKind struct {
	freshIDs    bool  // every item has an id of its own, whatever was asked before
	freshStamps bool  // and so has its date
	total       int64 // announced; zero: none is
}

const endlessPage = 10

func newEndless(t *testing.T, kind endlessKind) *endless {
	t.Helper()
	up := &endless{endlessKind: kind}
	up.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		up.hits.Add(1)
		page, _ := strconv.Atoi(r.FormValue("cursor"))
		var items []map[string]any
		for i := range endlessPage {
			n := int64(page*endlessPage + i)
			id, stamp := n, n
			if unique := up.items.Add(1); up.freshIDs {
				id = unique
				if up.freshStamps {
					stamp = unique
				}
			}
			items = append(items, map[string]any{"id": fmt.Sprint("item-", id), "updated": weekFrom.Add(time.Duration(stamp) * time.Second)})
		}
		answer := map[string]any{"items": items, "next": fmt.Sprint(page + 1)}
		if up.total > 0 {
			answer["total"] = up.total
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(up.Close)
	return up
}

func (up *endless) apply(w *world, more string) {
	w.t.Helper()
	if more != "" {
		more = "\n      " + more
	}
	text := fmt.Sprintf(`source: endless
name: Endless
http: {baseUrl: %q, allowPrivate: true}
rate: {perSecond: 5000, burst: 50, concurrency: 4}
retry: {initialDelay: PT0.001S, maxDelay: PT0.01S}
endpoints:
  items:
    role: SEARCH
    request: {path: /items, query: {from: "${filter.from}", to: "${filter.to}", cursor: "${page.token}"}}
    filter: {field: updated, precision: SECOND, from: INCLUSIVE, to: EXCLUSIVE}
    window: {size: P1D, lookback: PT0S, safetyLag: PT30M}
    slicing: {step: P1D, maxRequests: 20}
    paging: {type: TOKEN, size: %d, expectTotal: false}
    response:
      items: $.items
      nextToken: $.next
      id: $.id
      updatedAt: $.updated%s
`, up.URL, endlessPage, more)
	file := filepath.Join(w.t.TempDir(), "endless.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	w.must("source", "apply", file)
}

// An upstream that ignores the window and never comes to an end is not cut again and
// again: two parts of a window that show the same stop the source.
func TestTrust05AnIgnoredWindowStopsTheSource(t *testing.T) {
	for _, tc := range []struct {
		name string
		up   endlessKind
		file string // more lines of the response
		says string
	}{
		{"ids", endlessKind{}, "", "the same 10 items"},
		{"dates of the filter", endlessKind{freshIDs: true}, "filtered: $.updated", "dates from 2025-03-03T00:00:00Z to 2025-03-03T00:00:09Z"},
		{"stamps", endlessKind{freshIDs: true}, "", "the same 10 dates"},
		{"total", endlessKind{freshIDs: true, freshStamps: true, total: 4711}, "total: $.total", "the total of the whole, 4711, and so have the shortest windows"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			onEveryDatabase(t, func(t *testing.T, database string) {
				w := newWorld(t, database, upsim.Config{Seed: 7, PerDay: 1, Flat: true}, upsim.Options{})
				up := newEndless(t, tc.up)
				up.apply(w, tc.file)
				code, out, errText := w.built("harvest", "endless", "--from", "2025-03-05", "--to", "2025-03-08", "--now", w.now.Format(time.RFC3339), "--workers", "1", "-o", "json")
				var got toldWhy
				if err := json.Unmarshal([]byte(out), &got); err != nil {
					t.Fatalf("exit %d: %v\n%s%s", code, err, out, errText)
				}
				if code != 2 || got.Stopped == nil || got.Stopped.Code != "NO_END" || !strings.Contains(errText, tc.says) || !strings.Contains(errText, "patra source resume endless") {
					t.Errorf("exit %d\n%s%s", code, out, errText)
				}
				if hits := up.hits.Load(); hits > 30 {
					t.Errorf("%d requests for a slice that may use 20", hits)
				}
				sound(w)
			})
		})
	}
}

// Where every answer shows something else, nothing proves that there is no end. The
// budget of the plan ends it; what was not read stays owed.
func TestTrust05ABudgetOfThePlanEndsWhatCannotBeProved(t *testing.T) {
	for name, limit := range map[string]string{"requests": "slicing.planRequests=90", "records": "slicing.planRecords=900", "bytes": "slicing.planBytes=20000"} {
		t.Run(name, func(t *testing.T) {
			onEveryDatabase(t, func(t *testing.T, database string) {
				w := newWorld(t, database, upsim.Config{Seed: 7, PerDay: 1, Flat: true}, upsim.Options{})
				up := newEndless(t, endlessKind{freshIDs: true, freshStamps: true})
				up.apply(w, "")
				args := []string{"harvest", "endless", "--from", "2025-03-05", "--to", "2025-03-06", "--now", w.now.Format(time.RFC3339), "-o", "json", "-q", "--set", limit}
				code, out, errText := w.built(args...)
				if code != 3 || !strings.Contains(out, "slicing.plan") || !strings.Contains(out, `"BUDGET"`) {
					t.Errorf("exit %d\n%s%s", code, out, errText)
				}
				if hits := up.hits.Load(); hits > 200 { // three generations of parts
					t.Errorf("%d requests", hits)
				}
				code, out, errText = w.built("coverage", "gaps", "endless", "--from", "2025-03-05", "--to", "2025-03-06")
				if code != 9 {
					t.Errorf("gaps: exit %d\n%s%s", code, out, errText)
				}
				sound(w)
			})
		})
	}
}

// sound holds a database against the invariants.
func sound(w *world) {
	w.t.Helper()
	db, err := check.Open(w.database)
	if err != nil {
		w.t.Fatal(err)
	}
	defer db.Close()
	problems, err := check.All(w.t.Context(), db)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, p := range problems {
		w.t.Error(p)
	}
	w.must("cursor", "verify")
}
