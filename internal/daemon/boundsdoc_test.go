package daemon

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
)

// The sources of docs/bounds.md are harvested twice from small answers of ours: the first
// time everything comes, the second time all is unchanged.
func TestTheExamplesOfBoundsAreHarvested(t *testing.T) {
	text, err := os.ReadFile("../../docs/bounds.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := strings.Split(string(text), "```yaml\n")[1:]
	for i, serve := range []http.HandlerFunc{worksSince, worksOfADay, rowsOfADay, newestWorks, allJournals} {
		server := httptest.NewServer(serve)
		defer server.Close()
		example, _, _ := strings.Cut(examples[i], "```")
		head := fmt.Sprintf("source: example\nname: Example\nhttp: {baseUrl: %q, allowHttp: true, allowPrivate: true}\nrate: {perSecond: 1000, burst: 100}\n", server.URL)
		src, _, err := registry.Decode("bounds.yaml", []byte(head+example))
		if err != nil {
			t.Fatal(err)
		}
		c, err := Compile(src, "", ingest.Harvest, nil)
		if err != nil {
			t.Fatal(err)
		}
		app, err := Open(t.Context(), Config{Database: "sqlite:" + filepath.Join(t.TempDir(), "patra.db"), Relaxed: true})
		if err != nil {
			t.Fatal(err)
		}
		defer app.Close()
		for round, now := range []time.Time{madeDay(4), madeDay(4).Add(time.Minute)} {
			request := NewRequest(now, nil, nil)
			if from := madeDay(0); !c.Snapshot.ReadsWhole() {
				request.From = &from
			}
			h, err := app.Harvest(t.Context(), c, request, Watch{})
			s := h.Plan.Stats
			if err != nil || h.Plan.Slices[string(ingest.SliceFailed)] > 0 || round == 0 && s.Inserted != 8 || round == 1 && s.Inserted+s.Updated > 0 {
				t.Errorf("example %d, harvest %d: %v %+v %v", i+1, round+1, h.Plan.Slices, s, err)
			}
		}
	}
}

// allJournals serves a list without dates.
func allJournals(w http.ResponseWriter, r *http.Request) {
	list := &journals{}
	list.last.Store(8)
	list.ServeHTTP(w, r)
}

// madeDay returns a day of the made answers. They hold two works a day for four days.
func madeDay(n int) time.Time { return time.Date(2025, 3, 3+n, 0, 0, 0, 0, time.UTC) }

func madeWork(n int) map[string]any {
	at := madeDay(n / 2).Add(time.Duration(n%2) * 9 * time.Hour)
	return map[string]any{"id": fmt.Sprint("w", n), "title": fmt.Sprint("Work ", n), "modified": at.Format(time.RFC3339), "day": at.Format(time.DateOnly)}
}

// worksSince serves the works that were modified since an instant, oldest first; a page
// names the work that the next one begins behind.
func worksSince(w http.ResponseWriter, r *http.Request) {
	found, next := []any{}, ""
	behind, _ := strconv.Atoi(r.FormValue("after")) // empty: from the first one on
	limit, _ := strconv.Atoi(r.FormValue("limit"))
	for n := behind; n < 8; n++ {
		work := madeWork(n)
		if work["modified"].(string) < r.FormValue("modified_since") {
			continue
		}
		if len(found) == limit {
			next = fmt.Sprint(n)
			break
		}
		found = append(found, work)
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"works": found, "next": next})
}

// worksOfADay serves the works of the day that the path names.
func worksOfADay(w http.ResponseWriter, r *http.Request) {
	found := []any{}
	for n := range 8 {
		if work := madeWork(n); work["day"] == strings.TrimPrefix(r.URL.Path, "/days/") {
			found = append(found, work)
		}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"works": found, "count": len(found)})
}

// rowsOfADay serves two rows without an id for each of the days.
func rowsOfADay(w http.ResponseWriter, r *http.Request) {
	found := []any{}
	for n := range 8 {
		if work := madeWork(n); work["day"] == strings.TrimPrefix(r.URL.Path, "/days/") {
			found = append(found, map[string]any{"country": []string{"DE", "FR"}[n%2], "n": n})
		}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"rows": found, "count": len(found)})
}

// newestWorks serves all works, the newest first; a page names the work that the next one
// begins with.
func newestWorks(w http.ResponseWriter, r *http.Request) {
	found, next := []any{}, ""
	n, err := strconv.Atoi(r.FormValue("after"))
	if err != nil { // empty: from the newest one on
		n = 7
	}
	for limit, _ := strconv.Atoi(r.FormValue("limit")); n >= 0 && len(found) < limit; n-- {
		found = append(found, madeWork(n))
	}
	if n >= 0 {
		next = fmt.Sprint(n)
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"works": found, "next": next})
}
