package ingest

import "slices"

// TaskStatus is the state of a queue entry.
type TaskStatus string

// Task states. SCHEDULED tasks are not due yet and stand outside the claim
// index; Stock counts SCHEDULED and QUEUED.
const (
	TaskScheduled  TaskStatus = "SCHEDULED"
	TaskQueued     TaskStatus = "QUEUED"
	TaskDispatched TaskStatus = "DISPATCHED"
	TaskExecuting  TaskStatus = "EXECUTING"
	TaskSucceeded  TaskStatus = "SUCCEEDED"
	TaskFailed     TaskStatus = "FAILED"
	TaskPartial    TaskStatus = "PARTIAL"
	TaskCancelled  TaskStatus = "CANCELLED"
)

// RunStatus is the state of one attempt at a task.
type RunStatus string

// Run states.
const (
	RunPlanned   RunStatus = "PLANNED"
	RunRunning   RunStatus = "RUNNING"
	RunSucceeded RunStatus = "SUCCEEDED"
	RunFailed    RunStatus = "FAILED"
	RunPartial   RunStatus = "PARTIAL"
	RunCancelled RunStatus = "CANCELLED"
)

// BatchStatus is the state of one page.
type BatchStatus string

// Batch states.
const (
	BatchRunning   BatchStatus = "RUNNING"
	BatchSucceeded BatchStatus = "SUCCEEDED"
	BatchFailed    BatchStatus = "FAILED"
	BatchSkipped   BatchStatus = "SKIPPED"
)

// SliceStatus is the state of a slice.
type SliceStatus string

// Slice states.
const (
	SlicePending   SliceStatus = "PENDING"
	SliceReady     SliceStatus = "READY"
	SliceSucceeded SliceStatus = "SUCCEEDED"
	SliceFailed    SliceStatus = "FAILED"
	SlicePartial   SliceStatus = "PARTIAL"
	SliceCancelled SliceStatus = "CANCELLED"
)

// PlanStatus is the state of a plan.
type PlanStatus string

// Plan states.
const (
	PlanDraft     PlanStatus = "DRAFT"
	PlanSlicing   PlanStatus = "SLICING"
	PlanReady     PlanStatus = "READY"
	PlanPartial   PlanStatus = "PARTIAL"
	PlanFailed    PlanStatus = "FAILED"
	PlanCancelled PlanStatus = "CANCELLED"
	PlanCompleted PlanStatus = "COMPLETED"
)

// RejectStatus is the state of an item in quarantine.
type RejectStatus string

// States of a rejected item.
const (
	RejectOpen      RejectStatus = "OPEN"      // not decided yet
	RejectRequeued  RejectStatus = "REQUEUED"  // it is to be read again
	RejectResolved  RejectStatus = "RESOLVED"  // its record is stored, at this version or a later one
	RejectDiscarded RejectStatus = "DISCARDED" // a person said that it is junk
)

// Edges are the legal transitions of D§5.3. docs/state-machines.md is checked
// against them, and so is the transition log of the tests.
var (
	taskEdges = map[TaskStatus][]TaskStatus{
		TaskScheduled:  {TaskQueued, TaskCancelled},
		TaskQueued:     {TaskDispatched, TaskScheduled, TaskCancelled},
		TaskDispatched: {TaskExecuting, TaskQueued, TaskScheduled, TaskFailed, TaskCancelled},
		TaskExecuting:  {TaskSucceeded, TaskFailed, TaskPartial, TaskCancelled, TaskQueued, TaskScheduled},
		TaskFailed:     {TaskQueued, TaskScheduled},
		TaskCancelled:  {TaskQueued},
		TaskPartial:    {TaskFailed}, // what is left of it cannot be cut
	}
	runEdges = map[RunStatus][]RunStatus{
		RunPlanned: {RunRunning, RunCancelled},
		RunRunning: {RunSucceeded, RunFailed, RunPartial, RunCancelled},
	}
	sliceEdges = map[SliceStatus][]SliceStatus{
		SlicePending:   {SliceReady, SliceCancelled},
		SliceReady:     {SliceSucceeded, SliceFailed, SlicePartial, SliceCancelled},
		SliceFailed:    {SliceReady},
		SliceCancelled: {SliceReady},
		SlicePartial:   {SliceFailed},
	}
	planEdges = map[PlanStatus][]PlanStatus{
		PlanDraft:     {PlanSlicing, PlanFailed, PlanCancelled, PlanCompleted},
		PlanSlicing:   {PlanReady, PlanPartial, PlanFailed, PlanCancelled},
		PlanPartial:   {PlanSlicing, PlanReady, PlanFailed, PlanCancelled},
		PlanReady:     {PlanCompleted, PlanFailed, PlanCancelled},
		PlanCompleted: {PlanReady},
	}
	rejectEdges = map[RejectStatus][]RejectStatus{
		RejectOpen:     {RejectRequeued, RejectResolved, RejectDiscarded},
		RejectRequeued: {RejectOpen, RejectResolved, RejectDiscarded},
		RejectResolved: {RejectOpen},
	}
)

// CanBecome reports whether the edge is legal.
func (s TaskStatus) CanBecome(next TaskStatus) bool { return slices.Contains(taskEdges[s], next) }

// CanBecome reports whether the edge is legal.
func (s RunStatus) CanBecome(next RunStatus) bool { return slices.Contains(runEdges[s], next) }

// CanBecome reports whether the edge is legal.
func (s SliceStatus) CanBecome(next SliceStatus) bool { return slices.Contains(sliceEdges[s], next) }

// CanBecome reports whether the edge is legal.
func (s PlanStatus) CanBecome(next PlanStatus) bool { return slices.Contains(planEdges[s], next) }

// Leased reports whether a worker holds a task in this state.
func (s TaskStatus) Leased() bool { return s == TaskDispatched || s == TaskExecuting }

// Terminal reports whether the task needs nothing more.
func (s TaskStatus) Terminal() bool {
	return s == TaskSucceeded || s == TaskFailed || s == TaskPartial || s == TaskCancelled
}

// OpenTasks returns the states of tasks that have not ended.
func OpenTasks() []TaskStatus {
	return []TaskStatus{TaskScheduled, TaskQueued, TaskDispatched, TaskExecuting}
}

// TakesSlices reports whether a plan is not sliced to its end. One that ended and
// was opened again for a retry is.
func (s PlanStatus) TakesSlices() bool { return s == PlanSlicing || s == PlanPartial }

// CanBecome reports whether the edge is legal.
func (s RejectStatus) CanBecome(next RejectStatus) bool { return slices.Contains(rejectEdges[s], next) }

// RejectedAgain returns the state after a page brought the same item once more,
// rejected for the same reason. An item that a stored record had settled is open
// again: else it would be a hole that no command shows (I2). Junk stays junk.
func (s RejectStatus) RejectedAgain() RejectStatus {
	if s == RejectResolved {
		return RejectOpen
	}
	return s
}

// LeaseExpired is the error code of a run whose worker disappeared.
const LeaseExpired = "LEASE_EXPIRED"
