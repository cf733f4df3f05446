package daemon

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/trust"
	"github.com/patra-ingest/patra/internal/core/window"
)

// setApart makes the issues a source of their own, at another host, whose parts are the repositories of the other source.
func (w *forgeWorld) setApart(t *testing.T) {
	server := httptest.NewServer(w.forge)
	t.Cleanup(server.Close)
	w.apart = server.URL
}

// filesApart returns the two files: repositories, and issues of each of them.
func (w *forgeWorld) filesApart(code string) (hub, own string) {
	repos, issues := strings.Index(w.file, "  repos:\n"), strings.Index(w.file, "  issues:\n")
	hub = strings.Replace(fmt.Sprintf(w.file[:issues], w.url), "source: forge", "source: "+code+"hub", 1)
	own = strings.Replace(fmt.Sprintf(w.file[:repos]+w.file[issues:], w.apart), "source: forge", "source: "+code, 1)
	return hub, strings.Replace(own, "from: {endpoint: repos", "from: {source: "+code+"hub, endpoint: repos", 1)
}

func (w *forgeWorld) decode(text string) *registry.Source {
	w.Helper()
	src, _, err := registry.Decode("forge.yaml", []byte(text))
	if err != nil {
		w.Fatal(err)
	}
	return src
}

// apply makes a source what a file says.
func (w *forgeWorld) apply(text string) {
	w.Helper()
	src, o := w.decode(text), registry.ApplyOptions{Actor: "ann", Reason: "test"}
	if _, err := PreviewSource(w.Context(), w.app, src, o); err != nil {
		w.Fatal(err)
	}
	if _, err := w.app.ApplySource(w.Context(), src, o); err != nil {
		w.Fatal(err)
	}
}

// use is what the issues want of this machine.
func (w *forgeWorld) use(code string) []trust.Use {
	return []trust.Use{{Ref: trust.OfRecords(code + "hub/repos"), Host: strings.TrimPrefix(w.apart, "http://")}}
}

func (w *forgeWorld) agree(code string) {
	w.Helper()
	if err := w.app.guard.Agree(w.Context(), w.use(code), ingest.Act{Actor: "ann", Reason: "test"}); err != nil {
		w.Fatal(err)
	}
}

// compileApart applies both sources, agrees to what is sent, and compiles one of them as a run would.
func (w *forgeWorld) compileApart(code, endpoint string) *spec.Compiled {
	w.Helper()
	if endpoint == "repos" {
		hub, own := w.filesApart(code)
		w.apply(hub)
		w.apply(own)
		w.agree(code)
	}
	return w.compileApplied(code, endpoint)
}

func (w *forgeWorld) compileApplied(code, endpoint string) *spec.Compiled {
	w.Helper()
	if endpoint == "repos" {
		code += "hub"
	}
	c, err := w.app.Compile(w.Context(), code, endpoint, ingest.Harvest, nil)
	if err != nil {
		w.Fatal(err)
	}
	return c
}

// The parts of a list are stored records of another source: read as far as those are known, one that is new from its beginning,
// one that is closed not at all.
func TestPartsComeFromAnotherSource(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) {
		w := newForgeWorld(t, database)
		w.setApart(t)
		repos, issues := w.compile("forge", "repos"), w.compile("forge", "issues")
		w.readFirst(repos, issues, "records of forgehub/repos, which was not harvested yet: patra harvest forgehub --endpoint repos")
		w.forge.add(7, marchDay(2), marchDay(4), 2, 3, 5)
		w.forge.repos["r2"].Closed, w.forge.repos["r2"].Updated = true, marchDay(4)
		w.harvest(repos, marchDay(6))
		w.forget()
		if h := w.harvest(issues, marchDay(6)); h.Plan.Stats.Inserted != 4*2+3 {
			t.Errorf("%+v", h.Plan)
		}
		if w.forge.asked["r2"] != 0 || len(w.forge.spans["r7"]) == 0 || !w.forge.spans["r7"][0].From.Equal(marchDay(2)) {
			t.Errorf("asked %v, %v", w.forge.asked, w.forge.spans["r7"])
		}
		if s := w.state(issues); !s.Cursor.Equal(marchDay(6)) || len(coverage.Gaps(s.Segments, window.Window{From: marchDay(1), To: marchDay(6)})) > 0 {
			t.Errorf("%+v", s)
		}
	})
}

// Nothing of what is stored of a source goes to the host of another one before somebody agreed to that, at a plan and at a plan that
// is there already; whoever takes it back stops it.
func TestStoredRecordsAreNotSentWithoutConsent(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) {
		w := newForgeWorld(t, database)
		w.setApart(t)
		hub, own := w.filesApart("forge")
		w.apply(hub)
		w.apply(own)
		repos, issues := w.compileApplied("forge", "repos"), w.compileApplied("forge", "issues")
		w.forge.add(1, marchDay(1), marchDay(1), 1, 2)
		w.harvest(repos, marchDay(3))
		refused := func() {
			t.Helper()
			w.forget()
			from := marchDay(1)
			r := NewRequest(marchDay(3), &from, nil)
			_, err := w.app.Harvest(w.Context(), issues, r, Watch{})
			var stopped *trust.Stopped
			if !errors.As(err, &stopped) || !slices.Equal(stopped.Uses(), w.use("forge")) || !strings.Contains(err.Error(), "send what is stored of forgehub/repos to 127.0.0.1:") || stopped.Command != "patra source trust forge" {
				t.Fatalf("%v", err)
			}
			if len(w.forge.asked) > 0 {
				t.Errorf("asked %v", w.forge.asked)
			}
		}
		refused()
		if all, err := w.app.Untrusted(w.Context(), ""); err != nil || len(all) != 1 || all[0].What != "source forge" {
			t.Errorf("%+v, %v", all, err)
		}
		if !w.app.waitsForConsent(w.Context(), ingest.Partition{Dataset: issues.Snapshot.Dataset(), Operation: ingest.Harvest}) {
			t.Error("its tasks would be taken")
		}
		w.agree("forge")
		r := NewRequest(marchDay(3), nil, nil)
		from := marchDay(1)
		r.From = &from
		if _, _, err := w.app.Planner.Plan(w.Context(), issues, r); err != nil {
			t.Fatal(err)
		}
		if err := w.app.guard.Withdraw(w.Context(), w.use("forge"), ingest.Act{Actor: "ann", Reason: "test"}); err != nil {
			t.Fatal(err)
		}
		refused()
		if s := w.state(issues); !s.Cursor.IsZero() && s.Cursor.After(marchDay(1)) {
			t.Errorf("claimed up to %s", s.Cursor)
		}
		w.agree("forge")
		if w.harvest(issues, marchDay(3)); len(w.stored("forge")) != 2 {
			t.Errorf("%v", w.stored("forge"))
		}
	})
}

// Consent is for one host: where a run asks another one, it is asked again.
func TestConsentToSendRecordsIsForOneHost(t *testing.T) {
	w := newForgeWorld(t, "sqlite:"+t.TempDir()+"/patra.db")
	w.setApart(t)
	w.compile("forge", "repos")
	set, err := registry.ParseOverride("http.baseUrl=" + w.url)
	if err != nil {
		t.Fatal(err)
	}
	c, err := w.app.Compile(t.Context(), "forge", "issues", ingest.Harvest, []registry.Override{set})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.app.MayRun(t.Context(), c.Snapshot); err == nil || !strings.Contains(err.Error(), "patra source trust records:forgehub/repos "+strings.TrimPrefix(w.url, "http://")) {
		t.Errorf("%v", err)
	}
	if err := w.app.MayRun(t.Context(), w.compileApplied("forge", "issues").Snapshot); err != nil {
		t.Error(err)
	}
}

// A source that is taken away, or has the endpoint no more, leaves an error that says so, and no hole: nothing is planned, and what
// the book says stays. When it is back, the harvest goes on.
func TestTheOtherSourceMayGo(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) {
		w := newForgeWorld(t, database)
		w.setApart(t)
		repos, issues := w.compile("forge", "repos"), w.compile("forge", "issues")
		w.forge.add(1, marchDay(1), marchDay(1), 1, 2, 3, 4)
		w.harvest(repos, marchDay(3))
		w.harvest(issues, marchDay(3))
		hub, own := w.filesApart("forge")
		by := ingest.Act{Actor: "ann", Reason: "test"}
		if takers, err := w.app.TakersOf(t.Context(), "forgehub"); err != nil || !slices.Equal(takers, []string{"forge"}) {
			t.Errorf("%v, %v", takers, err)
		}
		broken := func(want string) {
			t.Helper()
			if _, err := w.app.Compile(t.Context(), "forge", "issues", ingest.Harvest, nil); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v", err)
			}
			if _, err := w.app.Compile(t.Context(), "forge", "issues", ingest.Update, nil); err != nil && strings.Contains(err.Error(), want) {
				t.Errorf("an update by id needs the other source: %v", err)
			}
			if s := w.state(issues); !s.Cursor.Equal(marchDay(3)) {
				t.Errorf("the watermark stands at %s", s.Cursor)
			}
		}
		if _, err := w.app.Definitions.Remove(t.Context(), "forgehub", by); err != nil {
			t.Fatal(err)
		}
		broken("the parts of forge/issues are records of forgehub/repos, and there is no source forgehub; apply it first")
		if _, err := PreviewSource(t.Context(), w.app, w.decode(own), registry.ApplyOptions{}); err == nil || !strings.Contains(err.Error(), "there is no source forgehub") {
			t.Errorf("%v", err)
		}
		if _, err := PreviewSource(t.Context(), w.app, w.decode(own), registry.ApplyOptions{}, w.decode(hub)); err != nil {
			t.Errorf("both are applied at once: %v", err)
		}
		w.apply(strings.Replace(hub, "  repos:\n", "  projects:\n", 1))
		broken(`of source forgehub: there is no endpoint "repos"`)
		w.apply(hub)
		w.harvest(w.compileApplied("forge", "repos"), marchDay(5))
		w.harvest(w.compileApplied("forge", "issues"), marchDay(5))
		if s := w.state(issues); !s.Cursor.Equal(marchDay(5)) || len(w.stored("forge")) != 4 {
			t.Errorf("the watermark stands at %s: %v", s.Cursor, w.stored("forge"))
		}
	})
}

// A file by itself knows nothing of the other source: it is right, and cannot be planned.
func TestAFileWithoutTheOtherSourceIsNotPlanned(t *testing.T) {
	w := newForgeWorld(t, "sqlite:"+t.TempDir()+"/patra.db")
	w.setApart(t)
	_, own := w.filesApart("forge")
	c, err := Compile(w.decode(own), "issues", ingest.Harvest, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.app.Planner.Draft(t.Context(), c, NewRequest(marchDay(3), nil, nil)); err == nil || !strings.Contains(err.Error(), "the partitions of forge/issues are records of forgehub/repos, but how that source is harvested is not known here") {
		t.Errorf("%v", err)
	}
}

const lookupFiles = `source: register
name: Register
http: {baseUrl: %[1]q, allowHttp: true, allowPrivate: true}
rate: {perSecond: 1000, burst: 100}
filter: {field: updated, precision: SECOND, to: EXCLUSIVE}
window: {safetyLag: PT0S, earliest: "2025-03-01"}
paging: {type: ONE}
endpoints:
  works:
    role: SEARCH
    request: {path: /works, query: {from: "${filter.from}", to: "${filter.to}"}}
    response: {items: $.works, id: $.DOI, updatedAt: $.updated, gone: "${jsonPath('$.withdrawn')}", fields: {doi: $.DOI}}
---
source: copies
name: Free copies
http: {baseUrl: %[1]q, allowHttp: true, allowPrivate: true}
rate: {perSecond: 1000, burst: 100}
retry: {maxAttempts: 1, taskAttempts: 1}
endpoints:
  by_doi:
    role: SEARCH
    partitions: {doi: {from: {source: register, endpoint: works, value: $.DOI}}}
    request: {path: "/copies/${partition.doi}"}
    filter: {bounds: NONE}
    snapshot: {every: P1D, confirm: 1, maxGone: 1, minShare: 0}
    paging: {type: ONE}
    response: {items: $, single: true, id: $.doi, emptyStatus: [404], emptyWhen: [$.error], fields: {free: $.is_oa}}
`

// register serves works, and what another service knows of each of them.
type register struct {
	sync.Mutex
	works  map[string]string // what the service answers by DOI; empty: it does not know it
	gone   map[string]bool
	asked  map[string]int
	broken string
}

func (r *register) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	r.Lock()
	defer r.Unlock()
	if q.URL.Path == "/works" {
		var items []string
		for doi := range r.works {
			items = append(items, fmt.Sprintf(`{"DOI": %q, "updated": "2025-03-01T00:00:00Z", "withdrawn": %t}`, doi, r.gone[doi]))
		}
		fmt.Fprintf(w, `{"works": [%s]}`, strings.Join(items, ","))
		return
	}
	doi := strings.TrimPrefix(q.URL.Path, "/copies/")
	r.asked[doi]++
	switch {
	case doi == r.broken:
		http.Error(w, "no", http.StatusInternalServerError)
	case r.works[doi] == "":
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"error": true, "message": "unknown"}`)
	default:
		fmt.Fprintf(w, `{"doi": %q, "is_oa": %s}`, doi, r.works[doi])
	}
}

// A service that knows one record for each id of another source is a list without dates in parts: one object for each stored
// record. An id it does not know is no failure; one it did not answer for keeps the reading from counting.
func TestOneRecordIsLookedUpForEachOfAnotherSource(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) {
		up := &register{works: map[string]string{"10.1/a": "true", "10.1/b": "false", "10.1/c": ""}, gone: map[string]bool{}, asked: map[string]int{}}
		w := newForgeWorld(t, database)
		var now atomic.Pointer[time.Time]
		tick := func(at time.Time) { now.Store(&at) }
		tick(marchDay(1))
		w.clock = func() time.Time { return *now.Load() }
		if err := w.app.Close(); err != nil {
			t.Fatal(err)
		}
		w.open(database)
		server := httptest.NewServer(up)
		t.Cleanup(server.Close)
		one, other, _ := strings.Cut(fmt.Sprintf(lookupFiles, server.URL), "---\n")
		w.apply(one)
		w.apply(other)
		uses := []trust.Use{{Ref: trust.OfRecords("register/works"), Host: strings.TrimPrefix(server.URL, "http://")}}
		if err := w.app.guard.Agree(t.Context(), uses, ingest.Act{Actor: "ann", Reason: "test"}); err != nil {
			t.Fatal(err)
		}
		compile := func(source string) *spec.Compiled {
			t.Helper()
			c, err := w.app.Compile(t.Context(), source, "", ingest.Harvest, nil)
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		read := func(day int) Harvested {
			t.Helper()
			tick(marchDay(day))
			if _, err := w.app.Harvest(t.Context(), compile("register"), NewRequest(marchDay(day), nil, nil), Watch{}); err != nil {
				t.Fatal(err)
			}
			h, err := w.app.Harvest(t.Context(), compile("copies"), NewRequest(marchDay(day), nil, nil), Watch{})
			if err != nil {
				t.Fatal(err)
			}
			return h
		}
		states := func() map[string]string {
			t.Helper()
			out := map[string]string{}
			records, err := w.app.store.Records(t.Context(), "copies", "by_doi", nil, 100)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range records {
				out[r.ID] = string(r.State)
			}
			return out
		}
		if h := read(2); h.Plan.Stats.Inserted != 2 || h.Plan.Slices["SUCCEEDED"] != h.Plan.Total || up.asked["10.1/c"] != 1 {
			t.Fatalf("%+v, %v", h.Plan, up.asked)
		}
		if s := w.state(compile("copies")); !s.Cursor.Equal(marchDay(2)) {
			t.Errorf("known as of %s", s.Cursor)
		}
		up.Lock()
		up.works["10.1/c"], up.works["10.1/a"], up.broken = "true", "", "10.1/b"
		up.Unlock()
		if h := read(4); h.Plan.Slices["FAILED"] != 1 {
			t.Errorf("%+v", h.Plan)
		}
		if s := w.state(compile("copies")); !s.Cursor.Equal(marchDay(2)) {
			t.Errorf("a reading without one of the records counts: known as of %s", s.Cursor)
		}
		up.Lock()
		up.broken, up.asked = "", map[string]int{}
		up.Unlock()
		read(6)
		if s, got := w.state(compile("copies")), states(); !s.Cursor.Equal(marchDay(6)) || got["10.1/a"] != "GONE" || got["10.1/b"] != "ACTIVE" || got["10.1/c"] != "ACTIVE" {
			t.Errorf("known as of %s: %v", s.Cursor, got)
		}
	})
}
