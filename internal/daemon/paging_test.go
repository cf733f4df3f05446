package daemon

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

// paged is a list that comes in pages, and the table behind it.
type paged struct {
	path  string // as the description names it
	query string
	table string
	key   string            // of an item and of its row; empty: id
	field string            // of an item; empty: as the key
	where string            // which rows it lists
	fresh map[string]string // columns of a new row that must differ from those it is copied from: a number, or a text
	// joined is a row that each needs beside it.
	joined *paged
}

// pagedLists are all lists that come in pages. What a list joins stands behind it: rows go.
var pagedLists = []paged{
	{path: "/v1/events", table: "ing_outbox_message", fresh: map[string]string{"dedup_key": "digest", "body_id": "number"}},
	{path: "/v1/deliveries", table: "ing_outbox_relay_log", fresh: map[string]string{"attempt_no": "number"}},
	{path: "/v1/quarantine", table: "ing_quarantine", fresh: map[string]string{"reject_key": "text"}},
	{path: "/v1/batches", table: "ing_task_run_batch", fresh: map[string]string{"idempotent_key": "text", "batch_no": "number"}},
	{path: "/v1/runs", table: "ing_task_run", fresh: map[string]string{"attempt_no": "number", "lease_epoch": "number"}},
	{path: "/v1/tasks", table: "ing_task", fresh: map[string]string{"idempotent_key": "text"}},
	{path: "/v1/cursors/{id}/timeline", table: "ing_cursor_event", where: "cursor_id = CURSOR", fresh: map[string]string{"idempotent_key": "text"}, query: "to=2100-01-01T00:00:00Z"},
	{path: "/v1/cursors/{id}/readings", table: "ing_generation", where: "cursor_id = CURSOR", fresh: map[string]string{"slice_id": "number"}},
	{path: "/v1/sources/{source}/changes", table: "ing_record_body", key: "body_id", field: "position", fresh: map[string]string{"body_id": "number"}, query: "since=2000-01-01T00:00:00Z"},
	{path: "/v1/sources/{source}/records", table: "ing_record", key: "provider_id", field: "id", fresh: map[string]string{"provider_id": "text", "id_hash": "hash", "body_id": "number"}},
	{path: "/v1/plans/{id}/lineage", table: "ing_plan_slice", key: "slice_no", field: "sliceNo", where: "plan_id = NEWEST", fresh: map[string]string{"slice_no": "number", "slice_signature_hash": "text"}},
	{path: "/v1/slices", table: "ing_plan_slice", fresh: map[string]string{"slice_no": "number", "slice_signature_hash": "text"}},
	{path: "/v1/triggers", table: "ing_schedule_instance", fresh: map[string]string{"trigger_key": "text"}},
	{path: "/v1/plans", table: "ing_plan", fresh: map[string]string{"plan_key": "text"}},
	{path: "/v1/alerts", table: "ing_alert", fresh: map[string]string{"alert_key": "text"}},
	{path: "/v1/alert-messages", table: "ing_alert_message", fresh: map[string]string{"message_id": "text"}},
	{path: "/v1/exports", table: "ing_export", fresh: map[string]string{"request_key": "text"}},
	{path: "/v1/silences", table: "ing_alert_silence"},
	{path: "/v1/audit", table: "ing_audit_log", fresh: map[string]string{"prev_hash": "text"}},
	{path: "/v1/campaigns", table: "ing_campaign", key: "cursor_id", field: "cursorId", fresh: map[string]string{"name": "text", "cursor_id": "number"},
		joined: &paged{table: "ing_cursor", where: "operation_code = 'BACKFILL'", fresh: map[string]string{"id": "number", "namespace_key": "text"}}},
}

// pagedRanges are the lists of ranges of time: no row of a table stands behind each.
var pagedRanges = map[string]bool{"/v1/sources/{source}/gaps": true, "/v1/cursors/{id}/coverage": true}

// wholeLists are the lists that answer whole, each with the reason why that stays small.
var wholeLists = map[string]string{
	"/v1/findings":                  "findings are grouped by cause: some for each source",
	"/v1/schedules":                 "one for each endpoint and operation of a source",
	"/v1/pauses":                    "made by hand",
	"/v1/sources":                   "source files, made by hand",
	"/v1/sources/{source}/versions": "a version is made by hand",
	"/v1/sources/{source}/secrets":  "what one source file names",
	"/v1/thresholds":                "settings of the program",
	"/v1/conditions":                "at most some for each endpoint and operation",
	"/v1/cursors":                   "one for each endpoint, operation and campaign",
	"/v1/rates":                     "one for each account",
	"/v1/quarantine/groups":         "one for each endpoint, reason and field",
	"/v1/events/backlogs":           "one for each endpoint and receiver",
	"/v1/stats/queue":               "one for each endpoint and operation",
	"/v1/stats/throughput":          "one for each bucket of time, which are bounded",
	"/v1/stats/errors":              "the top, as many as asked for",
}

// TestEveryListComesInPagesOrSaysWhyNot walks the description: a route whose answer has items comes in
// pages, or stands among the lists that answer whole with its reason.
func TestEveryListComesInPagesOrSaysWhyNot(t *testing.T) {
	p := newPrograms(t, "sqlite:"+t.TempDir()+"/patra.db")
	lists := map[string]bool{}
	p.eachRoute(func(method, path string, o *huma.Operation) {
		if method != http.MethodGet || o.Responses["200"] == nil || o.Responses["200"].Content["application/json"] == nil {
			return
		}
		_, body := p.call(method, p.real(path), "", admin)
		var list struct {
			Items *[]json.RawMessage
		}
		if json.Unmarshal(body, &list) != nil || list.Items == nil {
			return
		}
		lists[path] = true
		pages := slices.ContainsFunc(o.Parameters, func(in *huma.Param) bool { return in.Name == "cursor" })
		if why := wholeLists[path]; pages == (why != "") {
			t.Errorf("%s: it comes in pages: %v, the reason why not: %q", path, pages, why)
		}
	})
	for path := range wholeLists {
		if !lists[path] {
			t.Errorf("%s is no list", path)
		}
	}
}

// TestRangesPageToTheirEndWhileTheyChange reads gaps and segments in pages while hours of a lost day are
// waived between two pages, so that ranges go and others are cut: no hour that is lost from
// beginning to end is left out, and none comes twice.
func TestRangesPageToTheirEndWhileTheyChange(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) {
		p := newPrograms(t, database)
		hour := func(n int) string { return fmt.Sprintf("%sT%02d:00:00Z", brokenDay, n) }
		waive := func(n int) {
			t.Helper()
			status, body := p.call(http.MethodPost, p.names.Replace("/v1/cursors/CURSOR/waive"), fmt.Sprintf(`{"reason":"x","from":"%s","to":"%s"}`, hour(n), hour(n+1)), admin)
			if status != http.StatusOK {
				t.Fatalf("%d %s", status, body)
			}
		}
		for n := 0; n < 22; n += 2 {
			waive(n)
		}
		for _, path := range []string{"/v1/sources/crossref/gaps?", p.names.Replace("/v1/cursors/CURSOR/coverage?")} {
			lost := map[string]int{}
			for cursor, page := "", 0; ; page++ {
				status, body := p.call(http.MethodGet, fmt.Sprintf("%slimit=2&cursor=%s", path, url.QueryEscape(cursor)), "", admin)
				var got view.List[struct {
					Window window.Window
					Waived time.Time
				}]
				if err := json.Unmarshal(body, &got); err != nil || status != http.StatusOK || len(got.Items) > 2 {
					t.Fatalf("%s: %d %v %s", path, status, err, body)
				}
				for _, item := range got.Items {
					for n := range 24 {
						at, err := time.Parse(time.RFC3339, hour(n))
						p.must(err)
						if item.Window.Contains(at) {
							lost[hour(n)]++
						}
					}
				}
				if page == 1 {
					waive(1) // it was read
					waive(9) // it was not, or not yet
				}
				if !got.More {
					break
				}
				if cursor = *got.Next; page > 40 {
					t.Fatalf("%s does not end", path)
				}
			}
			for n := 3; n < 24; n += 2 {
				if n != 9 && lost[hour(n)] != 1 {
					t.Errorf("%s: %s came %d times", path, hour(n), lost[hour(n)])
				}
			}
		}
		if status, body := p.call(http.MethodGet, "/v1/sources/crossref/gaps?cursor=7", "", admin); status != http.StatusUnprocessableEntity {
			t.Errorf("a cursor of another list: %d %s", status, body)
		}
	})
}

// enoughRows is how many rows each list has at least before it is read.
const enoughRows = 40

// TestEveryListPagesToItsEndWhileDataChanges reads every list of the description that comes in
// pages while rows come and go between two pages, the last one of a page too, whose name says
// where the next one begins. Each row that is there from beginning to end comes once.
func TestEveryListPagesToItsEndWhileDataChanges(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) {
		p := newPrograms(t, database)
		p.exec(`INSERT INTO ing_outbox_relay_log (dataset_id, lease_epoch, attempt_no, lease_owner, destination, status_code, first_message_id, last_message_id, events, delivered, started_at, completed_at)
  VALUES (1, 1, 1, 'post', 'lake', 'DELIVERED', 1, 2, 2, 2, 1, 1)`)
		p.exec(`INSERT INTO ing_alert_message (message_id, receiver_name, status_code, message_json, tries, queued_at) VALUES ('m', 'ops', 'SENT', '{}', 1, 1)`)
		if status, body := p.call(http.MethodPost, "/v1/sources/crossref/trigger", `{"reason":"x","operation":"BACKFILL","from":"2024-01-01T00:00:00Z","to":"2024-01-02T00:00:00Z","offline":true}`, admin); status != http.StatusOK {
			t.Fatalf("trigger: %d %s", status, body)
		}
		if status, body := p.call(http.MethodPost, "/v1/sources/crossref/fill", `{"reason":"x","from":"2025-02-20T00:00:00Z","to":"2025-02-22T00:00:00Z"}`, admin); status != http.StatusOK {
			t.Fatalf("fill: %d %s", status, body)
		}
		inPages := map[string]bool{}
		p.eachRoute(func(method, path string, o *huma.Operation) {
			if method == http.MethodGet && slices.ContainsFunc(o.Parameters, func(in *huma.Param) bool { return in.Name == "cursor" }) {
				inPages[path] = true
			}
		})
		for _, list := range pagedLists {
			if !inPages[list.path] {
				t.Errorf("%s is no list that comes in pages", list.path)
				continue
			}
			delete(inPages, list.path)
			p.readWhileItChanges(list)
		}
		for path := range pagedRanges {
			if !inPages[path] {
				t.Errorf("%s is no list that comes in pages", path)
			}
			delete(inPages, path) // TestRangesPageToTheirEndWhileTheyChange reads it
		}
		for path := range inPages {
			t.Errorf("%s comes in pages, and this test does not read it", path)
		}
	})
}

func (p *programs) readWhileItChanges(l paged) {
	p.Helper()
	if l.key == "" {
		l.key = "id"
	}
	if l.field == "" {
		l.field = l.key
	}
	newest := strings.NewReplacer("NEWEST", p.newestPlan())
	l.where = newest.Replace(p.names.Replace(l.where))
	if l.where == "" {
		l.where = "1 = 1"
	}
	if l.table != "ing_record" && l.table != "ing_record_body" { // what was added is a copy, which other lists must not join
		defer p.exec("DELETE FROM "+l.table+" WHERE id > ?", p.number("SELECT MAX(id) FROM "+l.table))
	}
	for range enoughRows {
		p.addRow(l)
	}
	at := p.real(l.path) + "?" + l.query
	if strings.Contains(l.where, "plan_id") {
		at = newest.Replace("/v1/plans/NEWEST/lineage?")
	}
	first, _ := p.readPage(at, l, 1000, "")
	if len(first) < enoughRows {
		p.Errorf("%s: only %d rows", l.path, len(first))
		return
	}
	gone, came := map[string]bool{}, []string{}
	for cursor, page := "", 0; ; page++ {
		ids, next := p.readPage(at, l, 7, cursor)
		came = append(came, ids...)
		if cursor = next; cursor == "" {
			break
		}
		if page > len(first) {
			p.Errorf("%s does not end", l.path)
			return
		}
		p.addRow(l)
		// The row that the page ended with, one that was read and one that was not.
		for _, i := range []int{slices.Index(first, ids[len(ids)-1]), 2 * page, len(first) - 1 - 2*page} {
			if i >= 0 && i < len(first) && page%2 == 0 && !gone[first[i]] {
				gone[first[i]] = true
				p.exec("DELETE FROM "+l.table+" WHERE "+l.key+" = ? AND "+l.where, first[i])
			}
		}
	}
	times := map[string]int{}
	for _, id := range came {
		times[id]++
	}
	for _, id := range first {
		if n := times[id]; n > 1 || n == 0 && !gone[id] {
			p.Errorf("%s: row %s came %d times", l.path, id, n)
		}
	}
}

// readPage reads one page of a list.
func (p *programs) readPage(path string, l paged, limit int, cursor string) (ids []string, next string) {
	p.Helper()
	status, body := p.call(http.MethodGet, fmt.Sprintf("%s&limit=%d&cursor=%s", path, limit, url.QueryEscape(cursor)), "", admin)
	var page struct {
		Items []map[string]json.RawMessage
		More  bool
		Next  string
	}
	if err := json.Unmarshal(body, &page); err != nil || status != http.StatusOK {
		p.Fatalf("%s: %d %v %.300s", path, status, err, body)
	}
	for _, item := range page.Items {
		ids = append(ids, strings.Trim(string(item[l.field]), `"`))
	}
	if !page.More {
		page.Next = ""
	}
	return ids, page.Next
}

// addRow adds a row like one that is there, and newer.
func (p *programs) addRow(l paged) {
	p.Helper()
	n := p.requests.Add(1)
	if l.joined != nil {
		p.copyRow(*l.joined, n)
	}
	p.copyRow(l, n)
}

// copyRow adds a row like one that is there, which a number tells from all others.
func (p *programs) copyRow(l paged, n int64) {
	p.Helper()
	rows, err := p.db.QueryContext(p.Context(), "SELECT * FROM "+l.table+" LIMIT 0")
	p.must(err)
	columns, err := rows.Columns()
	p.must(err)
	p.must(rows.Close())
	name := fmt.Sprintf("10.5555/%064d", n)
	hash := sha256.Sum256([]byte(name))
	var into, from []string
	var args []any
	for _, c := range columns {
		if c == "id" && l.fresh[c] == "" {
			continue
		}
		into = append(into, c)
		switch l.fresh[c] {
		case "":
			from = append(from, c)
			continue
		case "text":
			args = append(args, name[len(name)-64:])
		case "number":
			args = append(args, 1_000+n)
		case "hash":
			args = append(args, hash[:16])
		case "digest":
			args = append(args, hash[:])
		}
		if c == "provider_id" {
			args[len(args)-1] = name
		}
		from = append(from, "?")
	}
	p.exec("INSERT INTO "+l.table+" ("+strings.Join(into, ", ")+") SELECT "+strings.Join(from, ", ")+" FROM "+l.table+" WHERE "+l.where+" LIMIT 1", args...)
}
