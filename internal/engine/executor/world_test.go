package executor

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/patra-ingest/patra/catalog"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/httpclient"
	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/driver/store/sqlite"
	"github.com/patra-ingest/patra/internal/engine/planner"
	"github.com/patra-ingest/patra/internal/engine/rategate"
	"github.com/patra-ingest/patra/internal/engine/transport"
	"github.com/patra-ingest/patra/internal/testkit/check"
	"github.com/patra-ingest/patra/internal/testkit/localstore"
	"github.com/patra-ingest/patra/internal/testkit/simulated"
	"github.com/patra-ingest/patra/internal/upsim"
)

// The day that is harvested: 230 works on five pages, as one slice.
var (
	dayFrom = time.Date(2025, 3, 3, 0, 0, 0, 0, time.UTC)
	dayTo   = dayFrom.AddDate(0, 0, 1)
)

const (
	perDay   = 230
	pageSize = 50
	pages    = 5
)

// world is a simulated upstream, a database and the chain between them. Waits
// are set to milliseconds; where time itself matters, see lease_test.go.
type world struct {
	*testing.T
	data   *upsim.Dataset
	server *upsim.Server
	store  *store.Store
	raw    *sql.DB // goes round the store
	clock  *clock
	wire   *wire
	chain  transport.Doer
	config Config
	byDay  bool
	claims int
}

// clock is the store's: it can be put forward.
type clock struct {
	mu    sync.Mutex
	began time.Time
	ahead time.Duration
}

func (c *clock) read() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Date(2025, 3, 20, 12, 0, 0, 0, time.UTC).Add(time.Since(c.began) + c.ahead)
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
}

// wire carries the store's answers and loses those it is told to.
type wire struct {
	mu   sync.Mutex
	lose map[string]int // by step
}

var errLost = errors.New("the answer got lost")

func (w *wire) deliver(step string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lose[step] == 0 {
		return nil
	}
	w.lose[step]--
	return errLost
}

// setup is what differs between tests.
type setup struct {
	data     upsim.Config
	server   upsim.Options
	faults   string
	settings []string
	byDay    bool // the filter of the source knows days only
	config   Config
}

func replayable(s *setup) {
	s.server.Cursor = upsim.ReplayableCursor
	s.settings = append(s.settings, "paging.replayable=true")
}

// inWorld runs a test in a world of its own with one planned slice.
func inWorld(t *testing.T, s setup, test func(w *world)) {
	t.Helper()
	w := &world{T: t, clock: &clock{began: time.Now()}, wire: &wire{lose: map[string]int{}}, config: s.config, byDay: s.byDay}
	w.serve(s)
	w.open()
	w.plan(s)
	test(w)
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) serve(s setup) {
	s.data.Seed, s.data.From, s.data.To, s.data.Flat = 7, dayFrom, dayTo, true
	if s.data.PerDay == 0 {
		s.data.PerDay = perDay
	}
	w.data = upsim.NewDataset(s.data)
	server, err := upsim.NewServer(w.data, s.server)
	w.must(err)
	w.server = server
	w.faults(s.faults)
	w.must(server.Start())
	w.Cleanup(func() { server.Close() })
	w.chain = transport.StackSigned(httpclient.New(httpclient.Options{}), nil, rategate.New())
}

func (w *world) faults(script string) {
	w.Helper()
	list, err := upsim.ParseFaults(script)
	w.must(err)
	w.must(w.server.SetFaults(list))
}

func (w *world) open() {
	path := filepath.Join(w.TempDir(), "patra.db")
	localstore.Place(w, path)
	s, err := sqlite.Open(w.Context(), sqlite.Config{Path: path, Relaxed: true}, store.Options{Clock: w.clock.read, AfterCommit: w.wire.deliver})
	w.must(err)
	w.store = s
	w.Cleanup(func() { s.Close() })
	w.raw, err = sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)")
	w.must(err)
	w.Cleanup(func() { w.raw.Close() })
}

// compile freezes the bundled crossref with some settings changed.
func (w *world) compile(settings ...string) *spec.Compiled {
	w.Helper()
	text, err := catalog.Read("crossref")
	w.must(err)
	source, _, err := registry.Decode(catalog.File("crossref"), text)
	w.must(err)
	if w.byDay {
		simulated.ByDay(source)
	}
	var set []registry.Override
	for _, text := range settings {
		o, err := registry.ParseOverride(text)
		w.must(err)
		set = append(set, o)
	}
	resolved, err := registry.Resolve(source, "works", "HARVEST", set)
	w.must(err)
	program, err := spec.Compile(resolved)
	w.must(err)
	return program
}

func (w *world) plan(s setup) {
	program := w.compile(append([]string{
		"http.baseUrl=" + w.server.URL(), "http.allowPrivate=true", fmt.Sprint("paging.size=", pageSize), "rate.perSecond=5000", "rate.burst=50",
		"rate.obeyHeaders=false", "retry.initialDelay=PT0.001S", "retry.maxDelay=PT0.01S",
	}, s.settings...)...)
	_, _, err := planner.New(w.store).Plan(w.Context(), program, planner.Request{
		Now: w.clock.read(), From: &dayFrom, To: &dayTo, TriggerKey: "test", Scheduler: "TEST", Type: ingest.TriggerManual,
	})
	w.must(err)
}

// claim leases the task.
func (w *world) claim(owner string) ingest.Work {
	w.Helper()
	w.claims++
	work, err := w.store.Claim(context.WithoutCancel(w.Context()), ingest.ClaimRequest{PartitionID: 1, Owner: owner, Token: fmt.Sprint("claim-", w.claims), Lease: w.config.WithDefaults().Lease, Max: 1})
	w.must(err)
	if len(work) != 1 {
		w.Fatalf("%d tasks could be claimed; the task is %+v", len(work), w.task())
	}
	return work[0]
}

func (w *world) executor(s Store) *Executor {
	return New(s, w.chain, nil, w.config, slog.New(slog.DiscardHandler))
}

// run claims and executes the task.
func (w *world) run() ingest.Outcome {
	w.Helper()
	outcome, err := w.executor(w.store).Execute(w.Context(), w.claim("worker"))
	w.must(err)
	return outcome
}

// takeOver puts the clock past the lease and gives the task back to the queue,
// as the reaper of another process would.
func (w *world) takeOver() {
	w.clock.advance(2 * w.config.WithDefaults().Lease)
	if n, err := w.store.Reap(context.WithoutCancel(w.Context()), 10); n != 1 || err != nil {
		w.Errorf("reaped %d, %v", n, err)
	}
}

func (w *world) task() view.Task {
	w.Helper()
	tasks, err := w.store.Tasks(w.Context(), view.Filter{})
	w.must(err)
	if len(tasks) != 1 {
		w.Fatalf("%d tasks", len(tasks))
	}
	return tasks[0]
}

// lastRun is the newest attempt.
func (w *world) lastRun() view.Run {
	w.Helper()
	runs, err := w.store.Runs(w.Context(), view.Filter{})
	w.must(err)
	if len(runs) == 0 {
		w.Fatal("no run")
	}
	return runs[0]
}

func (w *world) batches() []view.Batch {
	w.Helper()
	list, err := w.store.Batches(w.Context(), view.Filter{Limit: 1000})
	w.must(err)
	slices.Reverse(list)
	return list
}

// cursor tells how far the watermark moved.
func (w *world) cursor() time.Time {
	w.Helper()
	cursors, err := w.store.Cursors(w.Context(), "crossref")
	w.must(err)
	if len(cursors) != 1 {
		w.Fatalf("%d cursors", len(cursors))
	}
	return cursors[0].Instant
}

// covered expects the slice to be done: the task, the cursor, the plan.
func (w *world) covered() {
	w.Helper()
	if task := w.task(); task.Status != "SUCCEEDED" || task.LeaseOwner != "" {
		w.Errorf("task %+v", task)
	}
	if at := w.cursor(); !at.Equal(dayTo) {
		w.Errorf("the cursor is at %v", at)
	}
}

// owed expects that nothing counts as read.
func (w *world) owed() {
	w.Helper()
	if at := w.cursor(); !at.Equal(dayFrom) {
		w.Errorf("the cursor moved to %v although the slice was not read", at)
	}
}

// nothingLost is I2 and I9 against the ground truth: every sound work is stored
// once, at its version; every broken one is in quarantine; nothing is invented.
func (w *world) nothingLost() {
	w.Helper()
	records, err := w.store.Records(w.Context(), "crossref", "works", nil, 10_000)
	w.must(err)
	stored := map[string]view.Record{}
	for _, r := range records {
		stored[r.ID] = r
	}
	var rejected []string
	quarantine, err := w.store.Quarantine(w.Context(), "crossref", 0, 10_000)
	w.must(err)
	for _, r := range quarantine {
		rejected = append(rejected, string(r.Raw))
	}
	sound := 0
	for truth := range w.data.All() {
		got, ok := stored[strings.ToLower(truth.DOI)]
		switch {
		case truth.Bad != upsim.Sound:
			if !slices.Contains(rejected, string(truth.JSON)) {
				w.Errorf("lost: %s (%s) is not in quarantine", truth.DOI, truth.Bad)
			}
			continue
		case !ok || string(got.Payload) != string(truth.JSON) || got.Version != 1:
			w.Errorf("lost or altered: %s: %+v", truth.DOI, got.ID)
		}
		sound++
	}
	if len(stored) != sound {
		w.Errorf("%d records for %d works", len(stored), sound)
	}
	counts, err := w.store.Counts(w.Context(), "crossref")
	w.must(err)
	if counts.Outbox != int64(sound) {
		w.Errorf("%d events for %d works", counts.Outbox, sound)
	}
	w.sane()
}

// sane holds the ledger against the invariants.
func (w *world) sane() {
	w.Helper()
	problems, err := check.All(w.Context(), w.raw)
	w.must(err)
	for _, p := range problems {
		w.Error(p)
	}
	cursors, err := w.store.Cursors(w.Context(), "crossref")
	w.must(err)
	for _, c := range cursors {
		verdict, err := w.store.Verify(w.Context(), c.ID)
		w.must(err)
		for _, p := range verdict.Problems {
			w.Error(p)
		}
	}
}

// evidence reads what a batch kept of its exchange.
func (w *world) evidence(id int64) (request, response map[string]any) {
	w.Helper()
	b, err := w.store.Batch(w.Context(), id)
	w.must(err)
	w.must(json.Unmarshal(b.Request, &request))
	if b.Response != nil {
		w.must(json.Unmarshal(b.Response, &response))
	}
	return request, response
}
