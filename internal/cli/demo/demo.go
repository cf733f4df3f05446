package demo

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/cli/work"
	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/daemon"
	"github.com/patra-ingest/patra/internal/upsim"
)

func New(e *term.Env) *cobra.Command {
	var d demo
	c := &cobra.Command{
		Use:   "demo",
		Short: "A full harvest of a misbehaving simulated source, offline",
		Long: `Start a simulated Crossref in this process, harvest a week of it into a fresh
SQLite file while it misbehaves (a burst of 429, a body cut short, an error page
with status 200), change some works, and harvest again. Needs no network and
leaves nothing behind but one folder, whose place it prints.

With --keep the simulated source stays up until Ctrl-C, for you to play with.

With --serve it stays up as well, and the dashboard over what was harvested opens on
this machine. On a terminal a link is shown that lets you in once; otherwise the
access token is in a file beside the database, whose place is printed. What you start
there, such as a fill, asks only the simulated source.`,
		Example: `  patra demo
  patra demo --serve
  patra demo --keep
  patra demo --dir ./demo --per-day 20000`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d.env = e
			return d.run(cmd.Context())
		},
	}
	c.Flags().BoolVar(&d.keep, "keep", false, "leave the simulated source running and print how to harvest it")
	c.Flags().BoolVar(&d.serve, "serve", false, "open the dashboard over what was harvested, until Ctrl-C")
	c.Flags().StringVar(&d.dir, "dir", "", "folder for the database (default: a new temporary one)")
	c.Flags().IntVar(&d.perDay, "per-day", 2000, "works per simulated day")
	return c
}

type demo struct {
	env    *term.Env
	keep   bool
	serve  bool
	dir    string
	perDay int

	data   *upsim.Dataset
	server *upsim.Server
	app    *daemon.App
	file   string
}

const (
	demoSource = "crossref"
	demoDays   = 7
	// What the simulated source does wrong during the first harvest.
	demoFaults = "429@6-9:retry-after=1;truncate-gzip@20:times=1;html-200@31:times=1;reset@page:4:times=1"
)

// demoSettings make a week fit into seconds; everything else is the bundled source.
var demoSettings = []string{
	"http.allowPrivate=true", "contact.email=demo@example.org", "rate.obeyHeaders=false", "rate.perSecond=60", "rate.concurrency=4",
	"retry.initialDelay=PT0.2S", "paging.size=250", "window.safetyLag=PT0S",
}

func (d *demo) run(ctx context.Context) error {
	if err := d.startUpstream(); err != nil {
		return err
	}
	defer d.server.Close()
	app, err := daemon.Open(ctx, daemon.Config{Database: "sqlite:" + d.file, Log: d.env.Logger(), Entrance: d.entrance()})
	if err != nil {
		return err
	}
	d.app = app
	defer app.Close()
	if d.serve {
		if err := d.applySource(ctx); err != nil {
			return err
		}
	}
	d.env.Hint("simulated Crossref at %s: %d works of %d days, and it will misbehave", d.server.URL(), d.data.Len(), demoDays)
	first, err := d.harvest(ctx, "first harvest")
	if err != nil {
		return err
	}
	if err := d.server.SetFaults(nil); err != nil {
		return err
	}
	touched, added, err := d.changeUpstream()
	if err != nil {
		return err
	}
	d.env.Hint("meanwhile upstream: %d works changed, %d re-indexed without a change, %d new", touched, touched, added)
	second, err := d.harvest(ctx, "second harvest")
	if err != nil {
		return err
	}
	if err := d.summarise(ctx, first, second); err != nil {
		return err
	}
	if d.serve {
		return d.serveUntilEnd(ctx)
	}
	return d.waitForEnd(ctx)
}

func (d *demo) startUpstream() error {
	now := time.Now().UTC()
	if d.perDay < 1 {
		return term.Usagef("--per-day must be at least 1")
	}
	if d.dir == "" {
		dir, err := os.MkdirTemp("", "patra-demo-")
		if err != nil {
			return err
		}
		d.dir = dir
	} else if err := os.MkdirAll(d.dir, 0o755); err != nil {
		return err
	}
	d.file = filepath.Join(d.dir, "patra.db")
	if _, err := os.Stat(d.file); err == nil {
		return term.Usagef("%s exists already: name an empty folder with --dir", d.file)
	}
	d.data = upsim.NewDataset(upsim.Config{
		Seed: 42, From: now.AddDate(0, 0, -demoDays).Truncate(24 * time.Hour), To: now.Truncate(time.Hour), PerDay: d.perDay,
		PayloadBytes: 1200, BadIDEvery: 4001, BadDateEvery: 5003,
	})
	faults, err := upsim.ParseFaults(demoFaults)
	if err != nil {
		return err
	}
	d.server, err = upsim.NewServer(d.data, upsim.Options{Faults: faults, LogLimit: 1000})
	if err != nil {
		return err
	}
	return d.server.Start()
}

func (d *demo) settings() []string {
	return append([]string{"http.baseUrl=" + d.server.URL()}, demoSettings...)
}

// source is the bundled one, as the simulated upstream is asked by it. Overrides cannot make
// a run less polite than its source, so the source itself is made faster; the settings name
// the same rate, which a task keeps when it begins.
func (d *demo) source() (*registry.Source, error) {
	src, err := daemon.Bundled(demoSource)
	if err == nil {
		src.Rate.PerSecond, src.Rate.Concurrency = 60, 4
	}
	return src, err
}

func (d *demo) harvest(ctx context.Context, label string) (work.Summary, error) {
	src, err := d.source()
	if err != nil {
		return work.Summary{}, err
	}
	overrides, err := term.ParseOverrides(d.settings())
	if err != nil {
		return work.Summary{}, err
	}
	compiled, err := daemon.Compile(src, "", ingest.Harvest, overrides)
	if err != nil {
		return work.Summary{}, err
	}
	now := time.Now().UTC()
	from := now.AddDate(0, 0, -demoDays).Truncate(24 * time.Hour)
	before := len(d.server.Log())
	e := d.env
	s, err := work.Run(ctx, e, d.app, compiled, func(watch daemon.Watch) (daemon.Harvested, error) {
		return d.app.Harvest(ctx, compiled, daemon.NewRequest(now, &from, nil), watch)
	})
	d.tellFaults(label, d.server.Log()[before:])
	return s, err
}

// tellFaults says which faults the harvest met and survived.
func (d *demo) tellFaults(label string, log []upsim.Entry) {
	counts := map[string]int{}
	var order []string
	for _, entry := range log {
		if entry.Fault == "" {
			continue
		}
		if counts[entry.Fault] == 0 {
			order = append(order, entry.Fault)
		}
		counts[entry.Fault]++
	}
	for _, kind := range order {
		d.env.Hint("%s: survived %d × %s", label, counts[kind], kind)
	}
}

// changeUpstream touches some works upstream, half of them without changing content.
func (d *demo) changeUpstream() (touched, added int, err error) {
	at := time.Now().UTC().Add(-time.Second)
	const each = 25
	for truth := range d.data.Heads() {
		if truth.Bad != upsim.Sound {
			continue
		}
		if err := d.data.Touch(truth.DOI, at, touched < each); err != nil {
			return touched, added, err
		}
		if touched++; touched == 2*each {
			break
		}
	}
	for added = range 10 {
		if _, err := d.data.Add("", at); err != nil {
			return touched, added, err
		}
	}
	return each, added + 1, nil
}

// demoResult is the summary in JSON.
type demoResult struct {
	Database string       `json:"database"`
	First    work.Summary `json:"first"`
	Second   work.Summary `json:"second"`
	Gaps     int          `json:"gaps"`
	Counts   view.Counts  `json:"stored"`
	Verified bool         `json:"cursorVerified"`
}

func (d *demo) summarise(ctx context.Context, first, second work.Summary) error {
	r := demoResult{Database: "sqlite:" + d.file, First: first, Second: second}
	var err error
	if r.Counts, err = d.app.Records.CountTotals(ctx, demoSource); err != nil {
		return err
	}
	if r.Gaps, r.Verified, err = d.countFindings(ctx); err != nil {
		return err
	}
	if d.env.Output == "json" {
		return d.env.JSON(r)
	}
	w := d.env.Out
	fmt.Fprintln(w)
	row := func(name string, pick func(work.Summary) any) []any { return []any{name, pick(first), pick(second)} }
	rows := [][]any{
		row("windows covered", func(s work.Summary) any { return s.Slices[string(ingest.SliceSucceeded)] }),
		row("records inserted", func(s work.Summary) any { return s.Stats.Inserted }),
		row("records updated", func(s work.Summary) any { return s.Stats.Updated }),
		row("records unchanged", func(s work.Summary) any { return s.Stats.Unchanged }),
		row("items rejected", func(s work.Summary) any { return s.Stats.Quarantined }),
		row("requests", func(s work.Summary) any { return s.Stats.Requests }),
		row("retries", func(s work.Summary) any { return s.Stats.Retries }),
		row("slices started over", func(s work.Summary) any { return s.Stats.Restarts }),
	}
	if err := term.PrintList(d.env, rows, term.NewColumns([]string{"", "first harvest", "second harvest"}, func(r []any) []any { return r })); err != nil {
		return err
	}
	fmt.Fprintf(w, "\n%d records stored, %d different rejected items kept with their reason, watermark %s\ngaps = %d\n", r.Counts.Records, r.Counts.Quarantined, second.CursorTo, r.Gaps)
	d.hintNext()
	if r.Gaps > 0 || !r.Verified {
		return term.Findingsf("the demo left %d gaps (cursor verified: %v); this is a defect, please report it", r.Gaps, r.Verified)
	}
	return nil
}

// countFindings counts gaps up to the watermark and refolds the cursor.
func (d *demo) countFindings(ctx context.Context) (gaps int, verified bool, err error) {
	cursors, err := d.app.Cursors.List(ctx, demoSource)
	if err != nil {
		return 0, false, err
	}
	verified = true
	for _, c := range cursors {
		segments, err := d.app.Cursors.ListSegments(ctx, c.ID)
		if err != nil {
			return 0, false, err
		}
		end := c.Instant
		if n := len(segments); n > 0 {
			end = segments[n-1].Window.To
		}
		gaps += len(coverage.Gaps(segments, window.Window{From: c.Origin, To: end}))
		v, err := d.app.Cursors.Verify(ctx, c.ID)
		if err != nil {
			return 0, false, err
		}
		verified = verified && len(v.Problems) == 0
	}
	return gaps, verified, nil
}

// hintNext says what to try now, in words that work as they stand.
func (d *demo) hintNext() {
	patra := programName()
	fmt.Fprintf(d.env.Out, `
The database is %[1]s. Try next:
  %[2]s status --db sqlite:%[1]s
  %[2]s coverage show crossref --db sqlite:%[1]s
  %[2]s quarantine groups crossref --db sqlite:%[1]s
  %[2]s run list --db sqlite:%[1]s
  %[2]s batch show 1 --db sqlite:%[1]s
`, d.file, patra)
}

// programName returns the name under which this program was started.
func programName() string {
	path, err := os.Executable()
	if err != nil {
		path = ""
	}
	return typedName(path, os.Args[0])
}

// typedName returns what a person types to start the program again. `go run` leaves no
// file behind, and a program that was started by a path is not found by its name alone.
func typedName(executable, started string) string {
	switch {
	case executable == "" || strings.Contains(executable, "go-build"):
		return "go run ./cmd/patra"
	case strings.ContainsRune(started, filepath.Separator):
		return started
	}
	return "patra"
}

// waitForEnd keeps the simulated source up until the user has had enough.
func (d *demo) waitForEnd(ctx context.Context) error {
	if !d.keep {
		return nil
	}
	fmt.Fprintf(d.env.Out, `
The simulated source stays at %[1]s until Ctrl-C. In another terminal:
  %[2]s harvest crossref --set http.baseUrl=%[1]s --set http.allowPrivate=true --db sqlite:%[3]s
`, d.server.URL(), programName(), filepath.Join(d.dir, "mine.db"))
	<-ctx.Done()
	return nil
}
