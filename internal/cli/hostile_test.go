package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/visible"
	"github.com/patra-ingest/patra/internal/testkit/mariadb"
)

// hostile is an upstream whose ids, titles, next addresses and redirects are made to
// do harm.
type hostile struct {
	*testing.T
	database string

	mu    sync.Mutex
	ids   []string // of the search
	next  string   // of the list
	moved string   // where a detail is said to be
	asked []string // paths
}

const hostileFile = `source: odd
name: An odd upstream
http: {baseUrl: "%s/v1", allowHttp: true, allowPrivate: true, allowRedirects: true}
rate: {perSecond: 5000, concurrency: 2, obeyHeaders: false}
retry: {maxAttempts: 1, taskAttempts: 1}
filter: {field: updated, precision: DAY, from: INCLUSIVE, to: INCLUSIVE}
endpoints:
  found:
    role: SEARCH
    request: {path: /search, query: {from: "${filter.from}", until: "${filter.to}", at: "${page.offset}", size: "${page.size}"}}
    paging: {type: OFFSET, size: 100, stable: true}
    response: {items: $.ids, id: $}
    details: {endpoint: fetch, batchSize: 1}
  fetch:
    role: DETAIL
    request: {path: "/fetch/${join(ids, ',')}"}
    response: {items: $.items, id: $.id, updatedAt: $.updated, filtered: $.updated, maxRejectRate: 1, fields: {title: $.title}}
  list:
    role: SEARCH
    request: {path: /list, query: {from: "${filter.from}", until: "${filter.to}"}}
    paging: {type: URL, size: 100}
    response: {items: $.items, id: $.id, updatedAt: $.updated, nextUrl: $.next, fields: {title: $.title}}
`

// steering is a title that would clear the screen, turn the writing round and hide.
const steering = "a\x1b[2Jb\u009b31mc\u202etitle\u200bd\ufeffe\x7ff"

func (h *hostile) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = append(h.asked, r.URL.EscapedPath())
	answer := func(value any) { _ = json.NewEncoder(w).Encode(value) }
	item := func(id string) map[string]any {
		return map[string]any{"id": id, "updated": "2025-03-01T08:00:00Z", "title": steering}
	}
	switch path := r.URL.Path; {
	case path == "/v1/search":
		ids := h.ids
		if r.FormValue("at") != "0" {
			ids = []string{}
		}
		answer(map[string]any{"ids": ids})
	case path == "/v1/list":
		page := map[string]any{"items": []any{item("one\u202e\u200b"), item("two\x1b[2J")}}
		if h.next != "" {
			page["next"] = h.next
		}
		answer(page)
	case strings.HasPrefix(path, "/v1/fetch/") && h.moved != "":
		http.Redirect(w, r, h.moved, http.StatusFound)
	case strings.HasPrefix(path, "/v1/fetch/"):
		answer(map[string]any{"items": []any{item(strings.TrimPrefix(path, "/v1/fetch/"))}})
	default:
		answer(map[string]any{"items": []any{item("from elsewhere")}})
	}
}

// onHostile runs a test against the upstream, with the source applied to a database.
func onHostile(t *testing.T, database string, test func(h *hostile)) {
	t.Helper()
	t.Setenv("PATRA_DB", "")
	t.Setenv("PATRA_RAW_DIR", t.TempDir())
	h := &hostile{T: t, database: database}
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	h.expect(term.ExitOK, "db", "migrate")
	d := desk{T: t, dir: t.TempDir()}
	h.expect(term.ExitOK, "source", "apply", d.write("odd.yaml", fmt.Sprintf(hostileFile, server.URL)), "--reason", "test")
	test(h)
}

func onSQLite(t *testing.T) string {
	t.Helper()
	return "sqlite:" + filepath.Join(t.TempDir(), "patra.db")
}

func (h *hostile) run(args ...string) result {
	h.Helper()
	var out, err bytes.Buffer
	code := Main(context.Background(), append(args, "--db", h.database), &out, &err)
	return result{code, out.String(), err.String()}
}

func (h *hostile) expect(code int, args ...string) result {
	h.Helper()
	got := h.run(args...)
	if got.code != code {
		h.Fatalf("patra %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), got.code, code, got.out, got.err)
	}
	return got
}

func (h *hostile) harvest(endpoint string) []string {
	return []string{"harvest", "odd", "--endpoint", endpoint, "--from", "2025-03-01", "--to", "2025-03-02", "--workers", "1"}
}

// One id that no request can name is quarantined; the others of its slice come, and the
// slice is read.
func TestTrust08AnIDThatClimbs(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { anIDThatClimbs(t, onSQLite(t)) })
	t.Run("mariadb", func(t *testing.T) { anIDThatClimbs(t, mariadb.DSN(t)) })
}

func anIDThatClimbs(t *testing.T, database string) {
	onHostile(t, database, func(h *hostile) {
		h.ids = []string{"a", "..", "b", "../b", "", ".", "c"}
		got := h.expect(term.ExitPartial, h.harvest("found")...)
		if !strings.Contains(got.out, "1 covered, 0 failed") {
			h.Errorf("%s%s", got.out, got.err)
		}
		for _, id := range []string{"a", "b", "c"} {
			h.expect(term.ExitOK, "data", "get", "odd/found", id)
		}
		var rejects []view.Reject
		if err := decodeJSON(h.expect(term.ExitOK, "quarantine", "list", "odd", "-o", "json").out, &rejects); err != nil {
			h.Fatal(err)
		}
		var aside []string
		for _, r := range rejects {
			aside = append(aside, r.ProviderID)
			if r.ProviderID != "" && (r.Reason != "DETAIL_FAILED" || !strings.Contains(r.Detail, "climbs")) {
				h.Errorf("%+v", r)
			}
		}
		slices.Sort(aside)
		if fmt.Sprint(aside) != fmt.Sprint([]string{"", ".", "..", "../b"}) {
			h.Errorf("%q", aside)
		}
		for _, path := range h.asked {
			if strings.Contains(path, "..") || path == "/v1/fetch/" || path == "/v1/fetch/." {
				h.Errorf("asked %s", path)
			}
		}
		if got := h.run("coverage", "gaps", "odd", "--from", "2025-03-01", "--to", "2025-03-02"); !strings.Contains(got.out, "no gaps in [2025-03-01, 2025-03-02) (found by updated)") {
			h.Errorf("%s%s", got.out, got.err)
		}
		h.ids = []string{".."} // and nothing else: nobody is asked for a detail; it is known by now
		got = h.expect(term.ExitOK, "harvest", "odd", "--endpoint", "found", "--from", "2025-03-02", "--to", "2025-03-03", "--workers", "1")
		if !strings.Contains(got.out, "1 covered, 0 failed") {
			h.Errorf("%s%s", got.out, got.err)
		}
		h.expect(term.ExitOK, "db", "check")
	})
}

// A next address at another host is told by a trial, before a harvest meets it.
func TestTrust08ForeignNextAddressIsTold(t *testing.T) {
	onHostile(t, onSQLite(t), func(h *hostile) {
		for next, good := range map[string]bool{"https://evil.example/v1/list?page=2": false, "/elsewhere": false, "/v1/list?page=2": true} {
			h.next = next
			got := h.run("source", "test", "odd", "--endpoint", "list", "--window", "2025-03-01..2025-03-02")
			if refused := got.code == term.ExitPartial && strings.Contains(got.out, "cannot go on: REFUSED: the address of the next page leads"); refused == good || good && got.code != term.ExitOK {
				h.Errorf("%s: exit code %d\n%s%s", next, got.code, got.out, got.err)
			}
			if strings.Contains(got.out+got.err, "evil.example") && !strings.Contains(got.out, `"next"`) {
				h.Errorf("the foreign address is repeated:\n%s%s", got.out, got.err)
			}
		}
	})
}

// A redirect that leads out of the path of the source is not followed.
func TestTrust08RedirectOutOfTheBasePath(t *testing.T) {
	onHostile(t, onSQLite(t), func(h *hostile) {
		h.ids, h.moved = []string{"a"}, "/admin/export"
		got := h.run(h.harvest("found")...)
		if got.code == term.ExitOK || slices.Contains(h.asked, "/admin/export") {
			h.Errorf("exit code %d, asked %v\n%s%s", got.code, h.asked, got.out, got.err)
		}
	})
}

// What programs read holds escapes for what steers or hides, and means the same.
func TestTrust08JSONHidesNothing(t *testing.T) {
	onHostile(t, onSQLite(t), func(h *hostile) {
		h.expect(term.ExitOK, h.harvest("list")...)
		for _, args := range [][]string{
			{"data", "list", "odd/list", "-o", "json"}, {"data", "get", "odd/list", "one\u202e\u200b", "-o", "json"}, {"outbox", "list", "-o", "json"}, {"data", "list", "odd/list"},
			{"source", "test", "odd", "--endpoint", "list", "--window", "2025-03-01..2025-03-02", "-o", "json"}, {"batch", "show", "1"}, {"batch", "show", "1", "-o", "json"},
		} {
			got := h.expect(term.ExitOK, args...)
			if strings.ContainsFunc(got.out, func(r rune) bool { return r != '\n' && r != '\t' && visible.IsHidden(r) }) {
				h.Errorf("%v: %q", args, got.out)
			}
			if slices.Contains(args, "list") && slices.Contains(args, "data") && slices.Contains(args, "json") {
				if !strings.Contains(got.out, `one\u202e\u200b`) || !json.Valid([]byte(got.out)) {
					h.Errorf("%s", got.out)
				}
			}
		}
	})
}
