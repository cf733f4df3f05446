package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/health"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/threshold"
)

// Complete sets what follows from the code and the facts of a finding: its severity, the
// command to type, and whether it heals. What only the finder knows stays: a finding that
// was said to heal does.
func (f Finding) Complete(by threshold.Limits, now time.Time) Finding {
	f.Severity = f.Code.Severity()
	f.Heals = f.Heals || f.Code == FoundCondition && f.Condition.heals(by, now)
	f.Severity = f.raisedSeverity()
	if f.Next == "" {
		f.Next = f.nextCommand()
	}
	return f
}

// raisedSeverity returns how much a finding matters by its facts: a source that stopped itself
// (L4) and a quarantine that grows lose items now, and a condition that does not end calls a
// person.
func (f Finding) raisedSeverity() Severity {
	switch {
	case f.Code == FoundPaused && f.Pause.Actor == ingest.ByItself, f.Code == FoundQuarantined && f.Grows > 0:
		return Critical
	case f.Code == FoundCondition && !f.Heals:
		return Warning
	}
	return f.Code.Severity()
}

// heals reports whether a condition ends without a person: a wait at its time, what is
// measured when the upstream is well again. What lasts has a cause that may never pass,
// such as a moved address.
func (c *Condition) heals(by threshold.Limits, now time.Time) bool {
	rule, known := health.RuleOf(c.Condition)
	switch {
	case known && rule.Does(health.StopSource, max(c.Level, 1)):
		return false
	case c.Condition == health.Late: // found by the lookback; the lag follows
		return true
	case c.Condition == health.Down:
		return c.Level < by.CircuitOpens && now.Sub(c.Until) < by.ConditionLasts
	case c.Condition == health.Held, c.Since.IsZero():
		return c.Until.After(now)
	}
	return known && now.Sub(c.Since) < by.ConditionLasts
}

// nextCommand returns what to type. It depends on nothing but the facts, so that all who
// tell of a finding name the same command.
func (f Finding) nextCommand() string {
	source := f.Subject.Source
	switch f.Code {
	case FoundUncomputable, FoundDamaged, FoundNeverChecked, FoundCheckTooOld:
		return "patra db check"
	case FoundCursor:
		return fmt.Sprintf("patra cursor verify %d", f.Subject.CursorID)
	case FoundClockOff:
		return "timedatectl status"
	case FoundDiskLow:
		return "df -h " + f.Disk.Path
	case FoundRawFull:
		return "du -sh " + f.Raw.Dir
	case FoundStoreSlow, FoundUnreachable:
		return "patra status"
	case FoundUnreadable:
		return "patra source apply FILE"
	case FoundUnplannable:
		return "patra source explain " + source
	case FoundGap:
		return f.gapCommand()
	case FoundRanges:
		return f.rangesCommand()
	case FoundBehind, FoundOverdue:
		return f.harvestCommand()
	case FoundRefused:
		return fmt.Sprintf("patra plan %s --endpoint %s --op %s --dry-run", source, f.Subject.Endpoint, f.Subject.Operation)
	case FoundSilent:
		return "patra serve"
	case FoundAhead:
		return SetCursorCommand(f.Subject.CursorID, f.Ahead.ReadFrom)
	case FoundStalled:
		return "patra task list --source " + source
	case FoundNoWorker:
		return "patra serve"
	case FoundGone:
		return f.Gone.command()
	case FoundPlanIdle:
		return fmt.Sprintf("patra plan show %d", f.PlanID)
	case FoundPlanHeld:
		return f.Held.GoesOn()
	case FoundQueue:
		return f.Queue.command()
	case FoundStartedOver:
		return fmt.Sprintf("patra task show %d", f.Restarted.TaskID)
	case FoundCampaignStuck:
		return "patra backfill show " + f.Subject.Campaign
	case FoundCampaignIdle:
		return fmt.Sprintf("patra backfill %s --name %s", source, f.Subject.Campaign)
	case FoundQuarantined:
		return "patra quarantine groups " + source
	case FoundPaused:
		return f.Pause.Resuming()
	case FoundCondition:
		return f.Condition.command()
	case FoundErrors:
		return "patra run list --source " + source
	case FoundThrottled, FoundQuotaLow:
		return "patra rate list"
	case FoundDisagree, FoundUnsorted, FoundMember:
		return "patra source test " + source
	case FoundUnannounced:
		return "patra source export " + source
	case FoundVanished:
		return "patra coverage readings " + source + "/" + f.Subject.Endpoint
	case FoundShortLists:
		return "patra coverage reconcile " + source
	case FoundShortfall:
		return f.shortfallCommand()
	case FoundThin:
		return reconcileCommand(source, f.Thin[0].Window.From, f.Thin[len(f.Thin)-1].Window.To)
	case FoundUntrusted:
		return trustCommand(f)
	case FoundUndelivered:
		return "patra alert test " + f.Undelivered.Receiver
	}
	return f.eventsCommand()
}

func (f Finding) eventsCommand() string {
	switch f.Code {
	case FoundDeadEvents:
		return "patra outbox list --status DEAD --source " + f.Subject.Source
	case FoundReceiverAway:
		return "patra events test " + f.Receiver.Destination
	case FoundUnrelayed:
		return "patra events publish"
	case FoundEventsBehind:
		return "patra events deliveries --source " + f.Subject.Source
	}
	return ""
}

// command returns what lists the tasks that wait, those of the source that has most of them.
func (q *Queue) command() string {
	if q.Source == "" {
		return "patra task list --status QUEUED"
	}
	return "patra task list --status QUEUED --source " + q.Source
}

// command returns what does the work of a process that is gone: all of it where the usual
// process did.
func (g *Gone) command() string {
	if len(g.Missing) == 0 || len(ingest.LacksRoles(ingest.RoleExecutor+","+ingest.RolePlanner, g.Missing...)) == 0 {
		return "patra serve"
	}
	return "patra serve --roles " + strings.Join(g.Missing, ",")
}

// gapCommand returns what reads a gap, or accepts one that cannot be read.
func (f Finding) gapCommand() string {
	source := f.Subject.Source
	switch f.Gap.Reason {
	case GapCapped:
		return fmt.Sprintf("patra coverage waive %s --from %s --to %s --reason …", source, instantText(f.Gap.Window.From), instantText(f.Gap.Window.To))
	case GapRefused:
		return fmt.Sprintf("patra coverage waive %s/%s --partition %s --from %s --to %s --reason …", source, f.Subject.Endpoint, f.Gap.Partitions[0],
			instantText(f.Gap.Window.From), instantText(f.Gap.Window.To))
	case GapPaused:
		return fmt.Sprintf("patra source resume %s --reason …", source)
	case GapFailed:
		if fault.CodeIn(f.Error) == fault.ShrunkList { // reading it again shows the same, or heals automatically
			return fmt.Sprintf("patra coverage accept %s/%s --reason …", source, f.Subject.Endpoint)
		}
		return f.harvestCommand() + " --retry"
	case GapLeft, GapOtherQuestion, GapNeverAsked:
		return fmt.Sprintf("patra coverage fill %s --reason …", source)
	}
	return f.harvestCommand()
}

// SetCursorCommand returns what has everything from an instant on read again after a clock that
// was ahead.
func SetCursorCommand(id int64, to time.Time) string {
	return fmt.Sprintf("patra cursor set %d --to %s --reason clock-was-ahead --yes", id, instantText(to))
}

func (f Finding) harvestCommand() string {
	text := "patra harvest " + f.Subject.Source
	if f.Subject.Endpoint != "" {
		text += " --endpoint " + f.Subject.Endpoint
	}
	return text
}

func (f Finding) rangesCommand() string {
	if f.Subject.Campaign != "" {
		return "patra backfill show " + f.Subject.Campaign
	}
	return "patra coverage show " + f.Subject.Source
}

// command returns where the cause of a condition is to be seen, or what ends it.
func (c *Condition) command() string {
	switch {
	case c.Waits == gate.Quota:
		return fmt.Sprintf("patra rate release %s --reason …", c.RateKey)
	case c.Condition == health.Held, c.Condition == health.Throttled:
		return "patra rate list"
	case c.Condition == health.Down:
		return "patra source test " + c.Source
	case c.Condition == health.Overstocked:
		return "patra task list --source " + c.Source
	case c.Condition == health.Late:
		return "patra plan list --source " + c.Source
	}
	return "patra run list --source " + c.Source
}

// shortfallCommand returns what reads the first stretch of short windows again. A campaign of its
// own does: one that read the same range before would skip it. What was read again since the
// comparison is counted again first.
func (f Finding) shortfallCommand() string {
	first := f.Short[0]
	to := first.Window.To
	for _, c := range f.Short[1:] {
		if c.Window.From.Equal(to) && c.ReadAgain == first.ReadAgain {
			to = c.Window.To
		}
	}
	if first.ReadAgain {
		return reconcileCommand(f.Subject.Source, first.Window.From, to)
	}
	return fmt.Sprintf("patra backfill %s --endpoint %s --from %s --to %s --name recount-%s", f.Subject.Source, f.Subject.Endpoint, instantText(first.Window.From), instantText(to), first.CheckedAt.UTC().Format("20060102T150405"))
}

// reconcileCommand returns what asks a source how many items a range has.
func reconcileCommand(source string, from, to time.Time) string {
	return fmt.Sprintf("patra coverage reconcile %s --from %s --to %s", source, instantText(from), instantText(to))
}

func trustCommand(f Finding) string {
	if f.Untrusted.Command != "" {
		return f.Untrusted.Command
	}
	return "patra source trust " + f.Subject.Source
}

// instantText writes an instant as commands read it: a day where it is one.
func instantText(t time.Time) string {
	t = t.UTC()
	if t.Equal(t.Truncate(24 * time.Hour)) {
		return t.Format(time.DateOnly)
	}
	return t.Format(time.RFC3339)
}
