// Package worklog names the keys under which lines of the log tell what they are about,
// and makes the loggers of tasks and runs (§14.5). All lines of one plan, task or run
// are found by one key, whoever wrote them.
//
// It decides neither what is logged nor how it is written, and it masks nothing: the
// handler does.
package worklog

import (
	"fmt"
	"log/slog"

	"github.com/patra-ingest/patra/internal/core/ingest"
)

// Keys of what a line is about. Source, endpoint and operation are names, the others
// ids: `patra plan show` and its like take them.
const (
	Source    = "source"
	Endpoint  = "endpoint"
	Operation = "operation"
	Trigger   = "trigger"
	Plan      = "plan"
	Slice     = "slice"
	Task      = "task"
	Run       = "run"
	Batch     = "batch"
	// Correlation is what the upstream was sent as X-Ingest-Correlation-Id with the
	// request in hand, or with the last one (§14.2).
	Correlation = "correlationId"
)

// OfPartition returns what a line about a partition says of it.
func OfPartition(p ingest.Partition) []any {
	return []any{Source, p.Source, Endpoint, p.Endpoint, Operation, string(p.Operation)}
}

// OfTask returns the logger of a claimed task.
func OfTask(log *slog.Logger, w ingest.Work) *slog.Logger {
	return log.With(append(OfPartition(w.Partition), Trigger, w.Lineage.ScheduleID, Plan, w.Lineage.PlanID, Slice, w.Lineage.SliceID, Task, w.Lease.TaskID)...)
}

// OfRun returns the logger of a run of a task.
func OfRun(log *slog.Logger, w ingest.Work, run int64) *slog.Logger {
	return OfTask(log, w).With(Run, run)
}

// AtBatch returns the logger of a run for a line about a batch: its id, zero while it is
// not stored, and its number in the run.
func AtBatch(log *slog.Logger, run, batch int64, no int) *slog.Logger {
	return log.With(Batch, batch, Correlation, CorrelationID(run, no))
}

// CorrelationID names the request for a batch, for whoever looks for it in the logs of
// the upstream (§14.2).
func CorrelationID(run int64, no int) string { return fmt.Sprintf("ing-%d-%d", run, no) }
