package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/cli"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/daemon"
	"github.com/patra-ingest/patra/internal/testkit/check"
	"github.com/patra-ingest/patra/internal/testkit/localstore"
	"github.com/patra-ingest/patra/internal/testkit/mariadb"
	"github.com/patra-ingest/patra/internal/upsim"
)

// childEnv makes this test binary behave as the program itself, so that it can
// be started, interrupted and killed as a real process.
const childEnv = "PATRA_E2E_CHILD"

func TestMain(m *testing.M) {
	if _, armed := os.LookupEnv(crashEnv); armed || os.Getenv(childEnv) != "" { // an empty one arms nothing
		armFromEnvironment()
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		os.Exit(cli.Main(ctx, os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(withScratch(m))
}

// scratch is a folder for what several tests share.
var scratch string

func withScratch(m *testing.M) int {
	dir, err := os.MkdirTemp("", "patra-e2e")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	scratch = dir
	for name, value := range map[string]string{"XDG_CONFIG_HOME": filepath.Join(dir, "config"), "PATRA_CONFIG": "", "PATRA_CONTACT": ""} { // nobody agreed to anything
		if err := os.Setenv(name, value); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	flag.Parse()
	if !parallelIsSet() {
		if err := flag.Set("test.parallel", strconv.Itoa(atOnce)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return m.Run()
}

// parallelIsSet reports whether the caller said how many tests run at once.
func parallelIsSet() (set bool) {
	flag.Visit(func(f *flag.Flag) { set = set || f.Name == "test.parallel" })
	return set
}

// atOnce is how many tests run at once, whatever the machine has: they mostly wait for leases,
// rates and processes that begin.
const atOnce = 6

// onEveryDatabase runs a test on SQLite and on MariaDB, beside other tests.
func onEveryDatabase(t *testing.T, test func(t *testing.T, database string)) {
	t.Parallel()
	for name, database := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, database(t))
		})
	}
}

// onEachDatabaseInTurn is for tests that change what all of the process share, such as
// its environment.
func onEachDatabaseInTurn(t *testing.T, test func(t *testing.T, database string)) {
	for name, database := range databases {
		t.Run(name, func(t *testing.T) { test(t, database(t)) })
	}
}

var databases = map[string]func(t *testing.T) string{
	"sqlite":  func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "patra.db") },
	"mariadb": func(t *testing.T) string { return mariadb.DSN(t) },
}

// The simulated week ends at a fixed instant: every run of a test is the same.
var (
	weekFrom = time.Date(2025, 3, 3, 0, 0, 0, 0, time.UTC)
	weekTo   = time.Date(2025, 3, 8, 9, 30, 0, 0, time.UTC)
)

// world is a simulated upstream and a database to harvest it into.
type world struct {
	t        *testing.T
	data     *upsim.Dataset
	server   *upsim.Server
	database string
	settings []string
	now      time.Time
}

func newWorld(t *testing.T, database string, c upsim.Config, o upsim.Options) *world {
	t.Helper()
	c.From, c.To = weekFrom, weekTo
	data := upsim.NewDataset(c)
	server, err := upsim.NewServer(data, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	w := &world{t: t, data: data, server: server, database: database, now: weekTo.Add(time.Hour)}
	w.settings = []string{
		"slicing.maxPages=0", // no counts among the requests
		"http.baseUrl=" + server.URL(), "http.allowPrivate=true", "rate.perSecond=5000", "rate.burst=50", "rate.concurrency=8", "rate.obeyHeaders=false",
		"retry.initialDelay=PT0.001S", "retry.maxDelay=PT0.02S", "paging.size=50",
	}
	localstore.GiveTables(t, database)
	return w
}

func (w *world) faults(script string) {
	w.t.Helper()
	list, err := upsim.ParseFaults(script)
	if err == nil {
		err = w.server.SetFaults(list)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// patra runs a command in this process.
func (w *world) patra(args ...string) (code int, stdout, stderr string) {
	w.t.Helper()
	var out, err bytes.Buffer
	code = cli.Main(w.t.Context(), append(args, "--db", w.database), &out, &err)
	return code, out.String(), err.String()
}

// must runs a command that has to succeed.
func (w *world) must(args ...string) string {
	w.t.Helper()
	code, out, errText := w.patra(args...)
	if code != 0 {
		w.t.Fatalf("patra %s: exit %d\n%s%s", strings.Join(args, " "), code, out, errText)
	}
	return out
}

func (w *world) harvestArgs(more ...string) []string {
	args := []string{"harvest", "crossref", "--from", weekFrom.Format(time.RFC3339), "--now", w.now.Format(time.RFC3339), "-o", "json", "-q"}
	for _, s := range w.settings {
		args = append(args, "--set", s)
	}
	return append(args, more...)
}

func (w *world) open() *daemon.App {
	w.t.Helper()
	app, err := daemon.Open(w.t.Context(), daemon.Config{Database: w.database})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { app.Close() })
	return app
}

// verify holds the database against the ground truth and the invariants.
func (w *world) verify() view.Counts {
	w.t.Helper()
	ctx := w.t.Context()
	db, err := check.Open(w.database)
	if err != nil {
		w.t.Fatal(err)
	}
	defer db.Close()
	problems, err := check.All(ctx, db)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, p := range problems {
		w.t.Error(p)
	}
	w.must("cursor", "verify")
	app := w.open()
	stored, rejected := w.stored()
	for truth := range w.data.All() {
		if truth.Bad == upsim.Sound {
			w.matches(truth, stored)
			continue
		}
		if !slices.Contains(rejected, string(truth.JSON)) {
			w.t.Errorf("lost: %s (%s) is not in quarantine", truth.DOI, truth.Bad)
		}
	}
	for id := range stored {
		if _, ok := w.data.Lookup(id); !ok {
			w.t.Errorf("invented: %s", id)
		}
	}
	counts, err := app.Records.CountTotals(ctx, "crossref")
	if err != nil {
		w.t.Fatal(err)
	}
	return counts
}

// matches is I2 for one work: stored, at its current stamp, with its current content.
func (w *world) matches(truth upsim.Truth, stored map[string]view.Record) {
	w.t.Helper()
	got, ok := stored[strings.ToLower(truth.DOI)]
	switch {
	case !ok:
		w.t.Errorf("lost: %s indexed %v", truth.DOI, truth.Indexed)
	case !got.UpdatedAt.Equal(truth.Indexed):
		w.t.Errorf("%s: stored stamp %v, upstream %v", truth.DOI, got.UpdatedAt, truth.Indexed)
	case w.content(got.Payload) != w.content(truth.JSON):
		w.t.Errorf("%s: stored content differs from upstream", truth.DOI)
	}
}

// content is a work without its index stamp: re-indexing alone keeps the body
// and moves only the head's stamp.
func (w *world) content(raw []byte) string {
	var work map[string]json.RawMessage
	if err := json.Unmarshal(raw, &work); err != nil {
		w.t.Fatal(err)
	}
	delete(work, "indexed")
	text, err := json.Marshal(work)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(text)
}

func (w *world) stored() (records map[string]view.Record, rejected []string) {
	w.t.Helper()
	records = map[string]view.Record{}
	db := localstore.Beside(w.t, w.database)
	var after []byte
	for {
		page, err := db.Records(w.t.Context(), "crossref", "works", after, 500)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, r := range page {
			if _, twice := records[r.ID]; twice {
				w.t.Errorf("doubled: %s", r.ID)
			}
			if key := record.KeyOf(r.ID); !bytes.Equal(key[:], r.Key) {
				w.t.Errorf("%s stands under a wrong key", r.ID)
			}
			records[r.ID], after = r, r.Key
		}
		if len(page) < 500 {
			break
		}
	}
	list, err := db.Quarantine(w.t.Context(), "crossref", 0, 100_000)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, r := range list {
		rejected = append(rejected, string(r.Raw))
	}
	return records, rejected
}

func (w *world) String() string {
	return fmt.Sprintf("%d works, %d requests", w.data.Len(), w.server.Requests())
}
