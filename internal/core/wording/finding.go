package wording

import (
	"fmt"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/skew"
	"github.com/patra-ingest/patra/internal/core/view"
)

// FindingAbout names what a finding is about.
func FindingAbout(f view.Finding) string {
	switch f.Code {
	case view.FoundNoWorker, view.FoundQueue:
		return "queue"
	case view.FoundClockOff:
		return "clock"
	case view.FoundQuotaLow:
		return "rate key " + f.Subject.RateKey
	case view.FoundGone:
		return fmt.Sprintf("process %d on %s", f.Gone.PID, f.Gone.Host)
	case view.FoundUndelivered:
		return "alerts"
	case view.FoundDamaged, view.FoundNeverChecked, view.FoundCheckTooOld, view.FoundStoreSlow, view.FoundUnreachable:
		return "database"
	case view.FoundDiskLow:
		return "disk of " + f.Disk.Path
	case view.FoundRawFull:
		return "raw bodies"
	case view.FoundPaused:
		return f.Pause.Scope.String()
	case view.FoundDisagree, view.FoundShortLists, view.FoundUnsorted, view.FoundUnannounced, view.FoundVanished, view.FoundMember:
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

// FindingLine is all that is told of a finding: its sentence, what follows from it, the
// command to type where the sentence does not have it, and whether it heals.
func FindingLine(f view.Finding, now time.Time) string {
	text := FindingFacts(f, now)
	if f.Next != "" && !strings.Contains(text, f.Next) {
		text += "; next: `" + f.Next + "`"
	}
	if f.Heals {
		text += " (heals automatically)"
	}
	return text
}

// FindingFacts is what a finding means and what follows from it, without what to do about it
// where that stands beside it.
func FindingFacts(f view.Finding, now time.Time) string {
	text := FindingText(f, now)
	if f.Late != nil && f.Code != view.FoundBehind && f.Code != view.FoundStalled {
		text += fmt.Sprintf("; so the watermark is %s behind", lagText(f.Late))
	}
	return text
}

// FindingText says what a finding means and what to type next. Every code has its
// sentence here and nowhere else.
func FindingText(f view.Finding, now time.Time) string {
	source := f.Subject.Source
	switch f.Code {
	case view.FoundUncomputable:
		return "cannot be computed, so its gaps are unknown: " + f.Error
	case view.FoundUnreadable:
		return "cannot be read, so its gaps are unknown: " + f.Error
	case view.FoundUnplannable:
		return "cannot be planned: " + f.Error
	case view.FoundGap:
		text := fmt.Sprintf("gap %s: %s", WindowText(f.Gap.Window), GapReason(*f.Gap)) + failureText(f.Task)
		if f.Condition != nil {
			text += "; " + ConditionText(*f.Condition)
		}
		return text + rejectedText(f)
	case view.FoundRanges:
		return fmt.Sprintf("%s failed and still owed by cursor %d, such as %s; %s", Count(f.Count, "range"), f.Subject.CursorID, WindowText(f.Windows[0]), rangesNext(f.Subject)) + rejectedText(f)
	case view.FoundBehind:
		return fmt.Sprintf("the watermark stands at %s, %s behind, more than %s (alerts.maxLag)", MinuteText(f.Late.FreshTo), lagText(f.Late), DurationText(f.Limit.Std()))
	case view.FoundAhead:
		return aheadText(f)
	case view.FoundOverdue:
		return fmt.Sprintf("no schedule starts its harvests; they were started at least every %s, and not since %s: look at what starts them (cron, a job), or declare alerts.maxLag", DurationText(f.Limit.Std()), MinuteText(f.Since))
	case view.FoundStalled:
		return fmt.Sprintf("the watermark stands at %s and has not moved since %s, though the schedule fired", MinuteText(f.Late.FreshTo), MinuteText(f.Since))
	case view.FoundRefused:
		return fmt.Sprintf("the schedule of %s led to no plan at its newest tick, %s: %s", f.Subject.Operation, MinuteText(f.Since), Shorten(f.Error, 300))
	case view.FoundSilent:
		return fmt.Sprintf("the schedule of %s does not fire: a tick was due at %s, and no process followed it; `patra serve` does", f.Subject.Operation, MinuteText(f.Since))
	case view.FoundNoWorker:
		return fmt.Sprintf("waiting: %s, but no patra process is running: start `patra serve`", Count(f.Count, "task"))
	case view.FoundGone:
		return goneText(*f.Gone)
	case view.FoundPlanIdle:
		return fmt.Sprintf("plan %d is ready since %s, and none of its tasks was taken", f.PlanID, MinuteText(f.Since))
	case view.FoundPlanHeld:
		return HeldPlanText(*f.Held) + fmt.Sprintf("; %s owed until then", CountAre(f.Count, "slice"))
	case view.FoundQueue:
		return queueText(f)
	case view.FoundClockOff:
		side := "ahead of"
		if f.Apart < 0 {
			side = "behind"
		}
		return fmt.Sprintf("this machine's clock is %s %s the database's: set the wrong one right, and let it follow a time server", DurationText(f.Apart.Std().Abs()), side)
	case view.FoundStartedOver:
		return StartedOverText(*f.Restarted)
	case view.FoundCampaignStuck:
		return "does not go on: " + f.Note
	case view.FoundCampaignIdle:
		return fmt.Sprintf("is not complete, and no patra process is running: continue with `patra backfill %s --name %s`", source, f.Subject.Campaign)
	case view.FoundQuarantined:
		text := fmt.Sprintf("%s in quarantine, in %s", Count(f.Count, "item"), Count(f.Groups, "group"))
		if f.Grows > 0 {
			text += fmt.Sprintf(", %d or more of them in the last hour: the source may have changed its format", f.Grows)
		}
		return text + ": patra quarantine groups " + source
	case view.FoundPaused:
		left := ""
		if f.Count > 0 {
			left = fmt.Sprintf("; %s missing until then", CountAre(f.Count, "range"))
		}
		return fmt.Sprintf("paused since %s%s by %s: %s. To go on: `%s`%s", MinuteText(f.Pause.Since), f.Pause.UntilText(), f.Pause.Actor, strings.TrimRight(f.Pause.Reason, ". "), f.Pause.Resuming(), left+rejectedText(f))
	case view.FoundCondition:
		return ConditionText(*f.Condition)
	case view.FoundErrors, view.FoundThrottled, view.FoundQuotaLow:
		return shareText(f)
	case view.FoundDiskLow, view.FoundRawFull, view.FoundStoreSlow, view.FoundUnreachable:
		return roomText(f)
	case view.FoundDisagree, view.FoundShortLists, view.FoundUnsorted, view.FoundUnannounced, view.FoundVanished, view.FoundMember:
		return doubtText(f)
	case view.FoundShortfall:
		return shortfallText(f)
	case view.FoundThin:
		return thinText(f)
	case view.FoundDeadEvents, view.FoundReceiverAway, view.FoundUnrelayed, view.FoundEventsBehind:
		return eventsFinding(f, now)
	case view.FoundDamaged, view.FoundNeverChecked, view.FoundCheckTooOld:
		return checkText(f)
	case view.FoundCursor:
		return fmt.Sprintf("the watermark of cursor %d stands at %s, but its newest event, %d, says %s: something other than patra changed it, or the database was restored in part; `patra cursor verify %d` tells more, and with --repair it sets the watermark to what its events say",
			f.Differs.CursorID, OrDash(f.Differs.Value), f.Differs.EventID, OrDash(f.Differs.Ledger), f.Differs.CursorID)
	case view.FoundUntrusted:
		return f.Untrusted.Brief()
	case view.FoundUndelivered:
		return undeliveredText(*f.Undelivered)
	}
	return string(f.Code)
}

func lagText(l *view.Late) string {
	return DurationText(time.Duration(l.LagSec * float64(time.Second)))
}

// aheadText says that a clock was ahead or is behind, and what that hides.
func aheadText(f view.Finding) string {
	return fmt.Sprintf("the watermark of cursor %d stands at %s and was planned or read as of %s, which is %s ahead of the database's clock: harvests are refused until then, and what changes until then would never be read. "+
		"If that clock is wrong now, set it right: nothing is lost. If it was ahead, `%s` has everything read again from where that began; give an earlier --to if the clock was wrong before that",
		f.Subject.CursorID, MinuteText(f.Ahead.Watermark), MinuteText(f.Ahead.AsOf), DurationText(time.Duration(f.Ahead.AheadSec*float64(time.Second))), f.Next)
}

// goneText says which process ended without shutting down, and what waits because of that.
func goneText(g view.Gone) string {
	text := fmt.Sprintf("ended without shutting down (killed, out of memory, or its machine is down): last heard of %s, as %s", MinuteText(g.HeardAt), g.Roles)
	if len(g.Missing) == 0 {
		return text + "; other processes do its work"
	}
	text += fmt.Sprintf("; no process is %s now", strings.Join(g.Missing, " or "))
	if g.Tasks > 0 {
		text += fmt.Sprintf(", and %s", Count(g.Tasks, "task")) + " waiting"
	}
	if len(g.Sources) > 0 {
		text += "; work has stopped for " + Shorten(strings.Join(g.Sources, ", "), 120)
	}
	return text
}

// queueText says how far the queue is from what it usually is, and where to look.
func queueText(f view.Finding) string {
	text := fmt.Sprintf("since %s far more tasks are waiting than usual: %d now, %d on average; this is a finding above %d", MinuteText(f.Since), f.Count, f.Queue.Usual, f.Queue.Most)
	if f.Queue.Source != "" {
		text += fmt.Sprintf("; %d of %s", f.Queue.OfSource, f.Queue.Source)
	}
	return text + ": an upstream has become slow, too few processes execute, or more was planned"
}

// roomText says what is wrong with the place where things are stored.
func roomText(f view.Finding) string {
	switch f.Code {
	case view.FoundDiskLow:
		return fmt.Sprintf("%s of %s are free, and %s there: when it is full, nothing can be stored. Make room; what is committed stays, and work continues automatically",
			sizeText(f.Disk.Free), sizeText(f.Disk.Total), strings.Join(f.Disk.Holds, ", ")+" lie") + bodiesText(f.Raw)
	case view.FoundRawFull:
		return fmt.Sprintf("they take %s of %s in %s: the oldest are removed before their time; `--raw-max` allows more, `--raw-keep` keeps them for less", sizeText(uint64(f.Raw.Bytes)), sizeText(uint64(f.Raw.Limit)), f.Raw.Dir)
	case view.FoundStoreSlow:
		return fmt.Sprintf("it takes %s for the simplest answer, more than %s: its server or disk is overloaded", DurationText(f.Took.Std()), DurationText(f.Limit.Std()))
	}
	return "it cannot be reached, so nothing is stored and findings are unknown: " + Shorten(f.Error, 300)
}

// bodiesText says that bodies of answers near their bound lie on a disk that is nearly full.
func bodiesText(raw *view.RawRoom) string {
	if raw == nil {
		return ""
	}
	return fmt.Sprintf("; raw bodies take %s of it, `--raw-max` allows them less", sizeText(uint64(raw.Bytes)))
}

// DiskFullText says that the disk of the database is full, and how to make room on it. nil:
// the disk is not of this machine.
func DiskFullText(d *view.Disk) string {
	where := ""
	if d != nil {
		where = fmt.Sprintf(" (%s: %s of %s are free)", d.Path, sizeText(d.Free), sizeText(d.Total))
	}
	return "its disk is full" + where + ": make room there by moving other files away, or start `patra serve` with a smaller `--raw-max`, which removes the oldest bodies of answers." +
		" Nothing is harvested until then; what is stored stays, and work goes on automatically when there is room"
}

// SizeText writes the size of a file as people say it.
func SizeText(bytes int64) string { return sizeText(uint64(max(bytes, 0))) }

// sizeText writes a number of bytes as people say it.
func sizeText(bytes uint64) string {
	for _, unit := range []struct {
		size uint64
		name string
	}{{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}} {
		if bytes >= unit.size {
			return fmt.Sprintf("%.3g %s", float64(bytes)/float64(unit.size), unit.name)
		}
	}
	return fmt.Sprintf("%d bytes", bytes)
}

// shareText says of what there is too much, or too little left.
func shareText(f view.Finding) string {
	if q := f.Quota; q != nil {
		whose := "the quota of the " + q.Name
		switch q.Name {
		case view.Announcing:
			whose = "the quota that the upstream announces"
		case "money":
			whose = "the budget of the day"
		}
		return fmt.Sprintf("%.0f%% of %s are left, %.0f of %.0f; a new one begins %s", 100*q.Left/q.Usable, whose, q.Left, q.Usable, MinuteText(q.Reset))
	}
	what := "met errors (L1, L2)"
	if f.Code == view.FoundThrottled {
		what = "were told to slow down (429)"
	}
	text := fmt.Sprintf("since %s too many batches of %s %s: in the worst five minutes %.0f%% of %d, more than %.3g%%", MinuteText(f.Since), f.Subject.Operation, what, 100*f.Share, f.Work.Asked(), 100*f.MaxShare)
	if f.Condition != nil {
		text += "; " + ConditionText(*f.Condition)
	}
	return text
}

// failureText says which task left a gap; nothing if that is not known.
func failureText(t *view.Task) string {
	if t == nil {
		return ""
	}
	return fmt.Sprintf("; last failure: task %d, %s; `patra task show %d` tells more", t.ID, Shorten(FailureText(t.ErrorCode, t.Error), 120), t.ID)
}

// rejectedText says how many items of failed ranges are in quarantine.
func rejectedText(f view.Finding) string {
	if f.Rejected == 0 {
		return ""
	}
	return fmt.Sprintf("; %s in quarantine because of it: `patra quarantine groups %s`", CountAre(f.Rejected, "item"), f.Subject.Source)
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
	switch f.Code {
	case view.FoundVanished:
		return d.Held
	case view.FoundMember:
		return memberText(d)
	case view.FoundUnannounced:
		return fmt.Sprintf("%s in the last %d days came below stored records that had not changed, from time that counted as read: the upstream does not keep the promise that a record changes "+
			"with what lies below it, or it changes some so often that they are never seen at rest. More may be missing for as long as a sweep takes; a backfill asks for all. "+
			"Drop `changed: true` from the partitions of %s, or shorten sweep", Count(int(d.Swept), "record"), view.DoubtDays, d.Source+"/"+d.Endpoint)
	case view.FoundUnsorted:
		return fmt.Sprintf("%s in the last %d days of a list that is not sorted as its file says (window.order), so all of it was read instead of its new end; nothing is missing. "+
			"`patra run show` of such a run says which item; look at response.filtered with `patra source test %s`, and drop window.order if the upstream keeps no order",
			Count(int(d.Unsorted), "reading"), view.DoubtDays, d.Source)
	}
	return fmt.Sprintf("%d of %d lists read in the last %d days ended with fewer items than the source estimated: %d of %d. "+
		"An estimate may be wrong; `patra coverage reconcile %s` counts again",
		d.ShortLists, d.Lists, view.DoubtDays, d.Delivered, d.Announced, d.Source)
}

// memberText says which members of a pool are refused, and what ends it.
func memberText(d *view.Doubt) string {
	var out []string
	for _, name := range d.RefusedMembers() {
		m := d.Members[name]
		out = append(out, fmt.Sprintf("%s at %s (%s)", name, MinuteText(m.RefusedAt), m.Why))
	}
	return fmt.Sprintf("the upstream refused these credentials of its pool: %s. The others are used instead. Put a secret there that works, or drop the credential from the pool; the next run notices that, and `patra source test %s` tries it now",
		strings.Join(out, " and "), d.Source)
}

// shortfallText says where an upstream has more than was read.
func shortfallText(f view.Finding) string {
	first := f.Short[0]
	text := fmt.Sprintf("the upstream counted %s that were not read: in %s it has %d, and %d were read", Count(f.Count, "item"), WindowText(first.Window), *first.Upstream, *first.Read)
	if n := len(f.Short) - 1; n > 0 {
		text += fmt.Sprintf(", and so %s", Count(n, "more window"))
	}
	if first.ReadAgain {
		return text + fmt.Sprintf("; they were read again since the comparison of %s, and items were still missing: `%s` compares again", MinuteText(first.CheckedAt), f.Next)
	}
	return text + fmt.Sprintf(" (compared %s); `%s` reads them again, and that ends this finding", MinuteText(first.CheckedAt), f.Next)
}

// thinText says which days hold too little, and how to find out whether that is true.
func thinText(f view.Finding) string {
	worst := f.Thin[0]
	for _, d := range f.Thin {
		if d.Items*worst.Usual < worst.Items*d.Usual {
			worst = d
		}
	}
	days := "the day"
	if len(f.Thin) > 1 {
		days = fmt.Sprintf("%d days hold far fewer items than usual, such as", len(f.Thin))
	}
	text := fmt.Sprintf("%s %s: %s, where the same weekday usually has %d", days, worst.Window.From.UTC().Format(time.DateOnly), Count(int(worst.Items), "item"), worst.Usual)
	return text + fmt.Sprintf("; the upstream may have answered with a part. `%s` asks it how many there are", f.Next)
}

// eventsFinding says what is wrong with the events of a dataset.
func eventsFinding(f view.Finding, now time.Time) string {
	b := *f.Backlog
	switch f.Code {
	case view.FoundDeadEvents:
		return fmt.Sprintf("%s dead, refused by their receiver: `patra outbox list --status DEAD --source %s` shows them, then retry or discard them", Count(b.Dead, "event"), b.Source)
	case view.FoundReceiverAway:
		a := f.Receiver
		return fmt.Sprintf("receiver %s is unreachable, last tried %s: %s; %s", a.Destination, MinuteText(a.TriedAt), Shorten(a.Error, 120), EventsHeldText(b, now))
	case view.FoundUnrelayed:
		return fmt.Sprintf("%s, longer than %s, and no process relays: `patra events publish` or `patra serve --roles relay` does", EventsWaitText(b, now), DurationText(f.Limit.Std()))
	}
	return fmt.Sprintf("%s, longer than %s: the relay does not keep up; `patra events deliveries --source %s` tells more", EventsWaitText(b, now), DurationText(f.Limit.Std()), b.Source)
}

// undeliveredText says that people do not hear of alerts.
func undeliveredText(u view.Undelivered) string {
	given := ""
	if u.GivenUp > 0 {
		given = fmt.Sprintf(", %d of them given up", u.GivenUp)
	}
	return fmt.Sprintf("%s did not reach the receiver %s, the oldest of %s%s: %s; `patra alert test %s` tries it, and if that succeeds they are sent",
		Count(u.Messages, "message"), u.Receiver, MinuteText(u.Since), given, Shorten(u.Error, 120), u.Receiver)
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
