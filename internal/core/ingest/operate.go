package ingest

import (
	"fmt"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
)

// Act is who does something to the work of the program, and why. Every change
// that an operator makes is logged with both. A rehearsal tells what would become
// of it and changes nothing.
type Act struct {
	Actor     string
	Reason    string
	Rehearsal bool
	Until     time.Time // of a pause: when it ends automatically; zero: when a person ends it
}

// Scope is a part of a source: all of it, one endpoint, one operation, or one
// operation of one endpoint. Empty fields stand for all.
type Scope struct {
	Source    string    `json:"source"`
	Endpoint  string    `json:"endpoint,omitempty"`
	Operation Operation `json:"operation,omitempty"`
}

// Covers reports whether a partition is part of the scope.
func (s Scope) Covers(p Partition) bool {
	return s.Source == p.Source && (s.Endpoint == "" || s.Endpoint == p.Endpoint) && (s.Operation == "" || s.Operation == p.Operation)
}

// Within reports whether the scope is the other one or a part of it.
func (s Scope) Within(other Scope) bool {
	return s.Source == other.Source && (other.Endpoint == "" || s.Endpoint == other.Endpoint) && (other.Operation == "" || s.Operation == other.Operation)
}

// String writes a scope as commands take it: crossref/works --op HARVEST.
func (s Scope) String() string {
	text := s.Source
	if s.Endpoint != "" {
		text += "/" + s.Endpoint
	}
	if s.Operation != "" {
		text += " --op " + string(s.Operation)
	}
	return text
}

// SourceState is the state of a scope. A scope without one is open.
type SourceState string

// SourcePaused: nothing is planned, claimed or read.
const SourcePaused SourceState = "PAUSED"

// Pause is a scope that is paused, by whom, why and since when.
type Pause struct {
	Scope
	Actor  string    `json:"actor"`
	Reason string    `json:"reason"`
	Since  time.Time `json:"since"`
	Until  time.Time `json:"until,omitzero"` // ends automatically; zero: when a person ends it
}

// String says why nothing is done, and what would change it.
func (p Pause) String() string {
	return fmt.Sprintf("%s is paused since %s%s by %s: %s", p.Scope, p.Since.UTC().Format(time.RFC3339), p.UntilText(), p.Actor, p.Reason)
}

// UntilText says when a pause ends automatically; empty if a person has to end it.
func (p Pause) UntilText() string {
	if p.Until.IsZero() {
		return ""
	}
	return " until " + p.Until.UTC().Format(time.RFC3339)
}

// Resuming returns the command that ends a pause.
func (p Pause) Resuming() string { return "patra source resume " + p.Scope.String() + " --reason …" }

// PausedError refuses work on a source that is paused.
type PausedError struct{ Pause Pause }

func (e PausedError) Error() string {
	return fmt.Sprintf("%s. To go on: %s", e.Pause, e.Pause.Resuming())
}

// Is makes it a conflict: trying again is useless until a person acts.
func (e PausedError) Is(target error) bool { return target == fault.ErrConflict }

// TaskPick chooses tasks for an operator: some by their ids, or all of a plan or
// a scope, never both.
type TaskPick struct {
	IDs    []int64
	PlanID int64
	Scope  Scope
	Status TaskStatus // of a retry by plan or scope: FAILED or CANCELLED
}

// Named reports whether tasks are chosen by their ids.
func (p TaskPick) Named() bool { return len(p.IDs) > 0 }

// String names what was chosen, as the audit log keeps it.
func (p TaskPick) String() string {
	switch {
	case p.Named():
		var ids []string
		for _, id := range p.IDs {
			ids = append(ids, fmt.Sprint(id))
		}
		return "task/" + strings.Join(ids, ",")
	case p.PlanID != 0:
		return fmt.Sprintf("plan/%d", p.PlanID)
	default:
		return "source/" + p.Scope.String()
	}
}

// TasksDone is what became of the tasks an operator chose.
type TasksDone struct {
	Cancelled int `json:"cancelled"` // no process worked on them
	Stopping  int `json:"stopping"`  // their worker stops after the page it reads
	Queued    int `json:"queued"`    // are tried again
	Unchanged int `json:"unchanged"` // were as they are wanted before
}

// Add sums.
func (d TasksDone) Add(o TasksDone) TasksDone {
	return TasksDone{d.Cancelled + o.Cancelled, d.Stopping + o.Stopping, d.Queued + o.Queued, d.Unchanged + o.Unchanged}
}

// Changed returns how many tasks are not what they were.
func (d TasksDone) Changed() int { return d.Cancelled + d.Stopping + d.Queued }
