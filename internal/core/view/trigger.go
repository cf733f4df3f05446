package view

import (
	"encoding/json"
	"time"
)

// TriggerRow is one request for work: what it led to, or why it led to nothing.
type TriggerRow struct {
	ID         int64           `json:"id"`
	Key        string          `json:"triggerKey"`
	At         time.Time       `json:"at"`
	Type       string          `json:"type"`
	Scheduler  string          `json:"scheduler"`
	JobID      string          `json:"jobId,omitempty"`
	LogID      string          `json:"logId,omitempty"`
	Source     string          `json:"source"`
	Params     json.RawMessage `json:"params,omitempty"`
	PlanID     int64           `json:"planId,omitempty"` // the first one; 0: none
	PlanStatus string          `json:"planStatus,omitempty"`
	Refused    string          `json:"refused,omitempty"` // why there is no plan
}

// States of a trigger, to filter by.
const (
	TriggerPlanned = "PLANNED"
	TriggerRefused = "REFUSED"
)

// NextTick is what a schedule starts next.
type NextTick struct {
	Source    string    `json:"source"`
	Endpoint  string    `json:"endpoint"`
	Operation string    `json:"operation"`
	Schedule  string    `json:"schedule"` // as the source declares it: cron fields, or every PT6H
	At        time.Time `json:"at"`
}
