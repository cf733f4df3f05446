package daemon

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/surface/httpapi"
)

// manySources is how many sources a large installation has.
const manySources = 20

// newLarge is a dashboard over twenty sources with twenty years of coverage each, in stretches
// of twenty days, some of which failed, were waived or are owed.
func newLarge(t testing.TB) *App {
	t.Helper()
	file := filepath.Join(t.TempDir(), "patra.db")
	app, err := Open(t.Context(), Config{Database: "sqlite:" + file, Relaxed: true, Raw: RawConfig{Off: true}, RegistryTTL: time.Minute, Clock: func() time.Time { return standNow }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { app.Close() })
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(60000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for n := range manySources {
		src, err := Bundled("crossref")
		if err != nil {
			t.Fatal(err)
		}
		src.Code = fmt.Sprintf("source%02d", n)
		if _, err := app.store.ApplySource(t.Context(), src, registry.ApplyOptions{}); err != nil {
			t.Fatal(err)
		}
		compiled, err := app.Compile(t.Context(), src.Code, "works", ingest.Harvest, nil)
		if err != nil {
			t.Fatal(err)
		}
		at, err := compiled.Namespace()
		if err != nil {
			t.Fatal(err)
		}
		coverYears(t, db, at)
	}
	return app
}

// anAdmin is who asks for pages that are measured.
func anAdmin(context.Context) access.Caller { return admin }

// coverYears writes a watermark with twenty years of coverage.
func coverYears(t testing.TB, db *sql.DB, at ingest.Namespace) {
	t.Helper()
	begin, end := time.Date(2006, 1, 1, 0, 0, 0, 0, time.UTC), standNow.Truncate(24*time.Hour)
	done, err := db.ExecContext(t.Context(), `INSERT INTO ing_cursor (provenance_code, operation_code, cursor_key, namespace_scope_code, namespace_key, endpoint_name, cursor_type_code,
  cursor_value, normalized_instant, origin_instant, created_at, updated_at) VALUES (?,?,?,?,?,?,'TIME',?,?,?,?,?)`,
		at.Source, at.Operation, at.CursorKey, at.Scope, at.Key, "works", end.Format(time.RFC3339), end.UnixMicro(), begin.UnixMicro(), end.UnixMicro(), end.UnixMicro())
	if err != nil {
		t.Fatal(err)
	}
	id, err := done.LastInsertId()
	if err != nil {
		t.Fatal(err)
	}
	for n, from := 0, begin; from.Before(end); n++ {
		to := from.AddDate(0, 0, 20)
		have, waived, fails := any(end.UnixMicro()-int64(n)), any(nil), 0
		switch n % 50 {
		case 7:
			have, fails = nil, 3
		case 19:
			have, waived = nil, end.UnixMicro()
		case 31:
			have = nil
		}
		if _, err := db.ExecContext(t.Context(), `INSERT INTO ing_coverage (cursor_id, seg_from, seg_to, want_at, have_at, waived_at, fails, retry_after) VALUES (?,?,?,?,?,?,?,?)`,
			id, from.UnixMicro(), to.UnixMicro(), end.UnixMicro()-int64(n), have, waived, fails, 0); err != nil {
			t.Fatal(err)
		}
		from = to
	}
}

// Twenty sources over twenty years are one page of less than 200 KB, with every hole marked.
func TestTwentyYearsOfTwentySourcesAreOnePage(t *testing.T) {
	web := newLarge(t).newDashboard("test", nil, anAdmin, nil)
	for _, path := range []string{"/", "/coverage", "/coverage/source07", "/coverage/source07/2016"} {
		w := httptest.NewRecorder()
		began := time.Now()
		web.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		took := time.Since(began)
		body := w.Body.String()
		t.Logf("%s: %d bytes in %v", path, len(body), took)
		if w.Code != http.StatusOK || len(body) > mostPage {
			t.Errorf("%s: %d, %d bytes", path, w.Code, len(body))
		}
		if path == "/coverage" {
			for n := range manySources {
				if !strings.Contains(body, fmt.Sprintf("source%02d", n)) {
					t.Errorf("source%02d is missing", n)
				}
			}
			if marks := strings.Count(body, "mark f-fail") + strings.Count(body, `class="f-fail"`); marks < 7*manySources {
				t.Errorf("%d failed stretches are marked", marks)
			}
		}
	}
}

// BenchmarkDashboardPages measures every page and every list of the HTTP interface that names no row,
// over twenty sources with twenty years each.
func BenchmarkDashboardPages(b *testing.B) {
	app := newLarge(b)
	web := app.newDashboard("test", nil, anAdmin, nil)
	api := app.NewAPI(httpapi.Settings{Version: "test", CallerOf: anAdmin, RequestID: func(context.Context) string { return "r" }, Log: slog.New(slog.DiscardHandler)}, nil)
	measured := map[string]http.Handler{"/coverage?range=20y": web}
	for _, pattern := range web.Patterns {
		method, path, _ := strings.Cut(pattern, " ")
		path = strings.NewReplacer("{$}", "", "{source}", "source07", "{at}", "2016").Replace(path)
		if method == http.MethodGet && !unmeasured.MatchString(path) {
			measured[path] = web
		}
	}
	for path, item := range api.Description.Paths {
		path = strings.ReplaceAll(path, "{source}", "source07")
		if item.Get != nil && path != "/v1/live" && !unmeasured.MatchString(path) {
			measured[path] = api
		}
	}
	for _, path := range slices.Sorted(maps.Keys(measured)) {
		b.Run(path, func(b *testing.B) {
			for b.Loop() {
				w := httptest.NewRecorder()
				measured[path].ServeHTTP(w, httptest.NewRequestWithContext(b.Context(), http.MethodGet, path, nil))
				if w.Code != http.StatusOK {
					b.Fatalf("%d %.200s", w.Code, w.Body)
				}
			}
		})
	}
}

// unmeasured are paths that name a row, want a form to be filled in, need records, or are no page.
var unmeasured = regexp.MustCompile(`\{|^/static/|^/favicon|/(fill|waive|accept|count|release|set|silence|new|edit|cancel|retry|pause|resume|record|requeue|discard)$|^/new-source|^/quarantine/|^/openapi|^/v1/sources/.*/(records|changes)`)
