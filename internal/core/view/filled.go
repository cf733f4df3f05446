package view

import (
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Filled is a stretch that is planned, or would be.
type Filled struct {
	Source    string           `json:"source"`
	Endpoint  string           `json:"endpoint"`
	Operation ingest.Operation `json:"operation"`
	Window    window.Window    `json:"window"`
	PlanID    int64            `json:"planId,omitempty"`
	Campaign  string           `json:"campaign,omitempty"`
	Slices    int              `json:"slices,omitempty"` // of the plan, over all its stretches
	Note      string           `json:"note,omitempty"`
	DryRun    bool             `json:"dryRun"`
}

// FillWish is what somebody wants to have filled.
type FillWish struct {
	Key              string // that the caller gave the request; none: each call is a request of its own
	Source, Endpoint string
	Partition        string // of a list that is asked for in parts; none means all of them
	Within           window.Window
}

// Typed returns what was asked for, as a trigger keeps it: another range or part is another request.
func (w FillWish) Typed() string {
	text := "fill " + window.Text(w.Within.From) + ".." + window.Text(w.Within.To)
	if w.Partition != "" {
		text += " of " + w.Partition
	}
	return text
}

// Filling is what filling the gaps of a range comes to, or would.
type Filling struct {
	Source    string          `json:"source"`
	Endpoint  string          `json:"endpoint"`
	Partition string          `json:"partition,omitempty"` // the part of a list that alone is filled
	Window    window.Window   `json:"window"`
	Planned   []Filled        `json:"planned"`
	InWork    int             `json:"inWork"`             // windows that are worked on already, and left out
	Forecast  slicing.Outlook `json:"forecast,omitzero"`  // of what the harvest owes
	Quotas    []gate.Prospect `json:"quotas,omitempty"`   // of each rate key
	FreshTo   time.Time       `json:"freshTo,omitzero"`   // the watermark now
	WouldBe   time.Time       `json:"wouldBeTo,omitzero"` // the watermark once it is read
	// RequestID is the name that the caller gave its request; Repeated: it was made before.
	RequestID string `json:"requestId,omitempty"`
	Repeated  bool   `json:"repeated,omitempty"`
}
