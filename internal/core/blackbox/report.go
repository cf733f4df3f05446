package blackbox

import (
	"encoding/json"
	"time"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/record"
)

// Cause is whose doing a difference is.
type Cause string

// Causes. The same bytes that read otherwise are ours; other bytes for the same
// question are the source's.
const (
	Source Cause = "source"
	Ours   Cause = "ours"
)

// What may differ.
const (
	onRequest = "request"
	onStatus  = "status"
	onBody    = "body"
	onPage    = "page"
	onItems   = "items"
	onNext    = "next"
	onReject  = "reject"
	onDecided = "decision"
)

// Difference is one thing that is not as it was.
type Difference struct {
	What  string `json:"what"`
	Was   string `json:"was"`
	Is    string `json:"is"`
	Cause Cause  `json:"cause"`
	Why   string `json:"why"`
}

// Change is what became of one record.
type Change string

// Changes.
const (
	Added   Change = "added"
	Changed Change = "changed"
	Missing Change = "missing"
)

// RecordChange is one record that is not as it was.
type RecordChange struct {
	ID     string        `json:"recordId"`
	Change Change        `json:"change"`
	Fields []FieldChange `json:"fields,omitempty"`
	Cause  Cause         `json:"cause"`
}

// FieldChange is one output field that is not as it was; absent is empty.
type FieldChange struct {
	Name string          `json:"name"`
	Was  json.RawMessage `json:"was,omitempty"`
	Is   json.RawMessage `json:"is,omitempty"`
}

// Report is what a replay found.
type Report struct {
	Keys        Keys                    `json:"keys"`
	Source      string                  `json:"source"`
	Endpoint    string                  `json:"endpoint"`
	Operation   string                  `json:"operation"`
	From        string                  `json:"from"` // raw or upstream
	Spec        string                  `json:"spec"` // then or now
	SpecNow     string                  `json:"specNow,omitempty"`
	Bundle      *Manifest               `json:"bundle,omitempty"` // what it was replayed from, if not from the ledger
	Identical   bool                    `json:"identical"`
	Request     *exchange.RequestDigest `json:"request,omitempty"` // rendered anew
	Status      int                     `json:"status,omitempty"`
	BodySHA256  string                  `json:"bodySha256,omitempty"`
	Seen        int                     `json:"seen"`
	Next        string                  `json:"next,omitempty"`
	Decisions   map[record.Action]int   `json:"decisions,omitempty"` // decided anew, nothing was written
	Differences []Difference            `json:"differences"`
	Records     []RecordChange          `json:"records"`
	Notes       []string                `json:"notes,omitempty"` // what could not be compared, and why
	Requests    int                     `json:"requests"`        // sent to the upstream
	At          time.Time               `json:"at"`
}

// NewReport begins the report of a batch.
func NewReport(b *Box, from, spec string, now time.Time) *Report {
	return &Report{
		Keys: b.Keys, Source: b.Batch.Source, Endpoint: b.Endpoint, Operation: b.Batch.Operation, From: from, Spec: spec,
		Differences: []Difference{}, Records: []RecordChange{}, At: now,
	}
}

// Show takes what is shown of the last reading.
func (r *Report) Show(last *Reading) {
	r.Status, r.BodySHA256, r.Seen, r.Next = last.Status, last.SHA256, last.Seen, last.Next
}

// Close says whether all is as it was.
func (r *Report) Close() *Report {
	r.Identical = len(r.Differences) == 0 && len(r.Records) == 0
	return r
}

// Note adds what could not be compared.
func (r *Report) Note(text string) { r.Notes = append(r.Notes, text) }

// Count returns how many records are added, changed and missing.
func (r *Report) Count() (added, changed, missing int) {
	for _, one := range r.Records {
		switch one.Change {
		case Added:
			added++
		case Changed:
			changed++
		case Missing:
			missing++
		}
	}
	return added, changed, missing
}

// Blames reports whether anything differs by this cause.
func (r *Report) Blames(cause Cause) bool {
	for _, d := range r.Differences {
		if d.Cause == cause {
			return true
		}
	}
	for _, c := range r.Records {
		if c.Cause == cause {
			return true
		}
	}
	return false
}

// blame is who is held responsible by a comparison, and why.
type blame struct {
	cause Cause
	why   string
}

func (r *Report) noteDifference(what, was, is string, by blame) {
	if was != is {
		r.Differences = append(r.Differences, Difference{what, was, is, by.cause, by.why})
	}
}
