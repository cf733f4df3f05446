package daemon

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/patra-ingest/patra/internal/core/view"
)

// deed is one call that acts, and the rows it must leave.
type deed struct {
	route  string // as the description names it
	path   string // empty: that of the route
	body   string // beside reason and dryRun
	leaves string // actions of the audit log, sorted
	reads  bool   // nobody is asked for a reason, and it cannot be rehearsed
}

// deeds are done one after the other: what one leaves, another takes up.
var deeds = []deed{
	{route: "POST /v1/sources/{source}/pause", leaves: "source.pause"},
	{route: "POST /v1/sources/{source}/resume", leaves: "source.resume"},
	{route: "POST /v1/batches/{id}/replay", path: "/v1/batches/BATCH/replay", leaves: "batch.replay", reads: true},
	{route: "POST /v1/runs/{id}/replay", path: "/v1/runs/RUN/replay", leaves: "batch.replay", reads: true},
	{route: "POST /v1/tasks/{id}/replay", path: "/v1/tasks/DONE/replay", leaves: "batch.replay", reads: true},
	{route: "GET /v1/batches/{id}/body", path: "/v1/batches/BATCH/body", leaves: "body.read", reads: true},
	{route: "GET /v1/exports/{id}/file", path: "/v1/exports/EXPORT/file", leaves: "export.read", reads: true},
	{route: "POST /v1/exports/{id}/cancel", path: "/v1/exports/EXPORT/cancel", leaves: "export.cancel"},
	{route: "POST /v1/exports", body: `"source":"crossref"`, leaves: "export.ask"},
	{route: "POST /v1/quarantine/discard", body: `"source":"crossref","ids":[REJECT]`, leaves: "quarantine.discard"},
	{route: "POST /v1/quarantine/requeue", body: `"source":"crossref","endpoint":"works"`, leaves: "plan.open quarantine.requeue"},
	{route: "POST /v1/tasks/retry", body: `"plan":PLAN`, leaves: "task.retry"},
	{route: "POST /v1/tasks/cancel", body: `"ids":[TASK]`, leaves: "task.cancel"},
	{route: "POST /v1/sources/{source}/fill", body: `"from":"2025-02-20T00:00:00Z","to":"2025-02-22T00:00:00Z"`, leaves: "campaign.open"},
	{route: "POST /v1/cursors/{id}/waive", path: "/v1/cursors/CURSOR/waive", body: `"from":"2025-03-05T00:00:00Z","to":"2025-03-06T00:00:00Z"`, leaves: "coverage.waive"},
	{route: "POST /v1/cursors/{id}/accept", path: "/v1/cursors/CURSOR/accept", leaves: "coverage.accept"},
	{route: "POST /v1/sources/{source}/trigger", body: `"operation":"BACKFILL","from":"2024-01-01T00:00:00Z","to":"2024-01-02T00:00:00Z","offline":true`, leaves: "plan.open"},
	{route: "POST /v1/plans/{id}/cancel", path: "/v1/plans/NEWEST/cancel", leaves: "plan.cancel"},
	{route: "POST /v1/events/retry", body: `"ids":[1]`, leaves: "outbox.retry"},
	{route: "POST /v1/events/discard", body: `"ids":[2]`, leaves: "outbox.discard"},
	{route: "POST /v1/rates/release", body: `"key":"crossref"`, leaves: "rate.release"},
	{route: "POST /v1/silences", body: `"code":"GAP","until":"2099-01-01T00:00:00Z"`, leaves: "alert.silence"},
	{route: "POST /v1/silences/{id}/end", path: "/v1/silences/2/end", leaves: "alert.unsilence"},
	{route: "POST /v1/cursors/{id}/set", path: "/v1/cursors/CURSOR/set", body: `"to":"2025-03-02T00:00:00Z","version":VERSION`, leaves: "cursor.set"},
	{route: "POST /v1/sources/{source}/apply", body: `"yaml":YAML`, leaves: "source.apply"},
}

// harmless are the routes other than GET that neither change, send nor show anything.
var harmless = map[string]bool{"POST /v1/source-files/check": true, "POST /v1/source-files/diff": true}

// TestR13EveryChangeIsARow calls every route of the description that acts, one after the other:
// each leaves its rows with the token and the reason, and a dry run leaves none. So does what
// changes nothing and shows raw answers or sends a request. A route that nobody decided about
// fails the test.
func TestR13EveryChangeIsARow(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) {
		p := newPrograms(t, database)
		known := map[string]bool{}
		for _, d := range deeds {
			known[d.route] = true
		}
		p.eachRoute(func(method, path string, _ *huma.Operation) {
			if route := method + " " + path; method != http.MethodGet && !known[route] && !harmless[route] {
				t.Errorf("%s acts, and this test does not do it", route)
			}
		})
		for _, r := range p.api.Routes {
			if route := r.Method + " " + r.Path; r.Audited != known[route] {
				t.Errorf("%s: it says of itself that it is audited: %v", route, r.Audited)
			}
		}
		for _, d := range deeds {
			p.perform(d)
		}
	})
}

// perform rehearses a deed, does it, and holds what it left.
func (p *programs) perform(d deed) {
	p.Helper()
	method, path, _ := strings.Cut(d.route, " ")
	if d.path != "" {
		path = strings.ReplaceAll(d.path, "NEWEST", p.newestPlan())
	}
	path = p.names.Replace(path)
	send := func(body string) {
		p.Helper()
		var headers []string
		if method == http.MethodGet {
			body = ""
		} else if strings.HasSuffix(path, "/apply") {
			headers = []string{"If-Match", p.match()}
		}
		if status, answer := p.call(method, path, body, admin, headers...); status != http.StatusOK {
			p.Errorf("%s: %d %s", d.route, status, answer)
		}
	}
	before := p.newestAct()
	fields := `"reason":"` + d.route + `"`
	if d.body != "" {
		fields += "," + p.names.Replace(strings.ReplaceAll(d.body, "VERSION", p.version()))
	}
	switch {
	case d.reads:
		send("{}")
	default:
		send("{" + fields + `,"dryRun":true}`)
		if now := p.newestAct(); now != before {
			p.Errorf("%s: a dry run left %d rows", d.route, now-before)
		}
		send("{" + fields + "}")
	}
	p.holdRows(d.route, before, d.leaves, d.reads)
}

// holdRows holds that a call left its rows after another row and no others, with the token and the
// reason, which is the name of the route.
func (p *programs) holdRows(route string, before int64, leaves string, reads bool) {
	p.Helper()
	acts, err := p.app.History.ListActs(p.Context(), view.Filter{Limit: 20})
	p.must(err)
	var left []string
	for _, e := range acts {
		if e.ID <= before {
			break
		}
		signed := e.Reason == route || reads && strings.HasPrefix(e.Reason, "request r")
		if e.Actor != "api:ops#7" || !signed {
			p.Errorf("%s: row %s is of %s, because %q", route, e.Action, e.Actor, e.Reason)
		}
		left = append(left, e.Action)
	}
	slices.Sort(left)
	if got := strings.Join(left, " "); got != leaves {
		p.Errorf("%s leaves %q, want %q", route, got, leaves)
	}
	if strings.Contains(leaves, "plan.open") {
		p.holdAsker(route)
	}
}

// holdAsker holds that the newest plan says by which way and by whose token it was asked for.
func (p *programs) holdAsker(route string) {
	p.Helper()
	status, body := p.call(http.MethodGet, "/v1/plans/"+p.newestPlan(), "", admin)
	var plan struct {
		Trigger struct {
			Scheduler string
			Params    struct{ Actor, Reason string }
		}
	}
	if err := json.Unmarshal([]byte(body), &plan); err != nil || status != http.StatusOK {
		p.Fatalf("%s: %d %v %s", route, status, err, body)
	}
	if got := plan.Trigger; got.Scheduler != "API" || got.Params.Actor != "api:ops#7" || got.Params.Reason != route {
		p.Errorf("%s: the plan was asked for by %+v", route, got)
	}
}

func (p *programs) newestAct() int64 {
	p.Helper()
	return p.number("SELECT COALESCE(MAX(id), 0) FROM ing_audit_log")
}

func (p *programs) newestPlan() string {
	p.Helper()
	plans, err := p.app.Plans.ListRows(p.Context(), view.PlanFilter{Filter: view.Filter{Limit: 1}})
	p.must(err)
	return strconv.FormatInt(plans[0].ID, 10)
}
