package daemon

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/patra-ingest/patra/internal/core/access"
)

// look is a change that somebody looked at before it is made, and what happens in between.
type look struct {
	route, path, body string
	meanwhile         func(p *programs)
}

// looks are all changes that may be told what their caller saw (R11).
var looks = []look{
	{"POST /v1/cursors/{id}/waive", "/v1/cursors/CURSOR/waive", `"from":"2025-03-05T00:00:00Z","to":"2025-03-06T00:00:00Z"`, func(p *programs) {
		p.mustDo("/v1/cursors/CURSOR/waive", `"from":"2025-03-05T00:00:00Z","to":"2025-03-05T12:00:00Z"`)
	}},
	{"POST /v1/cursors/{id}/accept", "/v1/cursors/CURSOR/accept", ``, func(p *programs) { p.exec("UPDATE ing_generation SET items = items - 1") }},
	{"POST /v1/tasks/cancel", "/v1/tasks/cancel", `"plan":NEWEST`, func(p *programs) { p.mustDo("/v1/tasks/cancel", `"ids":[LAST]`) }},
	{"POST /v1/tasks/retry", "/v1/tasks/retry", `"plan":NEWEST,"status":"CANCELLED"`, func(p *programs) { p.mustDo("/v1/tasks/retry", `"ids":[LAST]`) }},
	{"POST /v1/plans/{id}/cancel", "/v1/plans/NEWEST/cancel", ``, func(p *programs) {
		p.exec("UPDATE ing_plan_slice SET status_code = 'SUCCEEDED' WHERE id = (SELECT id FROM (SELECT MAX(id) AS id FROM ing_plan_slice) newest)")
	}},
	{"POST /v1/quarantine/requeue", "/v1/quarantine/requeue", `"source":"crossref","endpoint":"works"`, func(p *programs) {
		p.mustDo("/v1/quarantine/discard", `"source":"crossref","ids":[REJECT]`)
	}},
	{"POST /v1/quarantine/discard", "/v1/quarantine/discard", `"source":"crossref"`, func(p *programs) {
		p.exec("UPDATE ing_quarantine SET status_code = 'DISCARDED' WHERE id = (SELECT id FROM (SELECT MAX(id) AS id FROM ing_quarantine) newest)")
	}},
	{"POST /v1/events/retry", "/v1/events/retry", `"source":"crossref"`, func(p *programs) { p.mustDo("/v1/events/discard", `"ids":[DEAD]`) }},
	{"POST /v1/events/discard", "/v1/events/discard", `"source":"crossref"`, func(p *programs) {
		p.exec("UPDATE ing_outbox_message SET status_code = 'DEAD' WHERE id = (SELECT id FROM (SELECT MAX(id) AS id FROM ing_outbox_message) newest)")
	}},
}

// unseen are the changes that are not told what their caller saw, each with the reason.
var unseen = map[string]string{
	"POST /v1/sources/{source}/pause":   "a switch: whoever finds it on changes nothing",
	"POST /v1/sources/{source}/resume":  "a switch: whoever finds it off changes nothing",
	"POST /v1/sources/{source}/trigger": "adds a plan, and has an Idempotency-Key",
	"POST /v1/sources/{source}/fill":    "adds plans, and has an Idempotency-Key",
	"POST /v1/exports":                  "adds an export, and has an Idempotency-Key",
	"POST /v1/exports/{id}/cancel":      "an export that has ended stays as it is",
	"POST /v1/cursors/{id}/set":         "wants the version of the cursor",
	"POST /v1/rates/release":            "a switch: a key that waits for nothing is left as it is",
	"POST /v1/silences":                 "adds a silence",
	"POST /v1/silences/{id}/end":        "a switch: a silence that has ended stays ended",
	"POST /v1/batches/{id}/replay":      "changes nothing",
	"POST /v1/runs/{id}/replay":         "changes nothing",
	"POST /v1/tasks/{id}/replay":        "changes nothing",
	"POST /v1/source-files/check":       "changes nothing",
	"POST /v1/source-files/diff":        "changes nothing",
}

// mustDo changes something as admin.
func (p *programs) mustDo(path, fields string) {
	p.Helper()
	if w := p.act(path, fields); w.Code != http.StatusOK {
		p.Fatalf("%s: %d %s", path, w.Code, w.Body)
	}
}

// act calls a route that changes something.
func (p *programs) act(path, fields string, headers ...string) *httptest.ResponseRecorder {
	p.Helper()
	if fields != "" {
		fields = "," + fields
	}
	of := strings.NewReplacer("NEWEST", p.newestPlan(), "LAST", fmt.Sprint(p.number("SELECT MAX(id) FROM ing_task")))
	body := p.names.Replace(of.Replace(`{"reason":"x"` + fields + `}`))
	return p.ask(http.MethodPost, p.names.Replace(of.Replace(path)), body, append([]string{"Authorization", p.key}, headers...)...)
}

// TestR11AChangeIsMadeAsItWasSeen looks at every change that somebody may want to look at first, lets
// something happen, and makes the change: it is refused with what it would do now, and nothing was
// done. As it is now it is done. A change in no list fails the test.
func TestR11AChangeIsMadeAsItWasSeen(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) { newPrograms(t, database).makeEachAsSeen() })
}

func (p *programs) makeEachAsSeen() {
	t := p.T
	p.key = p.newToken("admin", access.Admin, 24*time.Hour)
	p.mustDo("/v1/sources/crossref/trigger", `"operation":"BACKFILL","from":"2024-01-01T00:00:00Z","to":"2024-01-04T00:00:00Z","offline":true`)
	listed := map[string]bool{"POST /v1/sources/{source}/apply": true} // If-Match is the ETag of the file
	for _, l := range looks {
		listed[l.route] = true
		t.Run(l.route, func(t *testing.T) {
			was := p.T
			p.T = t
			defer func() { p.T = was }()
			p.makeAsSeen(l)
		})
	}
	p.eachRoute(func(method, path string, o *huma.Operation) {
		route := method + " " + path
		takes := slices.ContainsFunc(o.Parameters, func(in *huma.Param) bool { return in.In == "header" && in.Name == "If-Match" })
		if method != http.MethodGet && (takes != listed[route] || !takes && unseen[route] == "") {
			t.Errorf("%s takes If-Match: %v: decide whether somebody looks before", route, takes)
		}
	})
}

func (p *programs) makeAsSeen(l look) {
	p.Helper()
	rehearse := func() string {
		p.Helper()
		w := p.act(l.path, strings.TrimPrefix(l.body+`,"dryRun":true`, ","))
		if w.Code != http.StatusOK || w.Header().Get("ETag") == "" {
			p.Fatalf("dry run: %d %q %s", w.Code, w.Header().Get("ETag"), w.Body)
		}
		return w.Header().Get("ETag")
	}
	seen := rehearse()
	if again := rehearse(); again != seen {
		p.Errorf("nothing happened, and the dry run tells something else: %s, %s", seen, again)
	}
	l.meanwhile(p)
	acts := p.newestAct()
	w := p.act(l.path, l.body, "If-Match", seen)
	if w.Code != http.StatusPreconditionFailed || !strings.Contains(w.Body.String(), `"now":{`) {
		p.Errorf("it is done though something happened: %d %s", w.Code, w.Body)
	}
	p.holdProblem(l.route, w)
	if now := p.newestAct(); now != acts {
		p.Errorf("it was refused, and %d rows tell that it was done", now-acts)
	}
	if w := p.act(l.path, l.body, "If-Match", rehearse()); w.Code != http.StatusOK {
		p.Errorf("as it is now: %d %s", w.Code, w.Body)
	}
}
