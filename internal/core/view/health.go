package view

import (
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/health"
)

// Condition is something that is wrong right now, and what is done about it. An
// empty endpoint or operation stands for all of them.
type Condition struct {
	Source    string           `json:"source"`
	Endpoint  string           `json:"endpoint,omitempty"`
	Operation string           `json:"operation,omitempty"`
	Condition health.Condition `json:"condition"`
	Level     int              `json:"level"`
	Actions   []health.Action  `json:"actions"`
	Detail    string           `json:"detail,omitempty"`
	Since     time.Time        `json:"since,omitzero"`
	Until     time.Time        `json:"until,omitzero"`    // when it ends automatically; zero: it is measured again
	Waits     gate.Reason      `json:"waits,omitempty"`   // of what is HELD: why
	RateKey   string           `json:"rateKey,omitempty"` // and by which key
}

// Healed is how often an action was taken.
type Healed struct {
	Source    string        `json:"source"`
	Endpoint  string        `json:"endpoint"`
	Operation string        `json:"operation"`
	Action    health.Action `json:"action"`
	Times     int64         `json:"times"`
	LastAt    time.Time     `json:"lastAt"`
}
