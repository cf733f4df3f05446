package live

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

// The kinds of events.
const (
	kindState      = "state"      // everything, for who has no number to go on from
	kindProgress   = "progress"   // the open plans of a source, all of them
	kindFinding    = "finding"    // one that came, changed or went
	kindThroughput = "throughput" // what the runs of a source did in the last hour
	kindTrouble    = "trouble"    // the database cannot be read, or can again
	kindEnd        = "end"        // the stream is over, and why
)

// State is all that is known: what the events after it change.
type State struct {
	At         time.Time      `json:"at"`
	Progress   []Progress     `json:"progress" doc:"Sources with open plans."`
	Findings   []view.Finding `json:"findings"`
	Throughput []Throughput   `json:"throughput"`
}

// Progress is how far the open plans of one source are. It replaces what was told of the
// source before: a plan that is not in it any more is at its end.
type Progress struct {
	Source string `json:"source"`
	Plans  []Plan `json:"plans"`
	Runs   []Run  `json:"runs" doc:"At work now."`
}

// Plan is an open plan.
type Plan struct {
	ID             int64          `json:"id"`
	Endpoint       string         `json:"endpoint"`
	Operation      string         `json:"operation"`
	Status         string         `json:"status"`
	Window         *window.Window `json:"window,omitempty"`
	Slices         int            `json:"slices"`
	Done           int            `json:"done" doc:"Slices that ended, well or badly."`
	Failed         int            `json:"failed"`
	ItemsPerSecond float64        `json:"itemsPerSecond,omitempty" doc:"Of its partition, in the last hour."`
	ReadyIn        float64        `json:"readyInSeconds,omitempty" doc:"At the pace of the last hour; left out: nobody knows."`
	WaitsUntil     time.Time      `json:"waitsUntil,omitzero" doc:"Its upstream asked for a pause."`
}

// Run is one that is at work.
type Run struct {
	ID        int64     `json:"id"`
	PlanID    int64     `json:"planId"`
	TaskID    int64     `json:"taskId"`
	Pages     int       `json:"pages"`
	Items     int       `json:"items"`
	StartedAt time.Time `json:"startedAt,omitzero"`
}

// Found says that a finding came, changed or went.
type Found struct {
	Change  Change       `json:"change" enum:"opened,changed,resolved"`
	Finding view.Finding `json:"finding" doc:"Of one that is resolved: as it was."`
}

// Change is what became of a finding.
type Change string

// What becomes of a finding. Ages and counts grow all the time: it has changed if it needs
// something else than before.
const (
	opened   Change = "opened"
	changed  Change = "changed"
	resolved Change = "resolved"
)

// Throughput is what the runs of one source did in the last hour.
type Throughput struct {
	Source string         `json:"source"`
	Sums   []view.WorkSum `json:"sums"`
}

// Trouble says whether what goes on can be read.
type Trouble struct {
	Answers bool      `json:"answers" doc:"The database answers."`
	Since   time.Time `json:"since"`
}

// End says why a stream is over.
type End struct {
	Why string `json:"why"`
}

// event is what happened, written once for all viewers.
type event struct {
	number int64 // since the process began
	kind   string
	source string // whose it is; empty: no source's
	public bool   // also for those who are limited to sources
	data   []byte
}

// isFor reports whether a caller may know of an event, and wants to: of one source, or of all
// it sees.
func (e event) isFor(who access.Caller, source string) bool {
	return e.public || who.Sees(e.source) && (source == "" || e.source == source)
}

// encode writes one line of JSON without the escapes that only HTML needs.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // values of the core always encode
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
