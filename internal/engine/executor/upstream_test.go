package executor

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/driver/httpclient"
	"github.com/patra-ingest/patra/internal/driver/secrets"
	"github.com/patra-ingest/patra/internal/engine/rategate"
	"github.com/patra-ingest/patra/internal/engine/transport"
)

// list is an upstream written by hand, for what the simulator does not do: the
// things of the day, and how they are shown.
type list struct {
	things []thing
	search func(l *list, r *http.Request, found []thing) any // answers a page
	fetch  func(l *list, r *http.Request, asked []thing) any // answers for ids; nil: gives them
	calls  map[string]int                                    // by path, this one included
	moved  map[string]int                                    // numbers of things that changed theirs
}

type thing struct {
	ID      string    `json:"id"`
	Updated time.Time `json:"updated"`
}

// things are spread over the day, oldest first.
func things(n int) (out []thing) {
	for i := range n {
		out = append(out, thing{fmt.Sprintf("t%03d", i), dayFrom.Add(time.Duration(i) * 24 * time.Hour / time.Duration(n)).Truncate(time.Second)})
	}
	return out
}

// nonsense is an answer nobody can read; refusal one with a status.
type (
	nonsense struct{}
	refusal  int
)

func (l *list) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.calls[r.URL.Path]++
	var answer any
	if r.URL.Path == "/fetch" {
		answer = l.details(r)
	} else {
		answer = l.search(l, r, l.within(r))
	}
	switch a := answer.(type) {
	case nonsense:
		fmt.Fprint(w, "<html>")
	case refusal:
		w.WriteHeader(int(a))
	default:
		_ = json.NewEncoder(w).Encode(a)
	}
}

func (l *list) within(r *http.Request) (out []thing) {
	from, _ := time.Parse("2006-01-02T15:04:05", strings.TrimSuffix(r.FormValue("from"), "Z"))
	until, _ := time.Parse("2006-01-02T15:04:05", strings.TrimSuffix(r.FormValue("until"), "Z"))
	for _, t := range l.things {
		if !t.Updated.Before(from) && t.Updated.Before(until) {
			out = append(out, t)
		}
	}
	return out
}

func (l *list) details(r *http.Request) any {
	asked := []thing{}
	for _, id := range strings.Split(r.FormValue("ids"), ",") {
		for _, t := range l.things {
			if t.ID == id {
				asked = append(asked, t)
			}
		}
	}
	if l.fetch != nil {
		return l.fetch(l, r, asked)
	}
	return map[string]any{"items": asked}
}

// at is the place a request asks for.
func at(r *http.Request) int {
	n, _ := strconv.Atoi(r.FormValue("at"))
	return n
}

// leaf is a page of ten things from a place on.
func leaf(found []thing, from int) map[string]any {
	out := append([]thing{}, found[min(from, len(found)):min(from+10, len(found))]...)
	ids := []string{}
	for _, t := range out {
		ids = append(ids, t.ID)
	}
	next := ""
	if from+10 < len(found) {
		next = fmt.Sprint(from + 10)
	}
	return map[string]any{"items": out, "ids": ids, "next": next, "more": next != "", "total": len(found)}
}

const handHead = `source: hand
name: Written by hand
http: {baseUrl: %s, allowHttp: true, allowPrivate: true}
rate: {perSecond: 5000, burst: 50, concurrency: 8, obeyHeaders: false}
retry: {maxAttempts: 2, initialDelay: PT0.001S, maxDelay: PT0.002S, taskAttempts: 2}
filter: {field: updated, precision: SECOND, from: INCLUSIVE, to: EXCLUSIVE}
slicing: {step: P1D, minStep: PT1S}
window: {minWindow: PT1S}
endpoints:
  works:
    role: SEARCH
`

// Ways to read the list.
const (
	byOffset = `
    request: {path: /list, query: {from: "${filter.from}", until: "${filter.to}", at: "${page.offset}", size: "${page.size}"}}
    paging: {type: OFFSET, size: 10}
    response: {items: $.items, id: $.id, updatedAt: $.updated, filtered: $.updated`
	byPage = `
    request: {path: /list, query: {from: "${filter.from}", until: "${filter.to}", at: "${page.number}0", size: "${page.size}"}}
    paging: {type: PAGE, base: 0, size: 10}
    response: {items: $.items, id: $.id, updatedAt: $.updated, filtered: $.updated`
	byToken = `
    request: {path: /list, query: {from: "${filter.from}", until: "${filter.to}", at: "${page.token}"}}
    paging: {type: TOKEN, size: 10}
    response: {items: $.items, id: $.id, updatedAt: $.updated, filtered: $.updated, nextToken: $.next`
	byTime = `
    request: {path: /list, query: {from: "${filter.from}", until: "${filter.to}", size: "${page.size}"}}
    paging: {type: TIME, size: 50}
    response: {items: $.items, id: $.id, updatedAt: $.updated, filtered: $.updated`
	withTotal, withMore, asIs = ", total: $.total}\n", ", hasMore: $.more}\n", "}\n"

	inTwoSteps = `
    request: {path: /search, query: {from: "${filter.from}", until: "${filter.to}", at: "${page.token}"}}
    paging: {type: TOKEN, size: 10}
    response: {items: $.ids, id: $, nextToken: $.next}
    details: {endpoint: fetch, batchSize: 5}
  fetch:
    role: DETAIL
    request: {path: /fetch, query: {ids: "${join(ids, ',')}"}}
    response: {items: $.items, id: $.id, updatedAt: $.updated, filtered: $.updated}
`
)

// byHand starts an upstream and a world that reads it.
func byHand(t *testing.T, l *list, reading string, settings ...string) *formWorld {
	t.Helper()
	l.calls = map[string]int{}
	if l.search == nil {
		l.search = func(_ *list, r *http.Request, found []thing) any { return leaf(found, at(r)) }
	}
	server := httptest.NewServer(l)
	t.Cleanup(server.Close)
	w := &formWorld{}
	w.T, w.clock, w.wire = t, &clock{began: time.Now()}, &wire{lose: map[string]int{}}
	source, _, err := registry.Decode("hand.yaml", []byte(fmt.Sprintf(handHead, server.URL)+strings.TrimPrefix(reading, "\n")))
	w.must(err)
	var set []registry.Override
	for _, setting := range settings {
		o, err := registry.ParseOverride(setting)
		w.must(err)
		set = append(set, o)
	}
	resolved, err := registry.Resolve(source, "works", "HARVEST", set)
	w.must(err)
	w.compiled, err = spec.Compile(resolved)
	w.must(err)
	w.chain = transport.StackSigned(httpclient.New(httpclient.Options{}), secrets.Limited{}, rategate.New())
	w.openCopy()
	return w
}

// states are the stored records.
func (w *formWorld) states() map[string]string {
	w.Helper()
	records, err := w.store.Records(w.Context(), "hand", "works", nil, 10_000)
	w.must(err)
	out := map[string]string{}
	for _, r := range records {
		out[r.ID] = string(r.State)
	}
	return out
}

// aside is what is in quarantine.
func (w *formWorld) aside() map[string]string {
	w.Helper()
	list, err := w.store.Quarantine(w.Context(), "hand", 0, 10_000)
	w.must(err)
	out := map[string]string{}
	for _, q := range list {
		out[q.ProviderID] = string(q.Reason)
	}
	return out
}

// holds expects every thing to be stored and the day to count as read.
func (w *formWorld) holds(all []thing) {
	w.Helper()
	states, missing := w.states(), 0
	for _, t := range all {
		if states[t.ID] != "ACTIVE" {
			missing++
		}
	}
	if missing > 0 || !w.believed() {
		w.Errorf("%d of %d are missing; the day counts as read: %v\n  %s", missing, len(all), w.believed(), w.story())
	}
	w.checked()
}
