package planner

import (
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Draft is the answer of planning, before or after it is stored: the window with its
// explanation and the slices. It is a pure function of its inputs: the same inputs,
// the same bytes.
type Draft struct {
	Source      string           `json:"source"`
	Endpoint    string           `json:"endpoint"`
	Operation   ingest.Operation `json:"operation"`
	Now         time.Time        `json:"now"`
	Window      *window.Window   `json:"window"`
	NowSafe     time.Time        `json:"nowSafe"`
	Lag         window.Lag       `json:"safetyLag,omitzero"` // of a HARVEST
	Empty       bool             `json:"empty"`
	Reason      string           `json:"reason,omitempty"`
	Explain     []window.Step    `json:"explain"`
	Skipped     []window.Window  `json:"skipped"`
	Waiting     []window.Window  `json:"waiting"`
	LeftOut     []string         `json:"leftOut,omitempty"` // partitions that are not asked for, because the upstream refuses them
	Slices      []DraftSlice     `json:"slices"`
	Fingerprint string           `json:"specFingerprint"`
	ExprHash    string           `json:"exprProtoHash"`
	Warnings    []spec.Warning   `json:"warnings"`
	Stats       slicing.Stats    `json:"slicing"`
	Forecast    slicing.Outlook  `json:"forecast"`
	Quotas      []gate.Prospect  `json:"quotas,omitempty"`      // of each rate key
	Rolled      int              `json:"rolled,omitempty"`      // slices that wait for a later window of the quota
	MaxRequests int              `json:"maxRequests,omitempty"` // that may be spent on it; zero: as many as it takes
	Files       bool             `json:"-"`                     // the slice reads a listing, and the files that it names follow
	Untold      bool             `json:"-"`                     // the upstream was asked for sizes, and nobody could tell some of them

	owed []window.Window
}

// DraftSlice is one slice of a draft.
type DraftSlice struct {
	From      time.Time      `json:"from,omitzero"`
	To        time.Time      `json:"to,omitzero"`
	Partition string         `json:"partition,omitempty"` // of the list, such as set=cs; empty: all of it
	Range     *slicing.Range `json:"range,omitempty"`     // of ids, in place of a window
	Signature string         `json:"signature"`

	Due      time.Time         `json:"due,omitzero"` // waits for a later window of the quota
	Estimate *slicing.Estimate `json:"estimate,omitempty"`
	Capped   bool              `json:"capped,omitempty"` // holds more than the upstream serves, and cannot be cut
}

// Owed are the ranges the plan reads, without what is settled.
func (d *Draft) Owed() []window.Window { return d.owed }

// Summary says in one line what a draft amounts to.
func (d *Draft) Summary() string {
	if d.Empty {
		return "nothing to do: " + d.Reason
	}
	if d.Slices[0].Range != nil {
		return fmt.Sprintf("%s of ids over %s", countedSlices(len(d.Slices)), d.Window)
	}
	return fmt.Sprintf("%s over %s", countedSlices(len(d.Slices)), d.Window)
}

// LimitText says whether what may be spent is enough; empty if nobody said how much.
func (d *Draft) LimitText() string {
	if d.MaxRequests == 0 {
		return ""
	}
	fits := "fits, as far as is known"
	if d.Forecast.Requests.Value > float64(d.MaxRequests) {
		fits = "does not fit: what is left then waits and stays owed"
	}
	noun := "requests"
	if d.MaxRequests == 1 {
		noun = "request"
	}
	return fmt.Sprintf("%d %s (--max-requests): %s", d.MaxRequests, noun, fits)
}

// countedSlices returns a number of slices in words.
func countedSlices(n int) string {
	if n == 1 {
		return "1 slice"
	}
	return fmt.Sprintf("%d slices", n)
}
