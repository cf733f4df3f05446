package cli

import (
	"fmt"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
)

// taskNext says what happens to a task now, and what a person can do.
func taskNext(t view.Task) string {
	switch status := ingest.TaskStatus(t.Status); {
	case t.Stopping && !status.Terminal():
		return "it is being stopped: its worker ends it after the page it reads"
	case t.Waits != nil:
		return waitNext(t)
	case status == ingest.TaskQueued:
		return "it waits for a free worker: `patra serve`, or the next harvest"
	case status == ingest.TaskScheduled:
		return "it is tried again from " + when(t.ScheduledAt) + " on"
	case status.Leased():
		return "it is worked on by " + t.LeaseOwner
	case status == ingest.TaskFailed && t.ErrorCode == string(fault.Capped) && !t.Window.Empty():
		return "given up; its window stays owed: " + cappedNext(t.Window, t.Source)
	case status == ingest.TaskFailed, status == ingest.TaskCancelled:
		return endedNext(t)
	case status == ingest.TaskPartial:
		return fmt.Sprintf("what it did not read is cut smaller or planned again: patra slice list --plan %d", t.PlanID)
	}
	return "nothing: its window is read"
}

// endedNext says who reads the window of a task that was given up or stopped.
func endedNext(t view.Task) string {
	text := "given up"
	if t.Status == string(ingest.TaskCancelled) {
		text = "stopped"
	}
	text += "; its window stays owed. "
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

// class says how far a fault reaches and what that means (§12.1).
func class(code string) string {
	if code == ingest.LeaseExpired {
		return "the worker disappeared; no failure is counted"
	}
	switch level := fault.New(fault.Code(code), nil).Level; {
	case code == string(fault.Interrupted):
		return "stopped by somebody, no failure"
	case code == string(fault.RateLimited):
		return string(level) + ": it has to wait, no failure; the error says whether the upstream asked for it or a limit of our own"
	case level == fault.Transient:
		return string(level) + ": it passes, worth another try"
	case level == fault.Fatal:
		return string(level) + ": the source cannot be used until a person acts"
	default:
		return string(level) + ": repeating will not help"
	}
}
