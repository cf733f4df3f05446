package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/patra-ingest/patra/internal/core/health"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/daemon"
)

// stallAfter is how long nothing may move before a bar says why.
const stallAfter = 10 * time.Second

// stall tells whoever watches a bar that stands still why it does: a run repeats a
// request for half a minute before it fails, and a breaker waits for minutes.
type stall struct {
	why func() string // what is known now
	say func(format string, args ...any)

	mark  string // how far it had come
	since time.Time
	told  map[string]bool
}

func newStall(why func() string, say func(format string, args ...any)) *stall {
	return &stall{why: why, say: say, told: map[string]bool{}}
}

// look is told again and again how far the work has come. Each reason is said once.
func (s *stall) look(now time.Time, mark string) {
	if mark != s.mark || s.since.IsZero() {
		s.mark, s.since = mark, now
		return
	}
	if now.Sub(s.since) < stallAfter {
		return
	}
	s.since = now
	text := s.why()
	if reason := withoutNumbers(text); text != "" && !s.told[reason] {
		s.told[reason] = true
		s.say("%s", printable(text))
	}
}

// withoutNumbers is a reason as it is compared: one that only counts on is no news.
func withoutNumbers(text string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsDigit(c) {
			return -1
		}
		return c
	}, text)
}

// recentRuns is how many runs are looked through for the last one that failed.
const recentRuns = 20

// standstill is why the work on a source does not go on, in words.
func standstill(ctx context.Context, app *daemon.App, source string, of ingest.Operation) string {
	return standstillAfter(ctx, app, source, of, lastFailure(ctx, app, source, of))
}

// standstillOf is standstill for the process that does the work: it knows of every try
// that failed, also while no run has ended yet.
func standstillOf(ctx context.Context, app *daemon.App, of ingest.Partition) string {
	failed := app.FailedTries(of)
	if failed.Tries == 0 {
		return standstill(ctx, app, of.Source, of.Operation)
	}
	told := fmt.Sprintf("no page for %s: %s failed, the last with %s; ", stallAfter, triesText(failed.Tries), short(failed.Last, 300))
	return standstillAfter(ctx, app, of.Source, of.Operation, told)
}

func triesText(n int) string {
	if n == 1 {
		return "1 try"
	}
	return fmt.Sprintf("%d tries", n)
}

// standstillAfter says what the work waits for, behind what went wrong last.
func standstillAfter(ctx context.Context, app *daemon.App, source string, of ingest.Operation, failed string) string {
	for _, status := range []ingest.TaskStatus{ingest.TaskQueued, ingest.TaskScheduled} {
		tasks, err := app.Store.Tasks(ctx, view.Filter{Source: source, Status: string(status), Limit: recentRuns})
		if err != nil {
			return ""
		}
		for _, t := range tasks {
			if t.Operation != string(of) {
				continue
			}
			if t.Waits != nil {
				return fmt.Sprintf("%sno task is taken: %s; it goes on by itself, and Ctrl-C is safe", failed, waiting(*t.Waits))
			}
			if status == ingest.TaskScheduled && t.Attempts > 0 { // the others are due step by step, the last of them first in the list
				return fmt.Sprintf("%stask %d is tried again from %s on; Ctrl-C is safe", failed, t.ID, when(t.ScheduledAt))
			}
		}
	}
	if why := heldPlanning(ctx, app, source, of); why != "" {
		return fmt.Sprintf("%s%s; it goes on by itself, and Ctrl-C is safe: patra status %s", failed, why, source)
	}
	if failed != "" {
		return failed + "it is tried again; Ctrl-C is safe"
	}
	if due := nextDue(ctx, app, source, of); !due.IsZero() {
		return fmt.Sprintf("no task is due before %s; it goes on by itself, and Ctrl-C is safe", when(due))
	}
	return fmt.Sprintf("no page for %s: answers take long, the rate makes requests wait, or they are repeated; `patra source test %s` sends one and tells what comes back", stallAfter, source)
}

// nextDue is when tasks become due, if all that are left of an operation do so later.
func nextDue(ctx context.Context, app *daemon.App, source string, of ingest.Operation) (due time.Time) {
	for _, status := range []ingest.TaskStatus{ingest.TaskScheduled, ingest.TaskQueued, ingest.TaskDispatched, ingest.TaskExecuting} {
		tasks, err := app.Store.Tasks(ctx, view.Filter{Source: source, Status: string(status), Limit: recentRuns})
		some := slices.ContainsFunc(tasks, func(t view.Task) bool { return t.Operation == string(of) })
		if err != nil || some != (status == ingest.TaskScheduled) {
			return time.Time{}
		}
	}
	due, _ = app.Store.NextDue(ctx) // zero then, and nothing is said of it
	return due
}

// lastFailure is what went wrong last, if the newest run that ended went wrong.
func lastFailure(ctx context.Context, app *daemon.App, source string, of ingest.Operation) string {
	runs, err := app.Store.Runs(ctx, view.Filter{Source: source, Limit: recentRuns})
	if err != nil {
		return ""
	}
	for _, r := range runs {
		if r.Operation != string(of) || r.FinishedAt.IsZero() {
			continue
		}
		if r.Error == "" || r.ErrorCode == leaseExpired {
			return ""
		}
		return fmt.Sprintf("run %d ended with %s; ", r.ID, short(failure(r.ErrorCode, r.Error), 200))
	}
	return ""
}

// heldPlanning is the condition for which nothing is planned. Tasks that were given
// up are not tried again before it ends.
func heldPlanning(ctx context.Context, app *daemon.App, source string, of ingest.Operation) string {
	conditions, err := app.Store.Conditions(ctx)
	if err != nil {
		return ""
	}
	for _, c := range conditions {
		rule, known := health.RuleOf(c.Condition)
		if known && c.Source == source && (c.Operation == "" || c.Operation == string(of)) && rule.Does(health.PausePlanning, max(c.Level, 1)) {
			text := "nothing is planned: " + string(c.Condition)
			if words := conditionWords(c.Condition); words != "" {
				text += ", " + words
			}
			if !c.Until.IsZero() {
				text += ", until " + minuteText(c.Until)
			}
			return text
		}
	}
	return ""
}
