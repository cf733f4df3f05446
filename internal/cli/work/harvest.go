package work

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/patra-ingest/patra/internal/cli/events"
	"github.com/patra-ingest/patra/internal/cli/reason"
	"github.com/patra-ingest/patra/internal/cli/subject"
	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
	"github.com/patra-ingest/patra/internal/engine/inspect"
)

func NewHarvest(e *term.Env) *cobra.Command {
	r := &Request{Env: e, Operation: string(ingest.Harvest)}
	var settings Settings
	var told events.File
	var measured metricsFile
	c := &cobra.Command{
		Use:   "harvest SRC",
		Short: "Fetch what is new since the last harvest",
		Long: `Plan from the watermark to now minus the source's safety lag, and work on the plan
until it is done. The watermark moves only over time that was read without a gap.
What failed stays owed: a later harvest tries it again, after a wait that doubles
with each failure. --retry tries it at once, and so does the first harvest after the
source was resumed, applied again or given another secret. If the requests of a plan
failed and the source was applied again since, the harvest cancels that plan and
plans what it left anew, with the source as it is now.

With --metrics-file the harvest writes metrics at the end, also if it failed: what it
counted, and the state of its source. docs/metrics.md lists them.

With --events the events that wait are published at the end, as events publish does.
Exit code 3 if some were not delivered: the records are stored, the events stay.

Harvests of the same window that start at the same time share one plan: one of them
makes it, and the others join it and end with its outcome. They also work on it if
the database lets several processes work.

If the first slices all fail for one reason that lasts (a wrong path, a key that is
refused, an unknown host), the harvest stops, says why, and ends with the code of
the cause: 2 the source file, 4 credentials, 7 the upstream.

With --max-requests N the harvest ends after N requests. If something is left, the
exit code is 3: it stays owed, and the next harvest continues with it.

If the older records of a list are in files (window.bootstrap), the first harvest
reads the files. Only when every file is read does it read the list, from where the
files end; docs/files.md has an example.

Ctrl-C is safe at any moment: committed pages stay, the next harvest continues.`,
		Example: `  patra harvest crossref --set contact.email=you@example.org
  patra harvest crossref --retry
  patra harvest crossref --max-requests 500
  patra harvest crossref --from 2025-03-01 --to 2025-03-08 --dry-run`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if r.dry {
				return runPlan(cmd.Context(), e, args[0], r)
			}
			return runHarvest(cmd.Context(), e, args[0], r, settings, told, measured)
		},
	}
	r.addFlags(c)
	r.addLimitFlag(c)
	r.addCallerFlags(c)
	settings.Flags(c)
	c.Flags().StringVar(&told.Path, "events", "", "file that says who gets which events: publish them at the end")
	measured.addFlag(c)
	return c
}

// Settings are the flags of commands that execute tasks.
type Settings struct {
	workersFlag *pflag.Flag
	workers     int
	lease       string
	relaxed     bool
	gate        string
	memory      string
	raw         rawKeeping
	files       string
}

func (w *Settings) Flags(c *cobra.Command) {
	c.Flags().IntVar(&w.workers, "workers", 0, "slices worked on at once (default 4, or work.workers of patra.yaml)")
	w.workersFlag = c.Flags().Lookup("workers")
	c.Flags().StringVar(&w.lease, "lease", "60s", "how long a process that shows no sign of life keeps its tasks before others take them over")
	c.Flags().BoolVar(&w.relaxed, "relaxed", false, "SQLite: faster commits that a power cut may undo")
	// No default here: help would print it, and PATRA_GATE may hold a password (I12).
	c.Flags().StringVar(&w.gate, "gate", "", "Redis server through which processes share their rates: rediss://user:password@host:port/db (redis:// on this machine), or env:NAME, file:PATH or exec:COMMAND that give it (default PATRA_GATE, else none)")
	c.Flags().StringVar(&w.memory, "memory", term.SizeText(daemon.MemoryBytes), "memory shared by answers larger than a few MB; an answer that does not fit waits for its turn")
	w.raw.flags(c)
	term.FilesDirFlag(c, &w.files)
}

func (w Settings) Apply(c *daemon.Config) error {
	lease, err := term.ParseDuration(w.lease)
	if err != nil {
		return term.Usagef("--lease: %v", err)
	}
	if lease < minLease {
		return term.Usagef("--lease %s is too short: at least %s", w.lease, minLease)
	}
	if w.workersFlag.Changed && w.workers < 1 {
		return term.Usagef("--workers must be at least 1")
	}
	c.Workers, c.Lease, c.Relaxed = w.workers, lease, w.relaxed
	if c.Gate = w.gate; c.Gate == "" {
		c.Gate = term.EnvOr("PATRA_GATE", "")
	}
	if c.Memory, err = term.ParseSize(w.memory); err != nil {
		return term.Usagef("--memory: %v", err)
	}
	if c.Memory < minMemory {
		return term.Usagef("--memory %s is too little: at least %s", w.memory, term.SizeText(minMemory))
	}
	c.FilesDir = term.FilesDir(w.files)
	c.Raw, err = w.raw.config()
	return err
}

// minMemory: with less, every answer that is larger than usual waits for all others.
const minMemory = 64_000_000

// minLease: below this a slow disk looks like a dead worker.
const minLease = 300 * time.Millisecond

// Summary is what a harvest did.
type Summary struct {
	Source     string          `json:"source"`
	PlanID     int64           `json:"planId"`
	Continued  []int64         `json:"continuedPlans,omitempty"`
	GivenUp    []int64         `json:"givenUpPlans,omitempty"` // of earlier runs: the source was changed since
	Joined     bool            `json:"joined,omitempty"`       // the plan is that of another harvest, and so are the figures
	Window     string          `json:"window,omitempty"`
	Empty      bool            `json:"empty"`
	Reason     string          `json:"reason,omitempty"`
	Slices     map[string]int  `json:"slices"`
	Replaced   int             `json:"replaced,omitempty"` // of the PARTIAL ones: smaller slices have what they left
	Stats      ingest.RunStats `json:"stats"`              // of its runs, and the requests that only counted
	Counted    int             `json:"counted,omitempty"`  // of the requests, those that asked for a size only
	CursorFrom string          `json:"cursorBefore,omitempty"`
	CursorTo   string          `json:"cursor,omitempty"`
	Warnings   []spec.Warning  `json:"warnings"`           // what the source cannot do
	Waiting    []window.Window `json:"waiting,omitempty"`  // of the window: failed before, and not tried by this run
	RetryFrom  time.Time       `json:"retryFrom,omitzero"` // from when on a harvest tries again what failed
	Failures   []view.Failure  `json:"failures,omitempty"` // why slices are not covered, the most frequent reason first
	Stopped    *stopView       `json:"stopped,omitempty"`  // why the run ended before all slices were tried

	again   owedAgain // what failed and is still owed
	decided bool      // nothing that was rejected is open
}

func runHarvest(ctx context.Context, e *term.Env, code string, r *Request, settings Settings, told events.File, measured metricsFile) (err error) {
	config := daemon.Config{Database: e.Database, Installed: e.Installed, Log: e.Logger(), Warn: e.WarnOnce}
	if err := errors.Join(settings.Apply(&config), measured.prepare(&config)); err != nil {
		return err
	}
	if told.Path != "" {
		if config.Events, err = told.Read(); err != nil {
			return err
		}
		config.EventsFile = told.Name()
		check := func(g *daemon.Guard) error { return g.CheckEvents(ctx, config.Events, told.TrustCommand()) }
		if err := e.WithGuard(ctx, check); err != nil { // before the harvest: afterwards nobody looks
			return err
		}
	}
	if _, err := rehearsePlan(ctx, e, code, r); err != nil {
		return r.noteRefused(ctx, e, nil, code, err)
	}
	defer config.TraceTo(ctx, term.Version)()
	app, err := daemon.Open(ctx, config)
	if err != nil {
		return err
	}
	defer app.Close()
	ctx, triggered := app.BeginTrigger(ctx)
	defer func() { triggered(err) }()
	defer func() {
		if failed := measured.writeMetrics(ctx, app, code, ingest.Harvest); failed != nil {
			err = errors.Join(err, failed)
		}
	}()
	HintNewAndRaw(e, app)
	p, err := r.parseAt(ctx, app)
	if err != nil {
		return err
	}
	compiled, err := r.compileSource(ctx, app, code, p)
	if err != nil {
		return err
	}
	subject.Warn(e, compiled.Warnings)
	hintSettings(ctx, e, app, compiled)
	s, stopped := Run(ctx, e, app, compiled, func(watch daemon.Watch) (daemon.Harvested, error) {
		counting, planned := hintCounting(ctx, e, code, "; Ctrl-C is safe")
		defer planned()
		show := watch.Progress
		watch.Progress = func(p view.Progress) {
			planned() // from now on the bar says what it waits for
			show(p)
		}
		h, err := app.Harvest(counting, compiled, p.newRequest(), watch)
		if h.Draft == nil { // nothing was planned
			err = r.noteRefused(ctx, e, app, code, err)
		}
		return h, err
	})
	if stopped != nil && s.Stopped == nil {
		return stopped
	}
	if s.again, err = findOwed(ctx, app, compiled); err != nil {
		return err
	}
	s.RetryFrom = s.again.RetryFrom
	if err := printSummary(e, s); err != nil {
		return err
	}
	if s.Stopped != nil {
		return stopped
	}
	if s.decided, err = allDecided(ctx, e, app, s, compiled.Snapshot.Dataset()); err != nil {
		return err
	}
	if told.Path != "" {
		if err := publishAfter(ctx, e, app, told); err != nil {
			return errors.Join(s.verdict(), err)
		}
	}
	return s.verdict()
}

// publishAfter publishes what a harvest left in the outbox. What is not delivered
// stays there and is said.
func publishAfter(ctx context.Context, e *term.Env, app *daemon.App, told events.File) error {
	done, err := app.PublishEvents(ctx)
	if err != nil {
		return fmt.Errorf("the harvest is stored, but its events could not be published (later: `%s`): %w", told.PublishCommand(), err)
	}
	events.HintSkipped(e, done)
	e.Hint("%s published", wording.Count(done.Published, "event"))
	return events.CheckUndelivered(ctx, e, app, told)
}

func Run(ctx context.Context, e *term.Env, app *daemon.App, c *spec.Compiled, run func(daemon.Watch) (daemon.Harvested, error)) (Summary, error) {
	code := c.Snapshot.Source
	s := Summary{Source: code, Slices: map[string]int{}, Warnings: append([]spec.Warning{}, c.Warnings...)}
	s.CursorFrom = cursorOf(ctx, app, c)
	bar := term.NewBar(e, code)
	still := reason.NewStallHint(func() string {
		return reason.StandstillOf(ctx, app, ingest.Partition{Dataset: c.Snapshot.Dataset(), Operation: c.Snapshot.Operation})
	}, bar.Note)
	over := reason.NewRestartHint(bar.Note)
	progress := func(p view.Progress) {
		bar.Update(p)
		over.Look(ctx, app, p)
		still.Look(time.Now(), fmt.Sprint(p.PlanID, p.Total, p.Done, p.Stats.Seen))
	}
	var earlier []view.Failure // of plans that are taken up again: what failed before this run
	h, err := run(daemon.Watch{Progress: progress, Continue: func(o ingest.OpenPlan) {
		earlier = append(earlier, app.Inspect.Failures(ctx, []int64{o.ID})...)
		bar.Resume(o.ID)
		bar.Note("%s", ContinuingText(ctx, app, o.ID))
	}, GiveUp: func(g daemon.GivenUp) {
		bar.Note("%s", givingUp(g))
	}, Join: func(j daemon.Joined) {
		bar.Resume(j.PlanID)
		bar.Note("%s", joinedText(j))
	}})
	bar.Stop(lastProgress(h))
	for _, p := range append(slices.Clone(h.Continued), h.Plan) { // what happened since the last look
		over.Look(ctx, app, p)
	}
	for _, g := range h.GivenUp {
		s.GivenUp = append(s.GivenUp, g.PlanID)
	}
	for _, p := range h.Continued {
		s.Continued = append(s.Continued, p.PlanID)
		s.addProgress(p.Since(h.Before[p.PlanID])) // what an earlier run did, it has told
	}
	if s.Stopped = stopOf(err); err != nil && s.Stopped == nil {
		return s, err
	}
	s.addProgress(h.Plan)
	s.Counted = h.Counted
	s.Stats.Requests += h.Counted
	if s.Failures = inspect.FailuresSince(app.Inspect.Failures(ctx, append(s.Continued, h.Plan.PlanID)), earlier); h.Draft == nil { // stopped before it could plan
		return s, err
	}
	stopped := err
	hintLag(e, h.Draft)
	s.Joined = h.Joined != nil
	s.PlanID, s.Empty, s.Reason, s.Waiting = h.Plan.PlanID, h.Draft.Empty && len(h.Continued) == 0, h.Draft.Reason, h.Draft.Waiting
	if h.Draft.Window != nil {
		s.Window = h.Draft.Window.String()
	} else if s.Window, err = windowsOf(ctx, app, s.Continued); err != nil {
		return s, err
	}
	s.CursorTo = cursorOf(ctx, app, c)
	return s, stopped
}

// lastProgress is what a bar ends with: a plan with nothing in it leaves the last one
// that was continued.
func lastProgress(h daemon.Harvested) view.Progress {
	if n := len(h.Continued); h.Plan.Total == 0 && n > 0 {
		return h.Continued[n-1]
	}
	return h.Plan
}

// ContinuingText says what becomes of a plan that was there before.
func ContinuingText(ctx context.Context, app *daemon.App, plan int64) string {
	if others, err := app.Others(ctx); err == nil && len(others) > 0 {
		return fmt.Sprintf("plan %d comes first: another process (%d on %s) works on it", plan, others[0].PID, term.Printable(daemon.HostName(others[0].Host)))
	}
	return fmt.Sprintf("continuing plan %d, which an earlier run left unfinished", plan)
}

// givingUp says why a plan that was there before is not gone on with.
func givingUp(g daemon.GivenUp) string {
	return fmt.Sprintf("plan %d is cancelled: the source was changed at %s, after this plan was made, and its requests failed with the old settings. "+
		"What it left (%s) is planned again now with the new ones; you need not do anything. What failed: patra plan show %d",
		g.PlanID, wording.SecondText(g.Changed), wording.Count(g.Slices, "slice"), g.PlanID)
}

// joinedText says why this harvest has no plan of its own.
func joinedText(j daemon.Joined) string {
	who := ""
	if j.By != "" {
		who = fmt.Sprintf(" of %s, started at %s", term.Printable(j.By), wording.SecondText(j.At))
	}
	return fmt.Sprintf("joined plan %d%s, stored %s ago: it reads the same, so nothing is read twice; the figures are those of the plan",
		j.PlanID, who, j.Age.Round(time.Second))
}

// windowsOf names what stored plans are for.
func windowsOf(ctx context.Context, app *daemon.App, plans []int64) (string, error) {
	var out []string
	for _, id := range plans {
		found, err := app.Plans.List(ctx, view.Filter{PlanID: id, Limit: 1})
		if err != nil {
			return "", err
		}
		for _, p := range found {
			if p.Window != nil {
				out = append(out, p.Window.String())
			}
		}
	}
	return strings.Join(out, ", "), nil
}

func (s *Summary) addProgress(p view.Progress) {
	for status, n := range p.Slices {
		s.Slices[status] += n
	}
	s.Replaced += p.Replaced
	s.Stats = s.Stats.Add(p.Stats)
}

// cursorOf is how far the watermark of a run has come.
func cursorOf(ctx context.Context, app *daemon.App, compiled *spec.Compiled) string {
	at, err := compiled.Namespace()
	if err != nil {
		return ""
	}
	cursors, err := app.Cursors.List(ctx, at.Source)
	if err != nil {
		return ""
	}
	for _, c := range cursors {
		if c.IsAt(at) {
			return c.Value
		}
	}
	return ""
}

func printSummary(e *term.Env, s Summary) error {
	if e.Output == "json" {
		return e.JSON(s)
	}
	if s.Empty {
		return printNothing(e, s.Source, s.Reason)
	}
	t := s.Stats
	return term.PrintFacts(e, s, slices.Concat([]term.Fact{
		{"window", wording.OrDash(s.Window)},
		{"slices", s.sliceOutcomes("covered")},
		{"records", recordOutcomes(t.BatchStats)},
		{"items", fmt.Sprintf("%d seen, %s%s, %d duplicates, %d stale", t.Seen, wording.OutsideText(t.Outside, t.OutsideKept), wording.ExcludedText(t.Excluded), t.Duplicate, t.Stale)},
		{"requests", fmt.Sprintf("%d, of these %d retries%s, %d times told to slow down, %s started over%s", t.Requests, t.Retries, s.countedText(), t.Throttled, wording.Count(t.Restarts, "slice"), unsentText(t.Unsent))},
		{"watermark", wording.OrDash(s.CursorFrom) + " → " + wording.OrDash(s.CursorTo)},
	}, parentFacts(t), s.whyFacts()))
}

// parentFacts tells which stored records were asked for one by one, where not all are, and what they should have announced.
func parentFacts(t ingest.RunStats) (out []term.Fact) {
	text := wording.ParentsText(t.Parents)
	if text == "" {
		return nil
	}
	if t.Swept > 0 {
		text += fmt.Sprintf("; %s came below parents that had not changed, against the promise of the upstream", wording.Count(t.Swept, "record"))
	}
	return []term.Fact{{"asked for", term.Wrap(text)}}
}

// unsentText tells of tries that are no requests: nothing left this machine.
func unsentText(n int) string {
	if n == 0 {
		return ""
	}
	return "; besides, " + reason.TriesText(n) + " did not reach the upstream, so nothing was sent"
}

// countedText tells of requests that only asked for a size.
func (s Summary) countedText() string {
	if s.Counted == 0 {
		return ""
	}
	return fmt.Sprintf(" and %d to count", s.Counted)
}

// sliceOutcomes counts slices by what became of them. What somebody cancelled is
// named as that: it is no failure, and it is owed.
func (s Summary) sliceOutcomes(done string) string {
	cancelled := s.Slices[string(ingest.SliceCancelled)]
	text := fmt.Sprintf("%d %s, %d failed", s.Slices[string(ingest.SliceSucceeded)], done, s.Slices[string(ingest.SliceFailed)])
	if cancelled > 0 {
		text += fmt.Sprintf(", %d cancelled", cancelled)
	}
	return text + fmt.Sprintf(", %d other", s.unfinished()-cancelled) + s.cutSmaller() + s.readSinceText()
}

// recordOutcomes counts records by what became of them; tombstones where there are any.
func recordOutcomes(t ingest.BatchStats) string {
	text := fmt.Sprintf("%d new, %d updated, %d unchanged", t.Inserted, t.Updated, t.Unchanged)
	if t.Gone > 0 {
		text += fmt.Sprintf(", %d gone", t.Gone)
	}
	return text + fmt.Sprintf(", %d quarantined", t.Quarantined) + knownRejects(t)
}

// cutSmaller tells of slices that were too large: their parts are counted.
func (s Summary) cutSmaller() string {
	if s.Replaced == 0 {
		return ""
	}
	return fmt.Sprintf("; %d were cut into smaller ones", s.Replaced)
}

// result is what the verdict depends on.
func (s Summary) result() inspect.Result {
	r := inspect.Result{Slices: s.Slices, Replaced: s.Replaced, Continued: len(s.Continued) > 0, Waiting: s.Waiting, Failures: s.Failures, Stats: s.Stats, Decided: s.decided}
	if s.again.known {
		r.Owed = &s.again.Owed
	}
	return r
}

func (s Summary) unfinished() int { return s.result().Unfinished() }

// verdict makes an honest exit code: a harvest with failures or rejects is not ok (D§5.16).
func (s Summary) verdict() error {
	switch v := s.result().HarvestVerdict(); v.Code {
	case view.AllCancelled:
		return term.Partialf("%s cancelled by an operator; what they cover stays owed: patra task list --source %s --status CANCELLED", wording.Count(v.Count, "slice"), s.Source)
	case view.OneCause:
		return s.onlyCause(*v.Failure)
	case view.NotCovered:
		return term.Partialf("%s not covered; what is missing stays owed: %s; why: patra task list --source %s --status FAILED", wording.CountAre(v.Count, "slice"), s.again.nextText(s.Source), s.Source)
	case view.StillWaiting:
		return term.Partialf("%s failed before and is still owed: %s; why: patra task list --source %s --status FAILED", waitingWindows(v.Windows), s.again.nextText(s.Source), s.Source)
	case view.ItemsRejected:
		return setAside(v.Count, s.Source)
	}
	return nil
}

// setAside is the verdict on a run that stored everything but some items.
func setAside(n int, source string) error {
	return term.Partialf("%s in quarantine, kept with the reason; everything else was stored: look with `patra quarantine groups %s`", wording.Count(n, "item"), source)
}

// allDecided reports whether somebody has decided about everything that was rejected:
// junk that comes again with every lookback is no news, and must not hide what is.
func allDecided(ctx context.Context, e *term.Env, app *daemon.App, s Summary, of ingest.Dataset) (bool, error) {
	if hintKnown(e, s.Stats.BatchStats, s.Source) {
		return true, nil
	}
	open, err := app.Inspect.HasOpenRejects(ctx, of)
	if err != nil || open {
		return false, err
	}
	e.Hint("no rejected item is open: each was stored from a later answer, or discarded before: patra quarantine groups %s --all", s.Source)
	return true, nil
}

// waitingWindows names what waits, the first of many.
func waitingWindows(list []window.Window) string {
	if len(list) == 1 {
		return wording.WindowText(list[0])
	}
	return fmt.Sprintf("%s and %d more", wording.WindowText(list[0]), len(list)-1)
}
