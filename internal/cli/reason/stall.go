package reason

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

// StallAfter is how long nothing may move before a bar says why.
const StallAfter = 10 * time.Second

// StallHint tells whoever watches a bar that stands still why it does: a run repeats a
// request for half a minute before it fails, and a breaker waits for minutes.
type StallHint struct {
	why func() string // what is known now
	say func(format string, args ...any)

	mark  string // how far it had come
	since time.Time
	told  map[string]bool
}

func NewStallHint(why func() string, say func(format string, args ...any)) *StallHint {
	return &StallHint{why: why, say: say, told: map[string]bool{}}
}

// Look is told again and again how far the work has come. Each reason is said once.
func (s *StallHint) Look(now time.Time, mark string) {
	if mark != s.mark || s.since.IsZero() {
		s.mark, s.since = mark, now
		return
	}
	if now.Sub(s.since) < StallAfter {
		return
	}
	s.since = now
	text := s.why()
	if reason := withoutNumbers(text); text != "" && !s.told[reason] {
		s.told[reason] = true
		s.say("%s", term.Printable(text))
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

// StandstillOf says why the work on a partition does not go on; nothing where that
// cannot be found out.
func StandstillOf(ctx context.Context, app *daemon.App, of ingest.Partition) string {
	s, err := app.Inspect.Standstill(ctx, of)
	if err != nil {
		return ""
	}
	failed := lastTrouble(s)
	switch s.Reason {
	case view.StandsAtGate:
		text := fmt.Sprintf("%sno task is taken: %s; it continues automatically; Ctrl-C is safe", failed, wording.TaskWaitText(*s.Task.Waits))
		if w := s.Task.Waits; w.Reason == gate.Quota && w.RateKey != "" {
			text += "; sooner: " + wording.QuotaWayOut(w.RateKey)
		}
		return text
	case view.StandsForRetry:
		return fmt.Sprintf("%stask %d is tried again from %s on; Ctrl-C is safe", failed, s.Task.ID, wording.SecondText(s.Task.ScheduledAt))
	case view.StandsHeld:
		return fmt.Sprintf("%s%s; it continues automatically; Ctrl-C is safe: patra status %s", failed, noPlanText(*s.Condition), of.Source)
	case view.StandsRepeating:
		return failed + "it is tried again; Ctrl-C is safe"
	case view.StandsNotDue:
		return fmt.Sprintf("no task is due before %s; it continues automatically; Ctrl-C is safe", wording.SecondText(s.Due))
	}
	return fmt.Sprintf("no page for %s: the upstream answers slowly, or requests wait for the rate limit or are being retried; `patra source test %s` sends one request and shows the answer", StallAfter, of.Source)
}

// lastTrouble says what went wrong last.
func lastTrouble(s view.Standstill) string {
	switch {
	case s.Tries > 0:
		return fmt.Sprintf("no page for %s: %s failed, the last with %s; ", StallAfter, TriesText(s.Tries), wording.Shorten(s.LastTry, 300))
	case s.FailedRun != nil:
		return fmt.Sprintf("run %d ended with %s; ", s.FailedRun.ID, wording.Shorten(wording.FailureText(s.FailedRun.ErrorCode, s.FailedRun.Error), 200))
	}
	return ""
}

func TriesText(n int) string {
	if n == 1 {
		return "1 try"
	}
	return fmt.Sprintf("%d tries", n)
}

// noPlanText says for which condition nothing is planned.
func noPlanText(c view.Condition) string {
	text := "nothing is planned: " + string(c.Condition)
	if words := wording.ConditionWords(c.Condition); words != "" {
		text += ", " + words
	}
	if !c.Until.IsZero() {
		text += ", until " + wording.MinuteText(c.Until)
	}
	if c.Waits == gate.Quota {
		text += "; sooner: " + wording.QuotaWayOut(c.RateKey)
	}
	return text
}
