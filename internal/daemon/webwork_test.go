package daemon

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
)

// firstIn finds the first group of a pattern in a page.
func (s *stand) firstIn(body, pattern string) string {
	s.Helper()
	found := regexp.MustCompile(pattern).FindStringSubmatch(body)
	if found == nil {
		s.Fatalf("the page has no %s:\n%s", pattern, body)
	}
	return found[1]
}

// acts looks at the preview of an action and does it; the answer is the page that tells so.
func (s *stand) acts(path string, by access.Caller) string {
	s.Helper()
	status, preview := s.get(path, by)
	if status != http.StatusOK {
		s.Fatalf("the preview of %s answers %d:\n%s", path, status, preview)
	}
	s.holdPage(path, preview)
	form := url.Values{"mark": {s.firstIn(preview, markOfForm.String())}, "reason": {"the upstream is back"}}
	status, body := s.post(path, form, by)
	if status != http.StatusOK {
		s.Fatalf("%s answers %d:\n%s", path, status, body)
	}
	s.holdPage(path, body)
	return body
}

// auditOf returns the newest entry of the audit log.
func (s *stand) auditOf() string {
	s.Helper()
	entries, err := s.app.History.ListActs(s.Context(), view.Filter{Limit: 1})
	if err != nil || len(entries) == 0 {
		s.Fatalf("the audit log has nothing: %v", err)
	}
	e := entries[0]
	return strings.Join([]string{e.Actor, e.Action, e.Reason}, "|")
}

// A plan opens at what failed first, with what was asked and what came back.
func TestAPlanOpensAtWhatFailedWithItsEvidence(t *testing.T) {
	s := newStand(t)
	list := s.page("/plans")
	s.has(list, "1 newest plan: 0 open, 1 ended with failures", "ended, 1 failed", "crossref/works HARVEST")
	plan := s.firstIn(list, `href="(/plans/\d+)"`)
	body := s.page(plan)
	s.has(body, "9 of 10 slices read, 1 failed", `class="gantt"`, "Evidence of batch", "GET http", "HTTP 200", "Content-Type: text/html", "From the plan to the page", brokenDay, "patra task retry", "bytes, was not kept")
	batch := s.firstIn(body, `href="(/batches/\d+)"`)
	s.has(s.page(batch), "failed: the upstream answered HTTP 200", "What came back", "Try task")
	if status, to := s.get("/runs/"+s.firstIn(body, `run=(\d+)`)+"?no=1", admin); status != http.StatusSeeOther || !strings.HasPrefix(to, "/batches/") {
		t.Errorf("a run and a number lead to %d %s", status, to)
	}
	// A slice that went well is opened by its address.
	slice := s.firstIn(body, `slice</span> <a href="([^"]+)"`)
	s.has(s.page(strings.ReplaceAll(slice, "&amp;", "&")), "Evidence of batch", "stored")
	// Lists are narrowed by their address.
	s.has(s.page("/plans?status=FAILED"), "No plan is like this", "Show all")
	for path, want := range map[string]int{"/plans?status=NONSENSE": 400, "/plans?before=x": 400, "/plans/999999": 404, "/plans/x": 404, "/batches/999999": 404, "/runs/99999": 404, plan + "?slice=x": 400} {
		if status, _ := s.get(path, admin); status != want {
			t.Errorf("%s answers %d, want %d", path, status, want)
		}
	}
}

// What failed is tried again with a reason, as it was shown, by whom may do so alone.
func TestFailedTasksAreTriedAgainFromTheirPlan(t *testing.T) {
	s := newStand(t)
	plan := s.firstIn(s.page("/plans"), `href="(/plans/\d+)"`)
	viewer := access.Caller{Name: "v", TokenID: 3, Role: access.Viewer}
	if _, body := s.get(plan, viewer); strings.Contains(body, plan+"/retry") {
		t.Error("a viewer is offered what only operators may")
	}
	if status, _ := s.get(plan+"/retry", viewer); status != http.StatusForbidden {
		t.Errorf("a viewer's preview: %d", status)
	}
	_, preview := s.get(plan+"/retry", admin)
	s.has(preview, "1 task", "Reason", "patra task retry --plan", "nothing is changed yet")
	if status, body := s.post(plan+"/retry", url.Values{"mark": {s.firstIn(preview, markOfForm.String())}}, admin); status != http.StatusConflict || !strings.Contains(body, "a reason is needed") {
		t.Errorf("without a reason: %d", status)
	}
	if status, body := s.post(plan+"/retry", url.Values{"mark": {"other"}, "reason": {"<b>why"}}, admin); status != http.StatusConflict || !strings.Contains(body, "has changed since") || !strings.Contains(body, `value="&lt;b&gt;why"`) {
		t.Errorf("with an old preview: %d\n%s", status, body)
	}
	s.has(s.acts(plan+"/retry", admin), "are tried again", "1 task", "audit log")
	if got := s.auditOf(); !strings.Contains(got, "api:ops#7") || !strings.Contains(got, "the upstream is back") {
		t.Errorf("the audit log says %s", got)
	}
	s.has(s.page(plan+"/retry"), "There is nothing to do")
	// The plan is open again, and can be cancelled.
	s.has(s.acts(plan+"/cancel", admin), "is cancelled", "1 slice without a worker", "9 slices")
	s.has(s.page(plan), "9 of 10 slices read, 1 stopped")
	if status, _ := s.get(plan+"/cancel", admin); status != http.StatusOK {
		t.Errorf("a cancelled plan: %d", status)
	}
	task := s.firstIn(s.page(plan+"?slice=5"), `href="(/tasks/\d+)/retry"`)
	if status, body := s.get(task+"/retry", admin); status != http.StatusConflict {
		t.Errorf("a task of a cancelled plan: %d\n%s", status, body)
	}
}

// A body that was not kept cannot be read again; that is told without naming folders (R12).
func TestABatchWithoutBodyCannotBeDoneAgain(t *testing.T) {
	s := newStand(t)
	plan := s.firstIn(s.page("/plans"), `href="(/plans/\d+)"`)
	batch := s.firstIn(s.page(plan), `href="(/batches/\d+)"`)
	status, body := s.get(batch+"/replay", admin)
	if status != http.StatusOK || !strings.Contains(body, "was not kept") {
		t.Errorf("%d\n%s", status, body)
	}
	s.broken.Store(false)
	asked := s.asked.Load()
	status, body = s.post(batch+"/replay", url.Values{}, admin)
	if status != http.StatusOK || s.asked.Load() == asked || !strings.Contains(body, "is not as it was") || !strings.Contains(body, "the upstream") {
		t.Errorf("asked the upstream: %d\n%s", status, body)
	}
	s.holdPage(batch+"/replay", body)
	s.read(1, "batch.replay", strings.TrimPrefix(batch, "/batches/"), `"upstream":true`)
}

// Who is limited to other sources learns nothing of this one's work (R4).
func TestR4WorkOfOtherSourcesDoesNotExist(t *testing.T) {
	s := newStand(t)
	other := access.Caller{Name: "other", TokenID: 8, Role: access.Admin, Sources: []string{"pubmed", "arxiv"}}
	plan := s.firstIn(s.page("/plans"), `href="(/plans/\d+)"`)
	open := s.page(plan)
	task, run, batch := s.firstIn(open, `href="(/tasks/\d+)/`), s.firstIn(open, `run=(\d+)`), s.firstIn(open, `href="(/batches/\d+)"`)
	for _, path := range []string{plan, plan + "/retry", plan + "/cancel", task, task + "/retry", task + "/cancel", "/runs/" + run, batch, batch + "/replay", "/plans?source=crossref"} {
		status, body := s.get(path, other)
		if status != http.StatusNotFound || strings.Contains(body, "works") || strings.Contains(body, brokenDay) {
			t.Errorf("%s: %d\n%s", path, status, body)
		}
	}
	for _, path := range []string{plan + "/retry", plan + "/cancel", task + "/retry", task + "/cancel", batch + "/replay"} {
		if status, _ := s.post(path, url.Values{"reason": {"x"}, "mark": {"x"}}, other); status != http.StatusNotFound {
			t.Errorf("POST %s: %d", path, status)
		}
	}
	if status, body := s.get("/plans", other); status != http.StatusOK || strings.Contains(body, "crossref") {
		t.Errorf("/plans: %d\n%s", status, body)
	}
}

// Errors have a sample that leads to what came back; a group of rejected items is put back
// or discarded where it is seen.
func TestErrorsLeadToWhatCameBackAndQuarantineIsEmptied(t *testing.T) {
	s := newStand(t)
	body := s.page("/errors")
	s.has(body, "BAD_BODY", "what came back", "items in quarantine", "All events were delivered")
	sample := strings.ReplaceAll(s.firstIn(body, `(?s)BAD_BODY.*?href="(/runs/[^"]+)">what`), "&amp;", "&")
	status, to := s.get(sample, admin)
	if status != http.StatusSeeOther {
		t.Fatalf("the sample answers %d", status)
	}
	s.has(s.page(to), "HTTP 200", "text/html")
	group := strings.ReplaceAll(s.firstIn(body, `href="(/quarantine/crossref[^"]*)"`), "&amp;", "&")
	shown := s.page(group)
	s.has(shown, "in quarantine", "A sample, with people masked", "patra quarantine requeue crossref", "/batches/")
	viewer := access.Caller{Name: "v", TokenID: 3, Role: access.Viewer}
	if _, body := s.get(group, viewer); !strings.Contains(body, "need the role reader") || strings.Contains(body, "/requeue") {
		t.Error("a viewer sees ids of records, or is offered to change them")
	}
	verb := func(verb string) string {
		return strings.Replace(group, "/quarantine/crossref", "/quarantine/crossref/"+verb, 1)
	}
	s.has(s.acts(verb("requeue"), admin), "The items are read again", "put back", "plan ")
	s.has(textOf(s.page(s.firstIn(s.page("/plans"), `href="(/plans/\d+)"`))), "Asked for by HTTP (api:ops#7) MANUAL")
	if got := s.auditOf(); !strings.Contains(got, "api:ops#7") || !strings.Contains(got, "the upstream is back") {
		t.Errorf("the audit log says %s", got)
	}
	if status, body := s.get(verb("requeue"), admin); status != http.StatusConflict || !strings.Contains(body, "has not ended") {
		t.Errorf("a second time while the plan is open: %d\n%s", status, body)
	}
	s.has(s.acts(verb("discard"), admin), "The items are discarded")
	s.has(s.page("/errors?since=7d&level=L4"), "No run met an error")
	other := access.Caller{Name: "other", TokenID: 8, Role: access.Admin, Sources: []string{"pubmed"}}
	for _, path := range []string{group, verb("requeue"), verb("discard"), "/events/crossref/retry", "/events/crossref/discard", "/errors?source=crossref"} {
		if status, body := s.get(path, other); status != http.StatusNotFound || strings.Contains(body, "quarantine:") {
			t.Errorf("%s for another source: %d", path, status)
		}
	}
	if _, body := s.get("/errors", other); strings.Contains(body, "crossref") {
		t.Error("errors tell of another source")
	}
	for path, want := range map[string]int{"/errors?since=1y": 400, "/errors?level=L9": 400, "/quarantine/crossref?code=NONE": 404} {
		if status, _ := s.get(path, admin); status != want {
			t.Errorf("%s answers %d, want %d", path, status, want)
		}
	}
}

// The rate page tells what waits, how it went, and what holds requests back; a key is
// released with a reason.
func TestQueueAndRateTellWhatWaitsAndWhy(t *testing.T) {
	s := newStand(t)
	s.has(s.page("/rate"), "No task waits", "crossref", "Rate keys", "Runs that ended", `class="bars"`, "Ended well", "1000/s")
	s.has(s.page("/rate?since=1h"), "each 5m")
	if err := s.app.store.NoteCooling(t.Context(), "crossref", 3*time.Hour); err != nil {
		t.Fatal(err)
	}
	s.web = s.app.newDashboard("test", nil, callerIn, nil) // the figures of before are shared for a moment
	s.has(s.page("/rate"), "COOLING until", "/rate/release?key=crossref")
	s.has(s.acts("/rate/release?key=crossref", admin), "goes on", "pause of the upstream")
	if got := s.auditOf(); !strings.Contains(got, "api:ops#7") {
		t.Errorf("the audit log says %s", got)
	}
	s.has(s.page("/rate/release?key=crossref"), "There is nothing to do")
	other := access.Caller{Name: "other", TokenID: 8, Role: access.Admin, Sources: []string{"pubmed"}}
	if _, body := s.get("/rate", other); strings.Contains(body, "crossref") {
		t.Error("rates tell of another source")
	}
	for path, want := range map[string]int{"/rate/release?key=crossref": 404, "/rate/release": 404, "/rate?since=x": 400} {
		if status, _ := s.get(path, other); status != want {
			t.Errorf("%s answers %d, want %d", path, status, want)
		}
	}
}

// A watermark tells what moved it, agrees with its events, and is set by an admin alone, who
// sees what is read again and what is left behind.
func TestACursorTellsWhatMovedItAndIsSetByAnAdmin(t *testing.T) {
	s := newStand(t)
	s.has(s.page("/cursors"), "1 watermark", "crossref")
	body := s.page("/cursors/1")
	s.has(body, "Cursor 1 is at", "behind now", "What moved it", "/runs/", "Set it to")
	s.has(s.page("/cursors/1?check=1&since=1y"), "It is what its")
	operator := access.Caller{Name: "o", TokenID: 4, Role: access.Operator}
	if status, _ := s.get("/cursors/1/set?to=2025-03-03", operator); status != http.StatusForbidden {
		t.Errorf("an operator's preview: %d", status)
	}
	s.has(s.acts("/cursors/1/set?to=2025-03-03", admin), "Cursor 1 is set", "2025-03-03")
	if got := s.auditOf(); !strings.Contains(got, "api:ops#7") {
		t.Errorf("the audit log says %s", got)
	}
	s.has(s.page("/cursors/1"), "api:ops#7", "the upstream is back", "1 move by a person")
	other := access.Caller{Name: "other", TokenID: 8, Role: access.Admin, Sources: []string{"pubmed"}}
	for path, want := range map[string]int{"/cursors/1": 404, "/cursors/1/set?to=2025-03-01": 404, "/cursors?source=crossref": 404, "/cursors/99": 404} {
		if status, _ := s.get(path, other); status != want {
			t.Errorf("%s answers %d, want %d", path, status, want)
		}
	}
	for path, want := range map[string]int{"/cursors/1/set": 400, "/cursors/1/set?to=soon": 400, "/cursors/1?since=x": 400} {
		if status, _ := s.get(path, admin); status != want {
			t.Errorf("%s answers %d, want %d", path, status, want)
		}
	}
}

// TestALongCursorShowsTheNewestEvents makes more events than a page holds, one of them late and the
// newest by a person: the page has them, and leads to the older ones.
func TestALongCursorShowsTheNewestEvents(t *testing.T) {
	p := newPrograms(t, "sqlite:"+t.TempDir()+"/patra.db")
	of := paged{table: "ing_cursor_event", where: "id = (SELECT MIN(id) FROM ing_cursor_event)", fresh: map[string]string{"idempotent_key": "text"}}
	for n := range int64(230) {
		p.copyRow(of, n)
	}
	p.exec("UPDATE ing_cursor_event SET created_at = (SELECT MAX(created_at) FROM ing_cursor_event) + id WHERE id > 3")
	p.exec(`UPDATE ing_cursor_event SET record_remarks = '{"late":7}' WHERE id = (SELECT MAX(id) - 1 FROM ing_cursor_event)`)
	p.exec("UPDATE ing_cursor_event SET actor = 'api:ops#7', reason = 'the newest one' WHERE id = (SELECT MAX(id) FROM ing_cursor_event)")
	body := p.page("/cursors/1?since=1y")
	p.has(body, "of the 200 events below:", "7 items came late", "1 move by a person", "the newest one", "Older ones")
	body = p.page(html.UnescapeString(p.firstIn(body, `href="(/cursors/1\?[^"]*before=[^"]*)"`)))
	p.has(body, "0 moves by a person", "The newest")
	if strings.Contains(body, "the newest one") || strings.Contains(body, "Older ones") {
		t.Error("the second page has the newest event, or there is a third")
	}
}

// Records are found by id, with their versions and the batch that brought each; readers of
// other sources find nothing.
func TestRecordsAreFoundByIDWithTheirBatch(t *testing.T) {
	s := newStand(t)
	s.has(s.page("/records"), "Find a record")
	list := s.page("/records?source=crossref")
	s.has(list, "Records of crossref/works", "More")
	s.page(strings.ReplaceAll(s.firstIn(list, `rel="next" href="([^"]+)"`), "&amp;", "&"))
	record := strings.ReplaceAll(s.firstIn(list, `<a href="(/records[^"]+id=[^"]+)"`), "&amp;", "&")
	s.has(s.page(record), "is stored in 1 version", "version 1", "Of batch", "/batches/")
	s.followChanges()
	viewer := access.Caller{Name: "v", TokenID: 3, Role: access.Viewer}
	if status, _ := s.get(record, viewer); status != http.StatusForbidden {
		t.Errorf("a viewer reads records: %d", status)
	}
	other := access.Caller{Name: "other", TokenID: 8, Role: access.Reader, Sources: []string{"pubmed"}}
	evil := "/records?source=" + url.QueryEscape("<script>alert(1)</script>") + "&id=" + url.QueryEscape("\u202ex\" onload=\"y")
	for path, by := range map[string]access.Caller{record: other, "/records?source=crossref/none": admin, "/records?source=crossref&id=none": admin, evil: admin} {
		status, body := s.get(path, by)
		if status != http.StatusNotFound || strings.Contains(body, "version 1") || strings.Contains(body, "<script>alert") || strings.Contains(body, "\u202e") {
			t.Errorf("%s answers %d\n%s", path, status, body)
		}
	}
}

// followChanges reads what was stored since a day from the first page to the last: each record once.
func (s *stand) followChanges() {
	s.Helper()
	active, gone, err := s.app.Records.Count(s.Context(), view.Dataset{ID: 1})
	if err != nil {
		s.Fatal(err)
	}
	came, path := map[string]int{}, "/records?source=crossref&since=-24h"
	s.has(s.page(path), "Stored since", "in the order in which they were stored", `aria-current="true">stored since 24 h`, "/batches/")
	for pages := 0; path != "" && pages < 100; pages++ {
		body := s.page(path)
		for _, m := range regexp.MustCompile(`<a href="(/records[^"]+id=[^"]+)"`).FindAllStringSubmatch(body, -1) {
			came[m[1]]++
		}
		if path = ""; strings.Contains(body, `rel="next"`) {
			path = strings.ReplaceAll(s.firstIn(body, `rel="next" href="([^"]+)"`), "&amp;", "&")
		}
	}
	for id, times := range came {
		if times != 1 {
			s.Errorf("%s came %d times", id, times)
		}
	}
	if int64(len(came)) != active+gone || active < 60 {
		s.Errorf("%d records came, there are %d", len(came), active+gone)
	}
	s.has(s.page("/records?source=crossref&since=2100-01-01"), "Nothing was stored since then")
	for _, wrong := range []string{"/records?source=crossref&since=soon", "/records?source=crossref&since=-1d&behind=x"} {
		if status, body := s.get(wrong, admin); status != http.StatusBadRequest || !strings.Contains(body, "This cannot be asked") {
			s.Errorf("%s answers %d", wrong, status)
		}
	}
}

// Alerts are silenced with a reason and an end; the audit log shows who did so.
func TestAlertsAreSilencedAndTheAuditLogShowsIt(t *testing.T) {
	s := newStand(t)
	s.has(s.page("/alerts"), "No receiver was told of anything", "Silences in force")
	s.has(s.acts("/alerts/silence?code=GAP&source=crossref&for=2h", admin), "These alerts are silenced", "2h")
	s.has(s.page("/alerts"), "the upstream is back", "GAP")
	s.has(s.page("/audit"), "Last change:", "api:ops#7", "the upstream is back")
	s.has(s.page("/about"), "patra test", "SQLite", "role admin", "Nothing was measured yet")
	measured, err := s.app.store.MeasureSize(t.Context(), true)
	if err == nil {
		err = s.app.store.NoteSize(t.Context(), measured)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.has(s.page("/about"), "measured <time", "One record takes", "<th scope=\"row\">crossref</th>", wording.SizeText(measured.Bytes), wording.SizeText(measured.Sources[0].PerRecord))
	other := access.Caller{Name: "other", TokenID: 8, Role: access.Admin, Sources: []string{"pubmed"}}
	for path, want := range map[string]int{"/alerts/silence?code=GAP&source=crossref&for=2h": 404, "/alerts/silence?code=GAP&for=2h": 404, "/alerts?source=crossref": 404, "/audit": 404, "/about": 200, "/alerts": 200} {
		if status, body := s.get(path, other); status != want || want == 200 && strings.Contains(body, "crossref") {
			t.Errorf("%s answers %d, want %d", path, status, want)
		}
	}
	for path, want := range map[string]int{"/alerts/silence?code=GAP&for=1y": 400, "/alerts/silence?for=2h": 400, "/alerts/silence?code=NOPE&for=2h": 400} {
		if status, _ := s.get(path, admin); status != want {
			t.Errorf("%s answers %d, want %d", path, status, want)
		}
	}
}
