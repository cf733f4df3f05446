// Package integrity names what a check of the database can find, says what to do about
// each, and when a check is due.
//
// The store looks, engine/maintenance goes through all of it, and this package has the
// rules: it reads nothing.
package integrity

import (
	"time"

	"github.com/patra-ingest/patra/internal/core/threshold"
)

// Kind is what is damaged.
type Kind string

// Kinds of damage.
const (
	Pages   Kind = "PAGES"   // the database's own structure
	Body    Kind = "BODY"    // a version of a record is not what was stored
	Head    Kind = "HEAD"    // a record and its versions do not belong together
	Count   Kind = "COUNT"   // what was counted when it was stored is not there
	Cursor  Kind = "CURSOR"  // a watermark is not what its ledger gives
	Reject  Kind = "REJECT"  // an item of quarantine is not what was stored
	Missing Kind = "MISSING" // a part of the check could not be done
)

// Damage is one finding of a check.
type Damage struct {
	Kind  Kind   `json:"kind"`
	Where string `json:"where"`
	Text  string `json:"text"`
}

// Next returns what to do about a kind of damage.
func (k Kind) Next() string {
	const restore = "restore a copy of the database that passes `patra db check`, then harvest: what the copy lacks is read again"
	switch k {
	case Pages, Missing:
		return "stop all processes and look at the disk; " + restore
	case Body:
		return "`patra db heal --dry-run` tells whether kept answers heal it; if not, " + restore
	case Head, Count:
		return restore
	case Cursor:
		return "`patra cursor verify --repair` sets watermarks to what their ledger gives"
	case Reject:
		return "`patra quarantine discard ID` gives the item up; `patra coverage fill SRC` reads its window again"
	}
	return restore
}

// Part is what one look of a check saw.
type Part struct {
	Looked   int64
	Unsealed int64 // versions without checksums
	Found    []Damage
	End      bool // nothing is left to look at
}

// Step is a part of a check, for whoever watches it.
type Step string

// The parts, in their order.
const (
	StepPages   Step = "structure"
	StepBodies  Step = "versions"
	StepHeads   Step = "records"
	StepCounts  Step = "counts"
	StepRuns    Step = "runs"
	StepRejects Step = "quarantine"
	StepCursors Step = "watermarks"
)

// MostListed is how many findings are listed one by one; others are counted.
const MostListed = 200

// Report is what a check found.
type Report struct {
	StartedAt  time.Time      `json:"startedAt"`
	FinishedAt time.Time      `json:"finishedAt"`
	Versions   int64          `json:"versions"`
	Records    int64          `json:"records"`
	Batches    int64          `json:"batches"`
	Runs       int64          `json:"runs"`
	Rejects    int64          `json:"quarantined"`
	Cursors    int64          `json:"watermarks"`
	Unsealed   int64          `json:"withoutChecksum"`     // versions that maintenance has not come to yet
	Uncounted  bool           `json:"uncounted,omitempty"` // versions were removed by retention, so batches cannot be counted
	Damages    []Damage       `json:"damages"`
	Found      map[Kind]int64 `json:"found"`
}

// Add notes damage.
func (r *Report) Add(found ...Damage) {
	for _, d := range found {
		if r.Found == nil {
			r.Found = map[Kind]int64{}
		}
		if r.Found[d.Kind]++; len(r.Damages) < MostListed {
			r.Damages = append(r.Damages, d)
		}
	}
}

// Total returns how much was found.
func (r *Report) Total() (n int64) {
	for _, of := range r.Found {
		n += of
	}
	return n
}

// Last is what is known of the last check of a database.
type Last struct {
	CreatedAt time.Time // of the database
	At        time.Time // zero: none came to its end
	Found     int64
}

// UsualAge is how old the last check may be unless an operator says otherwise.
const UsualAge = threshold.UsualCheckAge

// State is what is to be said of the last check of a database.
type State string

// The states of checks.
const (
	Checked      State = "CHECKED" // or so young that it needs none yet
	Damaged      State = "DAMAGED"
	NeverChecked State = "NEVER_CHECKED"
	TooOld       State = "TOO_OLD"
)

// State judges the last check. most is how old it may be, 0 for ever. A database that
// is younger than that needs none yet.
func (l Last) State(now time.Time, most time.Duration) State {
	switch {
	case l.Found > 0:
		return Damaged
	case most <= 0:
		return Checked
	case l.At.IsZero() && !l.CreatedAt.IsZero() && now.Sub(l.CreatedAt) > most:
		return NeverChecked
	case !l.At.IsZero() && now.Sub(l.At) > most:
		return TooOld
	}
	return Checked
}
