package event

import (
	"fmt"
	"strings"
	"time"
)

// Pick chooses events for an operator: by their rows, or the dead ones of a source.
type Pick struct {
	IDs    []int64
	Source string
}

// Named tells whether events were chosen one by one.
func (p Pick) Named() bool { return len(p.IDs) > 0 }

func (p Pick) String() string {
	if !p.Named() {
		return "outbox/" + p.Source
	}
	var ids []string
	for _, id := range p.IDs {
		ids = append(ids, fmt.Sprint(id))
	}
	return "outbox/" + strings.Join(ids, ",")
}

// Done is how many events an act changed.
type Done struct {
	Changed   int  `json:"changed"`
	Unchanged int  `json:"unchanged"` // named, but delivered or waiting anyway
	DryRun    bool `json:"dryRun,omitempty"`
}

// Replay chooses events to be published once more: those from a row on that were
// stored at an instant or later.
type Replay struct {
	FromRow int64
	Since   time.Time
	Source  string // empty: all
	Begins  bool   // the first chunk: it goes to the audit log
}

func (r Replay) String() string {
	object := "events"
	if r.Source != "" {
		object += "/" + r.Source
	}
	if !r.Since.IsZero() {
		return object + " since " + r.Since.UTC().Format(time.RFC3339Nano)
	}
	return fmt.Sprintf("%s from %d", object, r.FromRow)
}

// Replayed is what one chunk of a replay did.
type Replayed struct {
	Events int
	First  int64 // row of the first one
	Next   int64 // where the chunk ended
	End    bool  // there is nothing behind it
}

// ReplayDone is what a whole replay did.
type ReplayDone struct {
	Events int   `json:"events"`
	First  int64 `json:"first,omitempty"`
	DryRun bool  `json:"dryRun,omitempty"`
}
