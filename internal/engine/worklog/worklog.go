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

// GivenUp is what a line says of a task that no run will try again.
const GivenUp = "run finished; its task is given up"

// DefaultSample is the share of batches that leave a line although all went well (§14.5).
const DefaultSample = 0.01

// Sampled reports whether a batch that went well leaves a line. Its id decides, so the
// same batches do whenever and wherever one asks.
func Sampled(batch int64, share *float64) bool {
	limit := DefaultSample
	if share != nil {
		limit = *share
	}
	h := uint64(batch) + 0x9e3779b97f4a7c15 // splitmix64: neighbours get unlike numbers
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	h ^= h >> 31
	return float64(h>>11)/(1<<53) < limit
}
