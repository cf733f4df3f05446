package cli

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/daemon"
	"github.com/patra-ingest/patra/internal/testkit/localstore"
	"github.com/patra-ingest/patra/internal/upsim"
)

var update = flag.Bool("update", false, "write the expected outputs anew")

// desk is a folder with a database in it (or not yet) and a command line.
type desk struct {
	*testing.T
	dir, file string
}

// newDesk is a desk with a database that has its tables and nothing else.
func newDesk(t *testing.T) *desk {
	t.Helper()
	d := emptyDesk(t)
	localstore.Place(t, d.file)
	return d
}

// emptyDesk is a desk without a database: the first command that writes makes one.
func emptyDesk(t *testing.T) *desk {
	t.Helper()
	home := t.TempDir() // of a user who agreed to nothing
	for name, value := range map[string]string{"PATRA_DB": "", "PATRA_CONFIG": "", "PATRA_CONTACT": "", "HOME": home, "XDG_CONFIG_HOME": home} {
		t.Setenv(name, value)
	}
	dir := t.TempDir()
	return &desk{t, dir, filepath.Join(dir, "patra.db")}
}

// result is what a command left behind.
type result struct {
	code     int
	out, err string
}

// run calls the command line on the desk's database.
func (d *desk) run(args ...string) result {
	d.Helper()
	var out, err bytes.Buffer
	code := Main(context.Background(), append(args, "--db", "sqlite:"+d.file), &out, &err)
	return result{code, out.String(), err.String()}
}

// expect runs a command that must end with a code.
func (d *desk) expect(code int, args ...string) result {
	d.Helper()
	r := d.run(args...)
	if r.code != code {
		d.Fatalf("patra %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), r.code, code, r.out, r.err)
	}
	return r
}

// write puts a file on the desk.
func (d *desk) write(name, text string) string {
	d.Helper()
	path := filepath.Join(d.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		d.Fatal(err)
	}
	return path
}

// noFile proves that a command which only reads created nothing.
func (d *desk) noFile() {
	d.Helper()
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		d.Fatal(err)
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), filepath.Base(d.file)) {
			d.Errorf("%s was created", entry.Name())
		}
	}
}

// empty puts a database without content on the desk.
func (d *desk) empty() {
	d.Helper()
	app, err := daemon.Open(d.Context(), daemon.Config{Database: "sqlite:" + d.file})
	if err != nil {
		d.Fatal(err)
	}
	if err := app.Close(); err != nil {
		d.Fatal(err)
	}
}

func march(day int) time.Time { return time.Date(2025, 3, day, 0, 0, 0, 0, time.UTC) }

// startUpstream serves works of the first week of March 2025. Requests for a
// broken day fail.
func startUpstream(broken string) (*upsim.Server, error) {
	data := upsim.NewDataset(upsim.Config{Seed: 7, From: march(1), To: march(8), PerDay: 12, Flat: true})
	server, err := upsim.NewServer(data, upsim.Options{Faults: []upsim.Fault{{
		Kind: upsim.Fault500, When: func(h upsim.Hit) bool {
			return broken != "" && strings.Contains(h.Query.Get("filter"), "from-index-date:"+broken)
		},
	}}})
	if err != nil {
		return nil, err
	}
	return server, server.Start()
}

func settings(url string) []string {
	return []string{
		"http.baseUrl=" + url, "http.allowPrivate=true", "rate.obeyHeaders=false",
		"retry.maxAttempts=1", "retry.taskAttempts=1", "paging.size=5",
	}
}

// harvested is a desk after one harvest of 1 to 4 March whose third day failed.
func harvested(t *testing.T) *desk {
	t.Helper()
	d := newDesk(t)
	content, err := harvestedFile()
	if err != nil {
		t.Fatal(err)
	}
	d.write(filepath.Base(d.file), string(content))
	return d
}

// harvestedFile is made once: every desk gets its own copy.
var harvestedFile = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "patra-cli-test-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "patra.db")
	if err := harvest(context.Background(), file, "2025-03-03", march(1), march(5), march(7)); err != nil {
		return nil, err
	}
	return os.ReadFile(file)
})

// harvest reads a stretch of the simulated upstream, one slice after the other,
// so that ids are the same in every run.
func harvest(ctx context.Context, file, broken string, from, to, now time.Time) error {
	server, err := startUpstream(broken)
	if err != nil {
		return err
	}
	defer server.Close()
	clock := func() time.Time { // no earlier than what is asked for
		if real := time.Now(); real.After(now) {
			return real
		}
		return now
	}
	app, err := daemon.Open(ctx, daemon.Config{Database: "sqlite:" + file, Workers: 1, Clock: clock})
	if err != nil {
		return err
	}
	defer app.Close()
	overrides, err := term.ParseOverrides(append(settings(server.URL()), "rate.perSecond=1000", "rate.concurrency=4"))
	if err != nil {
		return err
	}
	src, err := daemon.Bundled("crossref")
	if err != nil {
		return err
	}
	src.Rate.PerSecond, src.Rate.Concurrency = 1000, 4
	compiled, err := daemon.Compile(src, "", ingest.Harvest, overrides)
	if err != nil {
		return err
	}
	_, err = app.Harvest(ctx, compiled, daemon.NewRequest(now, &from, &to), daemon.Watch{})
	return err
}

// golden compares with a file of expected output. Wall-clock instants differ in
// every run; those of the harvested days do not.
func (d *desk) golden(name, text string) {
	d.Helper()
	text = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`).ReplaceAllStringFunc(text, func(at string) string {
		if strings.HasPrefix(at, "2025-03") {
			return at
		}
		return "<time of the test>"
	})
	path := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			d.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		d.Fatal(err)
	}
	if text != string(want) {
		d.Errorf("%s differs (go test -update writes it anew)\ngot\n%s\nwant\n%s", path, text, want)
	}
}

// fits checks that a table can be read on a terminal of 120 columns.
func (d *desk) fits(text string) {
	d.Helper()
	for line := range strings.Lines(text) {
		if n := len([]rune(strings.TrimRight(line, "\n"))); n > 120 {
			d.Errorf("%d columns: %s", n, line)
		}
	}
}

// holds checks for texts.
func (d *desk) holds(text string, parts ...string) {
	d.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			d.Errorf("no %q in\n%s", part, text)
		}
	}
}
