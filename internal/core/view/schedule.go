package view

import (
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/schedule"
)

// ScheduleState is what a schedule has fired. The zero state: no planner ever followed it.
type ScheduleState struct {
	LastTick time.Time `json:"lastTick,omitzero"` // the newest that became a trigger; else when it was first followed
	Followed time.Time `json:"followedSince,omitzero"`
	FiredAt  time.Time `json:"firedAt,omitzero"` // when the newest became a trigger; zero: none has
	Refused  string    `json:"refused,omitempty"`
	Paused   bool      `json:"paused,omitempty"` // that is why it was refused
}

// ScheduledJob is one operation of an applied source with its schedule, and what became of it.
type ScheduledJob struct {
	Partition ingest.Partition
	Schedule  schedule.Schedule
	AppliedAt time.Time // when the version in force began
	State     ScheduleState
}

// Last returns the instant from which ticks are owed: the newest that fired, else when the
// schedule was first followed, else when it was applied.
func (j ScheduledJob) Last() time.Time {
	if j.State.LastTick.IsZero() {
		return j.AppliedAt
	}
	return j.State.LastTick
}

// NextTick returns what the schedule starts next.
func (j ScheduledJob) NextTick(now time.Time) NextTick {
	next := NextTick{Source: j.Partition.Source, Endpoint: j.Partition.Endpoint, Operation: string(j.Partition.Operation), Schedule: j.Schedule.Config.Cron}
	if next.Schedule == "" {
		next.Schedule = "every " + j.Schedule.Config.Every.String()
	}
	next.At = j.Schedule.Fires(j.Schedule.Next(now))
	return next
}

// AheadOfClock is a watermark of which something was planned or read as of a time that has not
// come.
type AheadOfClock struct {
	Watermark time.Time `json:"watermark"`
	AsOf      time.Time `json:"asOf"`
	AheadSec  float64   `json:"aheadSeconds"`
	ReadFrom  time.Time `json:"readFrom"` // where the first of these ranges begins
}

// Late is how far a watermark lies behind.
type Late struct {
	FreshTo time.Time `json:"freshTo"`
	LagSec  float64   `json:"lagSeconds"`
}
