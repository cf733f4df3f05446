package daemon

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
)

// asking is a call that queues work, and the same call for something else.
type asking struct {
	name, route, body, other string
	server                   bool // asked of both databases: statements of the others are in it
}

// askings are all calls that queue work under a name.
var askings = []asking{
	{"harvest", "POST /v1/sources/{source}/trigger", `"operation":"HARVEST","from":"2025-03-05T00:00:00Z","to":"2025-03-06T00:00:00Z","retry":true,"offline":true`, `"operation":"HARVEST","from":"2025-03-05T00:00:00Z","to":"2025-03-07T00:00:00Z","retry":true,"offline":true`, false},
	{"backfill", "POST /v1/sources/{source}/trigger", `"operation":"BACKFILL","from":"2024-01-01T00:00:00Z","to":"2024-01-02T00:00:00Z","offline":true`, `"operation":"BACKFILL","from":"2024-01-01T00:00:00Z","to":"2024-01-03T00:00:00Z","offline":true`, false},
	{"update", "POST /v1/sources/{source}/trigger", `"operation":"UPDATE","offline":true`, `"operation":"UPDATE","offline":true,"priority":3`, false},
	{"fill of what is owed", "POST /v1/sources/{source}/fill", `"from":"2025-03-05T00:00:00Z","to":"2025-03-06T00:00:00Z"`, `"from":"2025-03-05T00:00:00Z","to":"2025-03-07T00:00:00Z"`, false},
	{"fill of history", "POST /v1/sources/{source}/fill", `"from":"2025-02-20T00:00:00Z","to":"2025-02-22T00:00:00Z"`, `"from":"2025-02-20T00:00:00Z","to":"2025-02-23T00:00:00Z"`, false},
	{"fill of both", "POST /v1/sources/{source}/fill", `"from":"2025-02-20T00:00:00Z","to":"2025-03-06T00:00:00Z"`, `"from":"2025-02-21T00:00:00Z","to":"2025-03-06T00:00:00Z"`, true},
	{"export", "POST /v1/exports", `"source":"crossref"`, `"source":"crossref","format":"csv"`, true},
}

// withoutName are calls that queue work and need no name, each with the reason.
var withoutName = map[string]string{
	"POST /v1/quarantine/requeue": "what was put back once is not open any more: the same call again finds nothing",
}

// TestR11TheSameNameIsTheSameWork sends every request that queues work twice under one name: there
// is one plan, campaign or export of it, and both answers name it. The same name for something else
// is refused and queues nothing. A route that queues work and takes no name fails the test.
func TestR11TheSameNameIsTheSameWork(t *testing.T) {
	for _, a := range askings {
		t.Run(a.name, func(t *testing.T) {
			onBothDatabases(t, func(t *testing.T, database string) {
				if sqlite := strings.HasPrefix(database, "sqlite:"); sqlite || a.server {
					newPrograms(t, database).askTwice(a)
				}
			})
		})
	}
}

// queued are the names of work in an answer.
var queued = regexp.MustCompile(`"(?:planId|campaign|id)":("[^"]*"|\d+)`)

func (p *programs) askTwice(a asking) {
	p.Helper()
	method, path, _ := strings.Cut(a.route, " ")
	send := func(fields string) (int, string) {
		p.Helper()
		status, body := p.call(method, p.real(path), `{"reason":"x",`+fields+`}`, admin, "Idempotency-Key", "nightly-7")
		return status, string(body)
	}
	count := func() int64 {
		p.Helper()
		return p.number("SELECT (SELECT COUNT(*) FROM ing_plan) + (SELECT COUNT(*) FROM ing_campaign) + (SELECT COUNT(*) FROM ing_export)")
	}
	before := count()
	status, first := send(a.body)
	begun := count()
	if status != http.StatusOK || begun == before {
		p.Fatalf("%d, %d rows: %s", status, begun-before, first)
	}
	status, again := send(a.body)
	var told struct{ Repeated bool }
	if err := json.Unmarshal([]byte(again), &told); err != nil || status != http.StatusOK || !told.Repeated {
		p.Errorf("again: %d %v %s", status, err, again)
	}
	if one, two := queued.FindAllString(first, -1), queued.FindAllString(again, -1); !slices.Equal(one, two) || len(one) == 0 {
		p.Errorf("first %v, again %v", one, two)
	}
	if status, body := send(a.other); status != http.StatusConflict {
		p.Errorf("the same name for something else: %d %s", status, body)
	}
	if now := count(); now != begun {
		p.Errorf("%d rows were added by the repetition", now-begun)
	}
}

// TestR11EveryCallThatQueuesWorkTakesAName holds the table against the rows that routes leave.
func TestR11EveryCallThatQueuesWorkTakesAName(t *testing.T) {
	p := newPrograms(t, "sqlite:"+t.TempDir()+"/patra.db")
	takes := map[string]bool{}
	p.eachRoute(func(method, path string, o *huma.Operation) {
		if slices.ContainsFunc(o.Parameters, func(in *huma.Param) bool { return in.In == "header" && in.Name == "Idempotency-Key" }) {
			takes[method+" "+path] = true
		}
	})
	tried := map[string]bool{}
	for _, a := range askings {
		tried[a.route] = true
		if !takes[a.route] {
			t.Errorf("%s takes no name", a.route)
		}
	}
	for route := range takes {
		if !tried[route] {
			t.Errorf("%s takes a name, and the table does not try it", route)
		}
	}
	for _, d := range deeds {
		if queues := strings.Contains(d.leaves, ".open") || strings.Contains(d.leaves, ".ask"); queues && !takes[d.route] && withoutName[d.route] == "" {
			t.Errorf("%s queues work (%s) and takes no name", d.route, d.leaves)
		}
	}
}

// TestR11ARetryTwiceIsOne retries the same tasks twice, as a program does whose answer got lost: the second
// call finds them queued and changes nothing, so that it needs no name.
func TestR11ARetryTwiceIsOne(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) {
		p := newPrograms(t, database)
		retry := func() (done struct{ Queued int }) {
			t.Helper()
			status, body := p.call(http.MethodPost, "/v1/tasks/retry", p.names.Replace(`{"reason":"x","plan":PLAN}`), admin)
			if err := json.Unmarshal(body, &done); err != nil || status != http.StatusOK {
				t.Fatalf("%d %v %s", status, err, body)
			}
			return done
		}
		if first, second := retry(), retry(); first.Queued == 0 || second.Queued != 0 {
			t.Errorf("the first retry queued %d tasks, the second %d", first.Queued, second.Queued)
		}
	})
}
