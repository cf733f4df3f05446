package webui

import (
	"fmt"
	"html/template"

	"github.com/patra-ingest/patra/internal/core/export"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/wording"
)

// workFunctions are what templates of the pages on work may call beside the common ones.
var workFunctions = template.FuncMap{"status": statusChip, "planStatus": planChip, "local": local, "percent": percentText, "millis": millisText, "asked": requestText, "answered": answerText, "size": wording.SizeText}

// saidStatus is how a state is said: the word of its chip and the class of that.
type saidStatus struct{ word, chip string }

// The states by what has them. What has ended is never called well when a part of it failed.
var saidStatuses = map[string]map[string]saidStatus{
	"plan": {
		string(ingest.PlanDraft): {"is being made", "wait"}, string(ingest.PlanSlicing): {"is being cut", "run"}, string(ingest.PlanReady): {"open", "run"},
		string(ingest.PlanPartial): {"cut in part", "part"}, string(ingest.PlanFailed): {"failed", "fail"}, string(ingest.PlanCancelled): {"stopped", "stop"},
		string(ingest.PlanCompleted): {"ended well", "ok"},
	},
	"export": {
		string(export.JobQueued): {"waits", "wait"}, string(export.JobRunning): {"at work", "run"}, string(export.JobSucceeded): {"done", "ok"},
		string(export.JobFailed): {"failed", "fail"}, string(export.JobCancelled): {"cancelled", "stop"},
	},
	"slice": {
		string(ingest.SlicePending): {"waits", "wait"}, string(ingest.SliceReady): {"waits", "wait"}, string(ingest.SliceSucceeded): {"read", "ok"},
		string(ingest.SliceFailed): {"failed", "fail"}, string(ingest.SlicePartial): {"read in part", "part"}, string(ingest.SliceCancelled): {"stopped", "stop"},
	},
	"task": {
		string(ingest.TaskScheduled): {"is tried later", "heal"}, string(ingest.TaskQueued): {"waits", "wait"}, string(ingest.TaskDispatched): {"at work", "run"},
		string(ingest.TaskExecuting): {"at work", "run"}, string(ingest.TaskSucceeded): {"done", "ok"}, string(ingest.TaskFailed): {"given up", "fail"},
		string(ingest.TaskPartial): {"done in part", "part"}, string(ingest.TaskCancelled): {"stopped", "stop"},
	},
	"run": {
		string(ingest.RunPlanned): {"waits", "wait"}, string(ingest.RunRunning): {"at work", "run"}, string(ingest.RunSucceeded): {"read", "ok"},
		string(ingest.RunFailed): {"failed", "fail"}, string(ingest.RunPartial): {"read in part", "part"}, string(ingest.RunCancelled): {"put back", "off"},
	},
	"batch": {
		string(ingest.BatchRunning): {"at work", "run"}, string(ingest.BatchSucceeded): {"stored", "ok"}, string(ingest.BatchFailed): {"failed", "fail"},
		string(ingest.BatchSkipped): {"skipped", "off"},
	},
	"reject": {
		string(ingest.RejectOpen): {"open", "warn"}, string(ingest.RejectRequeued): {"is read again", "heal"}, string(ingest.RejectResolved): {"stored since", "ok"},
		string(ingest.RejectDiscarded): {"discarded", "off"},
	},
}

// statusChip says a state in a word, with its code as a tip. A state of a newer version is
// shown as it is.
func statusChip(of, status string) template.HTML {
	said, known := saidStatuses[of][status]
	if !known {
		said = saidStatus{status, "off"}
	}
	return template.HTML(fmt.Sprintf(`<span class="chip %s" title="%s">%s</span>`, said.chip, template.HTMLEscapeString(status), template.HTMLEscapeString(said.word)))
}

// percentText writes a share with one decimal, rounded down as shares are.
func percentText(share float64) string { return shareText(int64(share*1e6), 1e6) }

// planChip says the state of a plan by its slices. One that ended is not called well if slices
// failed or were stopped: their time is not read.
func planChip(status string, slices map[string]int) template.HTML {
	failed, stopped := slices[string(ingest.SliceFailed)], slices[string(ingest.SliceCancelled)]
	if status != string(ingest.PlanCompleted) || failed+stopped == 0 {
		return statusChip("plan", status)
	}
	return template.HTML(fmt.Sprintf(`<span class="chip part" title="%s">ended%s</span>`, status, unreadText(failed, stopped)))
}

// unreadText adds how many slices of a plan were not read, and why.
func unreadText(failed, stopped int) (text string) {
	if failed > 0 {
		text = ", " + groupDigits(failed) + " failed"
	}
	if stopped > 0 {
		text += ", " + groupDigits(stopped) + " stopped"
	}
	return text
}
