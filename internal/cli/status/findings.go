package status

import (
	"fmt"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/cli/reason"
	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/skew"
	"github.com/patra-ingest/patra/internal/core/view"
)

// shownGaps is how many gaps of an endpoint are told one by one, and how many slices
// that started over.
const shownGaps = 3

// findingLines puts findings into words. Of many alike only the first are told, and
// how many more there are.
func findingLines(all []view.Finding, now time.Time) []statusFinding {
	type alike struct {
		code view.FindingCode
		view.Subject
	}
	kind := func(f view.Finding) alike {
		if f.Code == view.FoundGap {
			return alike{f.Code, f.Subject}
		}
		return alike{code: f.Code}
	}
	total, told := map[alike]int{}, map[alike]int{}
	for _, f := range all {
		total[kind(f)]++
	}
	out := []statusFinding{}
	for _, f := range all {
		more := total[kind(f)] - shownGaps
		switch told[kind(f)]++; {
		case f.Code != view.FoundGap && f.Code != view.FoundStartedOver, told[kind(f)] <= shownGaps:
			out = append(out, newStatusFinding(f, now))
		case told[kind(f)] > shownGaps+1:
		case f.Code == view.FoundGap:
			line := newStatusFinding(f, now)
			line.Next = "patra coverage gaps " + f.Subject.Source
			line.Text = fmt.Sprintf("%s more; `%s` lists them", term.Count(more, "gap"), line.Next)
			out = append(out, line)
		default:
			line := newStatusFinding(f, now)
			line.Subject, line.Next = view.Subject{}, "patra task list"
			line.About, line.Text = "queue", term.Count(more, "slice")+" more that started over again and again: `patra task list` shows what is worked on"
			out = append(out, line)
		}
	}
	return out
}

// newStatusFinding puts a finding into words, with the command to type where the sentence
// does not have it.
func newStatusFinding(f view.Finding, now time.Time) statusFinding {
	text := findingText(f, now)
	if f.Late != nil && f.Code != view.FoundBehind && f.Code != view.FoundStalled {
		text += fmt.Sprintf("; so the watermark is %s behind", lagText(f.Late))
	}
	if f.Next != "" && !strings.Contains(text, f.Next) {
		text += "; next: `" + f.Next + "`"
	}
	if f.Heals {
		text += " (heals automatically)"
	}
	return statusFinding{
		About: findingAbout(f), Text: text, Code: f.Code, Severity: f.Severity, Subject: f.Subject, Since: f.Since, Until: f.Until, Heals: f.Heals, Next: f.Next,
	}
}

// findingAbout names what a finding is about.
func findingAbout(f view.Finding) string {
	switch f.Code {
	case view.FoundNoWorker:
		return "queue"
	case view.FoundClockOff:
		return "clock"
	case view.FoundDamaged, view.FoundNeverChecked, view.FoundCheckTooOld:
		return "database"
	case view.FoundPaused:
		return f.Pause.Scope.String()
	case view.FoundDisagree, view.FoundShortLists:
		return f.Doubt.About()
	}
	about := strings.TrimSuffix(f.Subject.Source+"/"+f.Subject.Endpoint, "/")
	switch {
	case f.Subject.Campaign != "":
		return "campaign " + f.Subject.Campaign
	case f.Code == view.FoundRanges:
		return about + " " + f.Subject.Operation
	}
	return about
}

// findingText says what a finding means and what to type next. Every code has its
// sentence here and nowhere else.
func findingText(f view.Finding, now time.Time) string {
	source := f.Subject.Source
	switch f.Code {
	case view.FoundUncomputable:
		return "cannot be computed, so its gaps are unknown: " + f.Error
	case view.FoundUnreadable:
		return "cannot be read, so its gaps are unknown: " + f.Error
	case view.FoundUnplannable:
		return "cannot be planned: " + f.Error
	case view.FoundGap:
		return fmt.Sprintf("gap %s: %s", term.WindowText(f.Gap.Window), reason.GapReason(*f.Gap)) + failureText(f.Task)
	case view.FoundRanges:
		return fmt.Sprintf("%s failed and still owed by cursor %d, such as %s; %s", term.Count(f.Count, "range"), f.Subject.CursorID, term.WindowText(f.Windows[0]), rangesNext(f.Subject))
	case view.FoundBehind:
		return fmt.Sprintf("the watermark stands at %s, %s behind, more than %s (alerts.maxLag)", term.MinuteText(f.Late.FreshTo), lagText(f.Late), term.DurationText(f.Limit.Std()))
	case view.FoundStalled:
		return fmt.Sprintf("the watermark stands at %s and has not moved since %s, though the schedule fired", term.MinuteText(f.Late.FreshTo), term.MinuteText(f.Since))
	case view.FoundRefused:
		return fmt.Sprintf("the schedule of %s led to no plan at its newest tick, %s: %s", f.Subject.Operation, term.MinuteText(f.Since), term.Shorten(f.Error, 300))
	case view.FoundSilent:
		return fmt.Sprintf("the schedule of %s does not fire: a tick was due at %s, and no process followed it; `patra serve` does", f.Subject.Operation, term.MinuteText(f.Since))
	case view.FoundNoWorker:
		return fmt.Sprintf("waiting: %s, but no patra process is running: start `patra serve`", term.Count(f.Count, "task"))
	case view.FoundClockOff:
		side := "ahead of"
		if f.Apart < 0 {
			side = "behind"
		}
		return fmt.Sprintf("this machine's clock is %s %s the database's: set the wrong one right, and let it follow a time server", term.DurationText(f.Apart.Std().Abs()), side)
	case view.FoundStartedOver:
		return reason.StartedOverText(*f.Restarted)
	case view.FoundCampaignStuck:
		return "does not go on: " + f.Note
	case view.FoundCampaignIdle:
		return fmt.Sprintf("is not complete, and no patra process is running: continue with `patra backfill %s --name %s`", source, f.Subject.Campaign)
	case view.FoundQuarantined:
		return fmt.Sprintf("%s in quarantine, in %s: patra quarantine groups %s", term.Count(f.Count, "item"), term.Count(f.Groups, "group"), source)
	case view.FoundPaused:
		return fmt.Sprintf("paused since %s%s by %s: %s. To go on: `%s`", term.MinuteText(f.Pause.Since), f.Pause.UntilText(), f.Pause.Actor, strings.TrimRight(f.Pause.Reason, ". "), f.Pause.Resuming())
	case view.FoundCondition:
		return reason.ConditionText(*f.Condition)
	case view.FoundDisagree, view.FoundShortLists:
		return doubtText(f)
	case view.FoundDeadEvents, view.FoundReceiverAway, view.FoundUnrelayed, view.FoundEventsBehind:
		return eventsFinding(f, now)
	case view.FoundDamaged, view.FoundNeverChecked, view.FoundCheckTooOld:
		return checkText(f)
	case view.FoundUntrusted:
		return f.Untrusted.Brief()
	}
	return string(f.Code)
}

func lagText(l *view.Late) string {
	return term.DurationText(time.Duration(l.LagSec * float64(time.Second)))
}

// failureText says which task left a gap; nothing if that is not known.
func failureText(t *view.Task) string {
	if t == nil {
		return ""
	}
	return fmt.Sprintf("; last failure: task %d, %s; `patra task show %d` tells more", t.ID, term.Shorten(term.FailureText(t.ErrorCode, t.Error), 120), t.ID)
}

func rangesNext(of view.Subject) string {
	if of.Campaign != "" {
		return fmt.Sprintf("`patra backfill show %s` tells more", of.Campaign)
	}
	return fmt.Sprintf("`patra coverage show %s` draws it; if it can never be read, `patra coverage waive --cursor %d --from … --to … --reason …` accepts that", of.Source, of.CursorID)
}

// doubtText says what the answers of a source tell about themselves.
func doubtText(f view.Finding) string {
	d := f.Doubt
	if f.Code == view.FoundDisagree {
		return fmt.Sprintf("the filter and the stamps disagree by %s: %d of %d items that came in the last %d days lie outside of what was asked for. "+
			"They are kept. Look at filter.zone, filter.precision, response.zone and response.filtered with `patra source test %s`; "+
			"if the source is like that, a higher filter.maxOutsideShare (now %g) accepts it",
			skew.About(d.Apart.Typical()), d.Outside, d.Dated, view.DoubtDays, d.Source, d.MaxShare)
	}
	return fmt.Sprintf("%d of %d lists read in the last %d days ended with fewer items than the source estimated: %d of %d. "+
		"An estimate may be wrong; `patra coverage reconcile %s` counts again",
		d.ShortLists, d.Lists, view.DoubtDays, d.Delivered, d.Announced, d.Source)
}

// eventsFinding says what is wrong with the events of a dataset.
func eventsFinding(f view.Finding, now time.Time) string {
	b := *f.Backlog
	switch f.Code {
	case view.FoundDeadEvents:
		return fmt.Sprintf("%s dead, refused by their receiver: `patra outbox list --status DEAD --source %s` shows them, then retry or discard them", term.Count(b.Dead, "event"), b.Source)
	case view.FoundReceiverAway:
		a := f.Receiver
		return fmt.Sprintf("receiver %s is away, last tried %s: %s; %s", a.Destination, term.MinuteText(a.TriedAt), term.Shorten(a.Error, 120), reason.EventsHeldText(b, now))
	case view.FoundUnrelayed:
		return fmt.Sprintf("%s, longer than %s, and no process relays: `patra events publish` or `patra serve --roles relay` does", reason.EventsWaitText(b, now), term.DurationText(f.Limit.Std()))
	}
	return fmt.Sprintf("%s, longer than %s: the relay does not keep up; `patra events deliveries --source %s` tells more", reason.EventsWaitText(b, now), term.DurationText(f.Limit.Std()), b.Source)
}

// checkText says that the database has to be checked, or is damaged.
func checkText(f view.Finding) string {
	at := f.Check.At.UTC().Format(time.DateOnly)
	switch f.Code {
	case view.FoundDamaged:
		return fmt.Sprintf("the check of %s found %d problems: `patra db check` lists them and what to do about each", at, f.Check.Found)
	case view.FoundNeverChecked:
		return fmt.Sprintf("it was never checked, and is older than %s: run `patra db check`", daysText(f.Limit.Std()))
	}
	return fmt.Sprintf("the last check was on %s, longer than %s ago: run `patra db check`", at, daysText(f.Limit.Std()))
}

// daysText writes a length of time in days where it is some whole ones.
func daysText(d time.Duration) string {
	if d%(24*time.Hour) == 0 && d >= 48*time.Hour {
		return fmt.Sprintf("%d days", d/(24*time.Hour))
	}
	return d.String()
}
