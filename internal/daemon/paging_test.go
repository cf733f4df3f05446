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

	"github.com/danielgtaylor/huma/v2"
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
	if l.table != "ing_record" { // what was added is a copy, which other lists must not join
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
