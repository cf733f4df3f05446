package wording

import (
	"fmt"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

// TaskNext says what happens to a task now, and what a person can do.
func TaskNext(t view.Task) string {
	switch status := ingest.TaskStatus(t.Status); {
	case t.Stopping && !status.Terminal():
		return "it is being stopped: its worker ends it after the page it reads"
	case t.Waits != nil:
		return waitNext(t)
	case status == ingest.TaskQueued:
		return "it waits for a free worker: `patra serve`, or the next harvest"
	case status == ingest.TaskScheduled:
		return "it is tried again from " + SecondText(t.ScheduledAt) + " on"
	case status.Leased():
		return "it is worked on by " + t.LeaseOwner
	case status == ingest.TaskFailed && t.ErrorCode == string(fault.Capped) && !t.Window.Empty():
		return "it failed and is not tried again; its window is still owed: " + CappedNext(t.Window, t.Source)
	case status == ingest.TaskFailed, status == ingest.TaskCancelled:
		return endedNext(t)
	case status == ingest.TaskPartial:
		return fmt.Sprintf("what it did not read is cut smaller or planned again: patra slice list --plan %d", t.PlanID)
	}
	return "nothing: its window is read"
}

// endedNext says who reads the window of a task that was given up or stopped.
func endedNext(t view.Task) string {
	text := "it failed and is not tried again"
	if t.Status == string(ingest.TaskCancelled) {
		text = "it was stopped"
	}
	text += "; its window is still owed. "
	switch ingest.Operation(t.Operation) {
	case ingest.Harvest:
		text += fmt.Sprintf("A later harvest plans it again, `patra coverage gaps %s` tells when; now: patra harvest %s --retry", t.Source, t.Source)
	case ingest.Backfill:
		text += "Its campaign plans it again: patra backfill list"
	default:
		text += "A later update takes it again"
	}
	return text + fmt.Sprintf(". With the settings it was planned with: patra task retry %d", t.ID)
}

// FaultClassText says how far a fault reaches and what that means (§12.1).
func FaultClassText(code string) string {
	if code == ingest.LeaseExpired {
		return "the worker disappeared; no failure is counted"
	}
	switch level := fault.New(fault.Code(code), nil).Level; {
	case code == string(fault.Interrupted):
		return "stopped by an operator, no failure"
	case code == string(fault.RateLimited):
		return string(level) + ": it has to wait, no failure; the error says whether the upstream asked for it or a limit of our own"
	case level == fault.Transient:
		return string(level) + ": it is temporary, worth another try"
	case level == fault.Fatal:
		return string(level) + ": the source cannot be used until a person acts"
	default:
		return string(level) + ": repeating will not help"
	}
}

// CappedNext is the way out of a window that no try can read.
func CappedNext(w window.Window, source string) string {
	return fmt.Sprintf("%s holds more than the upstream serves (CAPPED) and no retry helps: let the source file cut finer (slicing.minStep, filter.precision), "+
		"or accept it with `patra coverage waive %s --from %s --to %s --reason …`", WindowText(w), source, DateOrSecond(w.From), DateOrSecond(w.To))
}
