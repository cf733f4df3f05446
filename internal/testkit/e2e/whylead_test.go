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

	"github.com/patra-ingest/patra/internal/upsim"
)

const reelFile = `source: reel
name: A reel
http: {baseUrl: "%s", allowHttp: true, allowPrivate: true}
rate: {perSecond: 5000, concurrency: 4}
endpoints:
  films:
    role: SEARCH
    request: {path: /films, query: {from: "${filter.from}", until: "${filter.to}", after: "${page.token}", size: "${page.size}"}}
    filter: {field: updated, precision: DAY, from: INCLUSIVE, to: INCLUSIVE}
    slicing: {step: P1D, maxPages: 0}
    paging: {type: TOKEN, size: 5}
    response: {items: $.items, id: $.id, updatedAt: $.updated, total: $.count, nextToken: "%s"}
`

// reel serves twelve films a day, five a page, with a token for the next page. Of the
// days in short the first page names no next one.
type reel struct {
	*httptest.Server
	asked atomic.Int64
	short string
}

func newReel(t *testing.T, short string) *reel {
	t.Helper()
	r := &reel{short: short}
	r.Server = httptest.NewServer(http.HandlerFunc(r.serve))
	t.Cleanup(r.Close)
	return r
}

func (r *reel) serve(w http.ResponseWriter, q *http.Request) {
	r.asked.Add(1)
	found := []map[string]any{}
	for i := range 60 {
		day := fmt.Sprintf("2025-03-%02d", 1+i/12)
		if q.FormValue("from") <= day && day <= q.FormValue("until") {
			found = append(found, map[string]any{"id": fmt.Sprint("f", i), "updated": day + "T10:00:00Z"})
		}
	}
	at, _ := strconv.Atoi(q.FormValue("after"))
	size, _ := strconv.Atoi(q.FormValue("size"))
	body := map[string]any{"items": found[min(at, len(found)):min(at+size, len(found))], "count": len(found)}
	if at+size < len(found) && q.FormValue("from") != r.short {
		body["next"] = strconv.Itoa(at + size)
	}
	_ = json.NewEncoder(w).Encode(body)
}

func (r *reel) apply(w *world, next string) {
	w.t.Helper()
	file := filepath.Join(w.t.TempDir(), "reel.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, reelFile, r.URL, next), 0o600); err != nil {
		w.t.Fatal(err)
	}
	w.must("source", "apply", file, "--reason", "test")
}

func harvestReel(more ...string) []string {
	return append([]string{"harvest", "reel", "--from", "2025-03-01", "--now", "2025-03-06T12:00:00Z", "-o", "json"}, more...)
}

// A wrong path of the next page looks like the end of every list. When several slices
// begin so the harvest stops and names the path; the corrected file gets the data.
func TestTrust12AWrongNextPathStops(t *testing.T) {
	for _, workers := range []string{"1", "4"} {
		t.Run(workers+" workers", func(t *testing.T) {
			onEveryDatabase(t, func(t *testing.T, database string) {
				w := newWorld(t, database, upsim.Config{Seed: 1, PerDay: 1}, upsim.Options{})
				up := newReel(t, "")
				up.apply(w, "$.nxt")
				code, out, errText := w.built(harvestReel("--workers", workers)...)
				var got toldWhy
				if err := json.Unmarshal([]byte(out), &got); err != nil {
					t.Fatalf("exit %d: %v\n%s%s", code, err, out, errText)
				}
				if code != 2 || got.Stopped == nil || got.Stopped.Code != "SCHEMA_CHANGE" || !strings.Contains(errText, "$.nxt") || up.asked.Load() > 30 {
					t.Errorf("exit %d after %d requests\n%s%s", code, up.asked.Load(), out, errText)
				}
				up.apply(w, "$.next")
				if code, out, errText := w.built(harvestReel()...); code != 0 {
					t.Errorf("corrected: exit %d\n%s%s", code, out, errText)
				}
				if n := w.one("SELECT COUNT(*) FROM ing_record"); n != "60" {
					t.Errorf("%s of 60 films", n)
				}
			})
		})
	}
}

// A harvest of one slice stops after as few requests as one of many.
func TestTrust12AWrongNextPathStopsOneSliceToo(t *testing.T) {
	w := newWorld(t, "sqlite:"+filepath.Join(t.TempDir(), "patra.db"), upsim.Config{Seed: 1, PerDay: 1}, upsim.Options{})
	up := newReel(t, "")
	up.apply(w, "$.nxt")
	code, out, errText := w.built(harvestReel("--set", "slicing.step=P30D")...)
	var got toldWhy
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatalf("exit %d: %v\n%s%s", code, err, out, errText)
	}
	if code != 2 || got.Stopped == nil || got.Stopped.Code != "SCHEMA_CHANGE" || !strings.Contains(errText, "$.nxt") || up.asked.Load() != 7 {
		t.Errorf("exit %d after %d requests, want 7\n%s%s", code, up.asked.Load(), out, errText)
	}
}

// One day whose list ends too early is a day that fails, and stops nothing.
func TestTrust12OneShortDayStopsNothing(t *testing.T) {
	w := newWorld(t, "sqlite:"+filepath.Join(t.TempDir(), "patra.db"), upsim.Config{Seed: 1, PerDay: 1}, upsim.Options{})
	up := newReel(t, "2025-03-02")
	up.apply(w, "$.next")
	code, out, errText := w.built(harvestReel("--workers", "1", "--set", "retry.taskAttempts=1", "--set", "retry.initialDelay=PT0.01S", "--set", "retry.maxDelay=PT0.01S")...)
	var got toldWhy
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatalf("exit %d: %v\n%s%s", code, err, out, errText)
	}
	if code != 3 || got.Stopped != nil || got.Slices["SUCCEEDED"] < 4 || got.Slices["FAILED"] != 1 {
		t.Errorf("exit %d\n%s%s", code, out, errText)
	}
}
