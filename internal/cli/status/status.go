package status

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/threshold"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
	"github.com/patra-ingest/patra/internal/engine/inspect"
)

func New(e *term.Env) *cobra.Command {
	var watch bool
	var every time.Duration
	var times int
	var eventsAge, checkAge time.Duration
	c := &cobra.Command{
		Use:   "status [SRC]",
		Short: "Freshness, gaps, queue and failures at a glance; exit code 9 on findings",
		Long: `Show, for every source that is harvested, how fresh it is, what is missing, what
is waiting and what is wrong. A range that is owed and being worked on is not a
finding. Findings are:

  coverage   gaps that no task works on; ranges that a backfill or an update gave
             up; days with far fewer items than usual; windows for which the
             upstream counted more items than were read; slices that started over
             more than twice and are not read yet
  freshness  watermarks further behind than the source allows (alerts.maxLag), or
             that did not move although their schedule fired, or that were read as
             of a time in the future; harvests that used to be started regularly
             from outside and no longer are
  schedules  schedules that do not fire or lead to no plan; stalled campaigns
  sources    paused, unreadable, or waiting for consent (patra source trust);
             endpoints in trouble; too many batches with errors or 429 answers;
             quotas that run low; answers whose dates do not fit the request, or
             that hold fewer items than estimated; items in quarantine
  processes  processes that ended without shutting down; plans that no process
             takes; tasks that wait while no patra process is running; a clock
             that differs from the database's
  database   slow, never checked, checked longer ago than --check-age, or damaged;
             watermarks that differ from their events; disks that are nearly full
  events     dead events; unreachable receivers; events that wait for longer than
             --events-age, unless nothing publishes (no relay is running, and none
             has tried for a week); alert messages that were not delivered

Each finding names the command to type. Findings that end without a person are
marked with ~ instead of ! and do not count for exit code 9: for example an endpoint
that has been in trouble for less than an hour.

LAG is the time from the watermark to now. QUEUE is running + waiting. Below the
table are the processes at work, and the next tick of each source with a schedule.

The section findings of patra.yaml and the section alerts of a source set the limits
beyond which something is a finding; patra source explain SRC findings shows them.

--watch repeats until Ctrl-C, which ends it with exit code 0.`,
		Example: `  patra status
  patra status crossref -o json
  patra status --watch --every 10s`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if eventsAge < 0 {
				return term.Usagef("--events-age %s: expected a length of time, or 0 for no limit", eventsAge)
			}
			if checkAge < 0 {
				return term.Usagef("--check-age %s: expected a length of time, or 0 for no limit", checkAge)
			}
			limits := e.Installed.Findings.Limits()
			if !cmd.Flags().Changed("events-age") {
				eventsAge = limits.EventsAge
			}
			if !cmd.Flags().Changed("check-age") {
				checkAge = limits.CheckAge
			}
			q := inspect.StatusQuery{Source: strings.Join(args, ""), EventsAge: eventsAge, CheckAge: checkAge}
			look := func(app *daemon.App) (Report, error) {
				found, err := app.Inspect.Status(cmd.Context(), q)
				if err != nil {
					return Report{}, err
				}
				r := newStatusReport(found)
				if q.Source == "" {
					r.Size, err = app.SizeNoted(cmd.Context())
				}
				return r, err
			}
			return e.ReadStore(cmd.Context(), func(app *daemon.App) error {
				if watch {
					return watchStatus(cmd.Context(), e, app, every, times, look)
				}
				r, err := look(app)
				if err != nil {
					return err
				}
				return showStatus(e, r)
			})
		},
	}
	c.Flags().BoolVar(&watch, "watch", false, "repeat until interrupted")
	c.Flags().DurationVar(&every, "every", 2*time.Second, "with --watch: how often")
	c.Flags().DurationVar(&eventsAge, "events-age", threshold.UsualEventsAge, "how long an event may wait for its delivery before it is a finding, unless patra.yaml says otherwise; 0: no limit")
	c.Flags().DurationVar(&checkAge, "check-age", threshold.UsualCheckAge, "how old the last check of the database may be before that is a finding, unless patra.yaml says otherwise; 0: no limit")
	c.Flags().IntVar(&times, "times", 0, "with --watch: stop after this many looks (default: run until interrupted)")
	return c
}

// Report is a status as it is shown, in words.
type Report struct {
	Now       time.Time             `json:"now"`
	Sources   []sourceStatus        `json:"sources"`
	Processes int                   `json:"processes"`         // at work now
	Relays    int                   `json:"relays"`            // processes that publish events
	AtWork    []view.Process        `json:"atWork"`            // all processes that live
	Ticks     []view.NextTick       `json:"ticks"`             // what schedules start next
	Events    []view.Backlog        `json:"events"`            // datasets with events that are not delivered
	Missing   []view.MissingRecords `json:"missing,omitempty"` // records that upstreams lack, not taken for deleted
	Findings  []statusFinding       `json:"findings"`
	Size      view.SizeNoted        `json:"size,omitzero"` // of the database, when it was measured last

	schedules view.Schedules // what starts the first harvest, while there was none
	calls     int            // findings that do not heal
}

// sourceStatus is how one endpoint stands.
type sourceStatus struct {
	Source      string            `json:"source"`
	Endpoint    string            `json:"endpoint"`
	CursorID    int64             `json:"cursorId,omitempty"`
	FreshTo     time.Time         `json:"freshTo,omitzero"`
	LagSec      float64           `json:"lagSeconds,omitempty"`
	Gaps        []wording.ToldGap `json:"gaps"`
	InWork      int               `json:"gapsInWork"` // stretches that are owed and worked on
	Running     int               `json:"running"`
	Waiting     int               `json:"waiting"`
	Failed      int               `json:"failedWindows"`
	Quarantined int64             `json:"quarantined"`
	Excluded    int64             `json:"excluded"` // of the last week, by response.where
	Conditions  []view.Condition  `json:"conditions,omitempty"`
	LastFailure *view.Task        `json:"lastFailure,omitempty"`
}

// statusFinding is one thing a person should know, in words.
type statusFinding struct {
	About    string           `json:"about"`
	Text     string           `json:"text"`
	Code     view.FindingCode `json:"code"`
	Severity view.Severity    `json:"severity"`
	Subject  view.Subject     `json:"subject,omitzero"`
	Since    time.Time        `json:"since,omitzero"`
	Until    time.Time        `json:"until,omitzero"`
	Heals    bool             `json:"heals"`
	Next     string           `json:"next"`
}

// newStatusReport puts a status into words.
func newStatusReport(s view.Status) Report {
	lines := findingLines(s.Findings, s.Now)
	r := Report{Now: s.Now, Sources: []sourceStatus{}, Processes: s.Processes, Relays: s.Relays, AtWork: s.AtWork, Ticks: s.Ticks, Events: s.Events, Missing: s.Missing, Findings: lines, schedules: s.Schedules, calls: countCalls(lines)}
	for _, one := range s.Sources {
		r.Sources = append(r.Sources, sourceStatus{
			Source: one.Source, Endpoint: one.Endpoint, CursorID: one.CursorID, FreshTo: one.FreshTo, LagSec: one.LagSec, Gaps: wording.TellGaps(one.Gaps), InWork: one.InWork,
			Running: one.Running, Waiting: one.Waiting, Failed: one.Failed, Quarantined: one.Quarantined, Excluded: one.Excluded, Conditions: one.Conditions, LastFailure: one.LastFailure,
		})
	}
	return r
}

// firstStart says what starts the first harvest: a schedule, where a process follows
// them, or a person.
func firstStart(s view.Schedules) string {
	switch {
	case s.Count == 0:
		return "`patra harvest SRC` starts"
	case s.Followed:
		return fmt.Sprintf("%s followed, the first is due at %s; sooner with `patra harvest SRC`", wording.CountAre(s.Count, "schedule"), wording.MinuteText(s.Next))
	}
	return fmt.Sprintf("%s declared, and no process follows schedules: `patra serve` does; sooner with `patra harvest SRC`", wording.CountAre(s.Count, "schedule"))
}

func showStatus(e *term.Env, r Report) error {
	if e.Output == "json" {
		if err := e.JSON(r); err != nil {
			return err
		}
	} else {
		fmt.Fprint(e.Out, e.ColouredFindings(r.text()))
	}
	if len(r.Sources) == 0 {
		e.Hint("nothing was planned yet: %s", firstStart(r.schedules))
	}
	if r.calls > 0 {
		return term.Findingsf("%s", wording.Count(r.calls, "finding"))
	}
	return nil
}

// countCalls counts the lines of findings that call a person: those that heal do not.
func countCalls(lines []statusFinding) (n int) {
	for _, f := range lines {
		if !f.Heals {
			n++
		}
	}
	return n
}

// text is the report in 80 columns.
func (r Report) text() string {
	w := term.NewTable(nil)
	w.AppendHeader(term.HeadRow([]string{"source", "fresh to", "lag", "gaps", "queue", "failed", "rejects"}))
	for _, s := range r.Sources {
		lag := "-"
		if !s.FreshTo.IsZero() {
			lag = wording.DurationText(r.Now.Sub(s.FreshTo))
		}
		gaps := fmt.Sprint(len(s.Gaps))
		if s.InWork > 0 {
			gaps += fmt.Sprintf(" (+%d)", s.InWork)
		}
		w.AppendRow(term.CleanRow([]any{wording.Shorten(s.Source+"/"+s.Endpoint, 22), wording.MinuteText(s.FreshTo), lag, gaps, fmt.Sprintf("%d+%d", s.Running, s.Waiting), s.Failed, s.Quarantined}))
	}
	out := w.Render() + "\n" + r.workLines() + r.tickLines() + r.outboxLines() + r.excludedLines() + r.missingLines() + r.sizeLine()
	for _, f := range r.Findings {
		mark := "! "
		if f.Heals {
			mark = "~ "
		}
		out += term.IndentLines(mark+term.Printable(f.About+": "+f.Text), 80)
	}
	if len(r.Findings) == 0 {
		out += "no findings\n"
	}
	return out
}

// excludedLines tells what rules of sources left out. That is no finding: the source file says so.
func (r Report) excludedLines() (out string) {
	for _, s := range r.Sources {
		if s.Excluded > 0 {
			out += term.IndentLines(term.Printable(fmt.Sprintf("%s of %s/%s left out in 7 days, as response.where says", wording.Count(int(s.Excluded), "item"), s.Source, s.Endpoint)), 80)
		}
	}
	return out
}

// missingLines tells of records that upstreams did not have. That is no finding: a passing
// gap heals by itself, and a deletion is true a day later.
func (r Report) missingLines() (out string) {
	for _, m := range r.Missing {
		out += term.IndentLines(term.Printable(fmt.Sprintf("%s of %s/%s %s missing since %s and not taken for deleted: from %s on `patra update %s --signals`, or a scheduled update, re-checks them",
			wording.Count(int(m.Records), "record"), m.Source, m.Endpoint, wording.IsAre(m.Records), wording.MinuteText(m.Since), wording.MinuteText(m.LooksAt), m.Source)), 80)
	}
	return out
}

// sizeLine tells how large the database was when it was measured last: to measure it now
// would make every look slow.
func (r Report) sizeLine() string {
	if r.Size.At.IsZero() {
		return ""
	}
	against := ""
	if r.Size.JSONBytes > 0 {
		against = fmt.Sprintf(", %.2f of the JSON it came from", float64(r.Size.Bytes)/float64(r.Size.JSONBytes))
	}
	return fmt.Sprintf("database: %s%s (%s)\n", term.SizeText(r.Size.Bytes), against, wording.MinuteText(r.Size.At))
}

// shownProcesses is how many processes are told one by one.
const shownProcesses = 8

// workLines tells who is at work: how many take tasks, and each process with its place.
func (r Report) workLines() string {
	out := fmt.Sprintf("%d processes are at work\n", r.Processes)
	switch r.Processes {
	case 0:
		out = "no process is at work\n"
	case 1:
		out = "1 process is at work\n"
	}
	for n, p := range r.AtWork {
		if n == shownProcesses {
			return out + fmt.Sprintf("  %d more; `patra status -o json` has them\n", len(r.AtWork)-n)
		}
		out += term.IndentLines(term.Printable(fmt.Sprintf("  process %d on %s: %s, since %s", p.PID, p.Host, p.Roles, wording.MinuteText(p.Since))), 80)
	}
	return out
}

// tickLines tells what starts next: the next tick of each source.
func (r Report) tickLines() string {
	if len(r.Ticks) == 0 {
		return ""
	}
	next := map[string]view.NextTick{}
	var order []string
	for _, t := range r.Ticks {
		known, found := next[t.Source]
		if !found {
			order = append(order, t.Source)
		}
		if !found || t.At.Before(known.At) {
			next[t.Source] = t
		}
	}
	slices.SortStableFunc(order, func(a, b string) int { return next[a].At.Compare(next[b].At) })
	var texts []string
	for n, source := range order {
		if n == shownTicks {
			texts = append(texts, fmt.Sprintf("%d more (`patra source list`)", len(order)-n))
			break
		}
		texts = append(texts, source+" "+wording.MinuteText(next[source].At))
	}
	return term.IndentLines(term.Printable("next ticks: "+strings.Join(texts, ", ")), 80)
}

// shownTicks is of how many sources the next tick is told.
const shownTicks = 5

// watchStatus draws the report anew until somebody stops it.
func watchStatus(ctx context.Context, e *term.Env, app *daemon.App, every time.Duration, times int, look func(*daemon.App) (Report, error)) error {
	if every < term.ShortestWatch {
		return term.Usagef("--every %s: expected %s or more", every, term.ShortestWatch)
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for looks := 1; ; looks++ {
		r, err := look(app)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		case e.Output == "json":
			err = e.JSON(r)
		case term.IsTerminal(e.Out):
			_, err = fmt.Fprint(e.Out, "\x1b[H\x1b[2J"+wording.MinuteText(r.Now)+"\n"+e.ColouredFindings(r.text()))
		default:
			_, err = fmt.Fprint(e.Out, wording.MinuteText(r.Now)+"\n"+r.text()+"\n")
		}
		if err != nil || looks == times {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}
