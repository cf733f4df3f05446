package live_test

import (
	"bufio"
	"context"
	"encoding/json"
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

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/surface/live"
)

// world is an installation in which a test lets things happen.
type world struct {
	mu       sync.Mutex
	plans    map[string]int // open plans: how many slices of the one of a source ended
	findings []view.Finding
	broken   error
	looks    atomic.Int64
}

func (w *world) set(change func(*world)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(w)
}

func (w *world) Now(context.Context) (time.Time, error) {
	w.looks.Add(1)
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Now(), w.broken
}

func (w *world) RunningPlans(context.Context) (out []view.RunningPlan, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for source, done := range w.plans {
		out = append(out, view.RunningPlan{PlanRow: view.PlanRow{Plan: view.Plan{ID: 1, Source: source}}, Total: 1000, Done: done})
	}
	return out, nil
}

func (w *world) RunningRuns(context.Context, int) ([]view.Run, error) { return nil, nil }

func (w *world) Findings(context.Context) ([]view.Finding, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.findings), nil
}

func (w *world) Throughput(context.Context, view.SumQuery) ([]view.WorkSum, error) { return nil, nil }

// served is a hub behind a server with the bounds that usual answers have.
type served struct {
	*testing.T
	*world
	server *httptest.Server
	caller atomic.Pointer[access.Caller]
	over   atomic.Bool // the token of everybody
	ends   chan struct{}
	left   chan struct{} // somebody's stream has ended
}

const quick = 2 * time.Millisecond

func serve(t *testing.T, change func(*live.Settings)) *served {
	t.Helper()
	s := &served{T: t, world: &world{plans: map[string]int{}}, ends: make(chan struct{}), left: make(chan struct{}, 100)}
	s.caller.Store(&access.Caller{Name: "all", TokenID: 1, Role: access.Viewer})
	settings := live.Settings{Reader: s.world, Ends: s.ends, Every: quick, Beat: quick, Recheck: func(context.Context) error {
		if s.over.Load() {
			return fmt.Errorf("token: %w", fault.ErrNotFound)
		}
		return nil
	}}
	if change != nil {
		change(&settings)
	}
	hub := live.New(settings)
	s.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		stream, err := hub.Open(live.Watch{Caller: *s.caller.Load(), Source: r.FormValue("source"), LastID: r.Header.Get("Last-Event-ID")})
		if err != nil {
			http.Error(w, err.Error(), http.StatusTooManyRequests)
			return
		}
		stream(w, r)
		s.left <- struct{}{}
	}))
	s.server.Config.ReadTimeout, s.server.Config.WriteTimeout = 200*time.Millisecond, 200*time.Millisecond
	s.server.Start()
	t.Cleanup(s.server.Close)
	return s
}

// told is one event as a client got it.
type told struct{ id, kind, data string }

// client reads a stream.
type client struct {
	*testing.T
	body   *bufio.Reader
	close  func()
	lastID string // as a browser keeps it
}

// watch opens a stream, as one that saw an event before.
func (s *served) watch(lastID string, query ...string) *client {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), time.Minute)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.server.URL+"/?"+strings.Join(query, "&"), nil)
	if err != nil {
		s.Fatal(err)
	}
	r.Header.Set("Last-Event-ID", lastID)
	got, err := s.server.Client().Do(r)
	if err != nil {
		s.Fatal(err)
	}
	c := &client{T: s.T, body: bufio.NewReader(got.Body), lastID: lastID, close: func() {
		cancel()
		_ = got.Body.Close()
	}}
	s.Cleanup(c.close)
	if got.StatusCode != http.StatusOK || got.Header.Get("Content-Type") != "text/event-stream" {
		s.Fatalf("answered %d %s", got.StatusCode, got.Header.Get("Content-Type"))
	}
	return c
}

// next returns the next event; false at the end of the stream.
func (c *client) next() (e told, ok bool) {
	for {
		line, err := c.body.ReadString('\n')
		if err != nil {
			return e, false
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch name {
		case "id":
			e.id, c.lastID = value, value
		case "event":
			e.kind = value
		case "data":
			e.data = value
		case "": // the end of a block, or a comment
			if line == "\n" && e.kind != "" {
				return e, true
			}
		}
	}
}

func (c *client) mustNext(kind string) told {
	c.Helper()
	e, ok := c.next()
	if !ok || e.kind != kind {
		c.Fatalf("got %+v, ended %v; want %s", e, !ok, kind)
	}
	return e
}

// done is how many slices an event of progress tells of.
func done(t testing.TB, e told) int {
	t.Helper()
	var p live.Progress
	if err := json.Unmarshal([]byte(e.data), &p); err != nil || len(p.Plans) != 1 {
		t.Fatalf("%s: %v", e.data, err)
	}
	return p.Plans[0].Done
}

// Who comes first gets the state, and then what changes: plans that go on and end, and
// findings that open, change and are resolved.
func TestChangesAreTold(t *testing.T) {
	s := serve(t, nil)
	gap := view.Finding{Code: view.FoundGap, Severity: view.Critical, Subject: view.Subject{Source: "a"}}
	s.set(func(w *world) { w.findings = []view.Finding{gap} })
	c := s.watch("")
	var state live.State
	if err := json.Unmarshal([]byte(c.mustNext("state").data), &state); err != nil || len(state.Findings) != 1 || len(state.Progress) != 0 || state.At.IsZero() {
		t.Fatalf("%+v, %v", state, err)
	}
	s.set(func(w *world) { w.plans["a"] = 3 })
	if n := done(t, c.mustNext("progress")); n != 3 {
		t.Errorf("%d slices", n)
	}
	s.set(func(w *world) { w.plans = map[string]int{} })
	if e := c.mustNext("progress"); e.data != `{"source":"a","plans":[],"runs":[]}` {
		t.Errorf("the end of a plan is told as %s", e.data)
	}
	changes := func(want string) {
		var f live.Found
		if err := json.Unmarshal([]byte(c.mustNext("finding").data), &f); err != nil || string(f.Change) != want || f.Finding.Code != view.FoundGap {
			t.Errorf("%+v, %v; want %s", f, err, want)
		}
	}
	s.set(func(w *world) { w.findings[0].Heals = true })
	changes("changed")
	s.set(func(w *world) { w.findings = nil })
	changes("resolved")
	s.set(func(w *world) { w.findings = []view.Finding{gap, gap} })
	changes("opened")
	changes("opened")
}

// A client that is cut off again and again, at any event, is told of every step once.
func TestComingBackLeavesNoHoleAndTellsNothingTwice(t *testing.T) {
	s := serve(t, nil)
	s.set(func(w *world) { w.plans["a"] = 0 })
	c := s.watch("")
	c.mustNext("state")
	witness := s.watch("")
	witness.mustNext("state")
	for step := 1; step <= 60; step++ {
		s.set(func(w *world) { w.plans["a"] = step })
		if n := done(t, witness.mustNext("progress")); n != step {
			t.Fatalf("the witness saw %d, want %d", n, step)
		}
		if step%7 != 0 { // the other one is away for some steps
			continue
		}
		id := c.lastID
		c.close()
		c = s.watch(id)
		for want := step - 6; want <= step; want++ {
			if n := done(t, c.mustNext("progress")); n != want {
				t.Fatalf("after coming back with %s it saw %d, want %d", id, n, want)
			}
		}
	}
}

// Who comes back to another process, or after too long, gets the whole state.
func TestAnUnknownNumberGetsTheState(t *testing.T) {
	s := serve(t, nil)
	first := s.watch("")
	first.mustNext("state")
	id := first.lastID
	process, _, _ := strings.Cut(id, "-")
	for _, other := range []string{"", "0-0", "garbage", process + "-", process + "--1", process + "-999999", process + "-x"} {
		s.watch(other).mustNext("state")
	}
	s.set(func(w *world) {
		for n := range 2100 {
			w.plans[fmt.Sprint(n)] = 1
		}
	})
	first.mustNext("state") // more happened at once than is kept
	s.watch(id).mustNext("state")
}

// A caller that is limited to sources learns nothing of others, and neither does one that
// asks for one source; what is nobody's is for those who see all.
func TestEachSeesItsSourcesAlone(t *testing.T) {
	s := serve(t, nil)
	s.set(func(w *world) {
		w.plans["a"], w.plans["b"] = 1, 1
		w.findings = []view.Finding{{Code: view.FoundNoWorker}, {Code: view.FoundGap, Subject: view.Subject{Source: "b"}}}
	})
	all := s.watch("")
	one := s.watch("", "source=a")
	s.caller.Store(&access.Caller{Name: "a", TokenID: 2, Role: access.Admin, Sources: []string{"a"}})
	limited := s.watch("")
	if e := all.mustNext("state"); !strings.Contains(e.data, `"b"`) || !strings.Contains(e.data, "NO_WORKER") {
		t.Errorf("who sees all: %s", e.data)
	}
	for step := range 5 {
		for _, c := range []*client{one, limited} {
			e, _ := c.next()
			if strings.Contains(e.data, `"b"`) || strings.Contains(e.data, "NO_WORKER") || !strings.Contains(e.data, `"a"`) {
				t.Errorf("told of another source: %+v", e)
			}
		}
		s.set(func(w *world) {
			w.plans["b"]++
			w.findings[0].Heals, w.findings[1].Heals = step%2 == 0, step%2 == 0
		})
		for range 3 { // until it was told
			all.next()
		}
		s.set(func(w *world) { w.plans["a"]++ })
		all.mustNext("progress")
	}
}

// Events of others move the number on, so that who comes back after a quiet time is where
// it was.
func TestASignOfLifeBringsTheNumber(t *testing.T) {
	s := serve(t, nil)
	all := s.watch("")
	all.mustNext("state")
	quiet := s.watch("", "source=a")
	quiet.mustNext("state")
	s.set(func(w *world) { w.plans["b"] = 1 })
	want := all.mustNext("progress").id
	for quiet.lastID != want {
		if _, err := quiet.body.Peek(1); err != nil {
			t.Fatal(err)
		}
		line, _ := quiet.body.ReadString('\n')
		if id, is := strings.CutPrefix(strings.TrimSpace(line), "id: "); is {
			quiet.lastID = id
		} else if strings.HasPrefix(line, "event:") {
			t.Fatalf("it was told %s", line)
		}
	}
}

// Any number of viewers cost one look, and while nobody watches nobody looks.
func TestViewersShareALook(t *testing.T) {
	s := serve(t, func(set *live.Settings) { set.Every = time.Hour })
	var clients []*client
	for range 50 {
		c := s.watch("")
		c.mustNext("state")
		clients = append(clients, c)
	}
	if n := s.looks.Load(); n != 1 {
		t.Errorf("%d looks", n)
	}
	for _, c := range clients {
		c.close()
	}
	busy := serve(t, nil)
	c := busy.watch("")
	c.mustNext("state")
	c.close()
	busy.server.Close() // waits until the stream has ended
	n := busy.looks.Load()
	for range 1000 {
		if busy.looks.Load() != n {
			t.Fatal("somebody looks though nobody watches")
		}
	}
}

// A token that is revoked or expires ends its streams; one that cannot be looked up does not,
// and nothing is told meanwhile.
func TestARevokedTokenEndsItsStream(t *testing.T) {
	s := serve(t, nil)
	c := s.watch("")
	c.mustNext("state")
	s.over.Store(true)
	c.mustNext("end")
	if e, more := c.next(); more {
		t.Errorf("after the end: %+v", e)
	}
	var unknown atomic.Bool
	dark := serve(t, func(set *live.Settings) {
		set.Recheck = func(context.Context) error {
			if unknown.Load() {
				return errors.New("database is locked")
			}
			return nil
		}
	})
	c = dark.watch("")
	c.mustNext("state")
	unknown.Store(true)
	before := dark.looks.Load()
	for dark.looks.Load() < before+5 { // the answer of before is forgotten
		if _, err := c.body.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	dark.set(func(w *world) { w.plans["a"] = 1 })
	before = dark.looks.Load()
	for dark.looks.Load() < before+5 {
		if line, err := c.body.ReadString('\n'); err != nil || strings.HasPrefix(line, "event") {
			t.Fatalf("%s, %v", line, err)
		}
	}
	unknown.Store(false)
	c.mustNext("progress")
}

// A store that does not answer is told, also to who comes meanwhile, and so is its return.
func TestAStoreThatDoesNotAnswerIsTold(t *testing.T) {
	s := serve(t, nil)
	s.set(func(w *world) { w.broken = errors.New("connection refused to 10.0.0.1") })
	c := s.watch("")
	if e := c.mustNext("trouble"); !strings.Contains(e.data, `"answers":false`) || strings.Contains(e.data, "10.0.0.1") {
		t.Errorf("%+v", e)
	}
	s.set(func(w *world) { w.broken, w.plans["a"] = nil, 5 })
	if e := c.mustNext("trouble"); !strings.Contains(e.data, `"answers":true`) {
		t.Errorf("%+v", e)
	}
	if n := done(t, c.mustNext("progress")); n != 5 {
		t.Errorf("%d slices", n)
	}
}

// Streams outlive the bounds of usual answers, and end with the process.
func TestStreamsEndWithTheProcess(t *testing.T) {
	s := serve(t, nil)
	c := s.watch("")
	c.mustNext("state")
	for begin := time.Now(); time.Since(begin) < 3*s.server.Config.ReadTimeout; {
		if _, err := c.body.ReadString('\n'); err != nil {
			t.Fatalf("ended after %v: %v", time.Since(begin), err)
		}
	}
	close(s.ends)
	if e, more := c.next(); more {
		t.Errorf("%+v", e)
	}
}

// A client that does not read is dropped; others are told all the same.
func TestAClientThatDoesNotReadIsDropped(t *testing.T) {
	s := serve(t, func(set *live.Settings) { set.Patience = 50 * time.Millisecond })
	s.set(func(w *world) {
		w.findings = []view.Finding{{Code: view.FoundUnreadable, Error: strings.Repeat("x", 500_000)}}
	})
	lazy, reader := s.watch(""), s.watch("")
	reader.mustNext("state")
	for dropped := false; !dropped; {
		s.set(func(w *world) { w.findings[0].Heals = !w.findings[0].Heals })
		reader.mustNext("finding")
		select {
		case <-s.left:
			dropped = true
		default:
		}
	}
	for more := true; more; {
		_, more = lazy.next()
	}
	s.set(func(w *world) { w.plans["a"] = 1 })
	reader.mustNext("progress")
}

// One token may not take the places of all others.
func TestStreamsAreCounted(t *testing.T) {
	s := serve(t, func(set *live.Settings) { set.Every = time.Hour })
	hub := live.New(live.Settings{Reader: s.world})
	one := live.Watch{Caller: access.Caller{TokenID: 1, Role: access.Viewer}}
	opened := 0
	for {
		if _, err := hub.Open(one); err != nil {
			if !errors.Is(err, live.ErrTooMany) {
				t.Fatal(err)
			}
			break
		}
		opened++
	}
	others := 0
	for token := int64(2); ; token++ {
		_, err := hub.Open(live.Watch{Caller: access.Caller{TokenID: token, Role: access.Viewer}})
		if errors.Is(err, live.ErrFull) {
			break
		}
		others++
	}
	if opened >= 1000 || opened+others < 1000 {
		t.Errorf("one may open %d, all %d", opened, opened+others)
	}
}
