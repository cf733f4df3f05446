package generation

import (
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/refresh"
)

// State is what became of a generation.
type State string

// States.
const (
	Reading  State = "READING"  // it is not at its end yet
	Complete State = "COMPLETE" // the list is known whole as of the generation
	Shrunk   State = "SHRUNK"   // too little came to believe that this is the list
	Broken   State = "BROKEN"   // it was not read to its end
	Accepted State = "ACCEPTED" // too little came, and a person says that this is the list
)

// Whole reports whether the list is known as of a generation in this state.
func (s State) Whole() bool { return s == Complete || s == Accepted }

// Apart is how far two readings must lie apart before the second confirms what the first
// one lacked: an index that is built anew may be gone for hours. It is a little less than
// a day, so that a daily reading need not wait for the day after next.
const Apart = 20 * time.Hour

// Kept is a generation whose ids are kept.
type Kept struct {
	ID    int64
	AsOf  time.Time
	State State
	Base  int64 // of a shrunk one: the first of those in a row that show the same, itself maybe
	Items int64 // different ids
	IDs   int64 // ids that are kept; the same one may be there more than once
	Other bool  // it answers another question about the same window: what it saw is there, and that is all it says
}

// Roles are what kept generations are to one that has just been read.
type Roles struct {
	Last   *Kept  // the last whole one; nil: there is none
	Shrunk *Kept  // the first shrunk one after it that waits to be confirmed; nil: there is none
	Recent []Kept // that must lack an id too before that is gone, whole or not, the newest first
	Older  []Kept // those before them: their ids are looked for
	Others []Kept // readings for another question: what they saw is not gone
}

// RolesOf sorts kept generations, the newest first, by what they are to one as of an
// instant. An id is gone if an older one had it, and neither the new one nor a recent one
// has it. Generations that were not whole take part: what they saw was there, and what only
// they saw would be forgotten otherwise.
func (c Config) RolesOf(kept []Kept, asOf time.Time) (r Roles) {
	var whole []Kept // of the recent ones
	base := int64(0)
	for _, k := range kept {
		if k.Other {
			r.Others = append(r.Others, k)
			continue
		}
		switch {
		case k.State.Whole() && r.Last == nil:
			r.Last = &k
		case r.Last == nil && k.State == Shrunk && base == 0:
			base = k.Base
		}
		if r.Last == nil && k.ID == base {
			r.Shrunk = &k
		}
		if !c.needsRecent(whole, asOf) {
			r.Older = append(r.Older, k)
			continue
		}
		r.Recent = append(r.Recent, k)
		if k.State.Whole() {
			whole = append(whole, k)
		}
	}
	return r
}

// needsRecent reports whether one more generation must lack an id.
func (c Config) needsRecent(whole []Kept, asOf time.Time) bool {
	n := len(whole)
	return n+1 < c.Confirm || c.Confirm > 1 && asOf.Sub(whole[n-1].AsOf) < Apart
}

// mostSpare bounds how many generations are kept that are not whole, and mostHeld how many
// older ones while a person has to look before anything is taken for gone.
const mostSpare, mostHeld = 3, 30

// Expendable returns the generations whose ids are not needed once a whole generation has
// been compared with them. Held: ids that vanished were not taken for gone, so those of
// older generations stay, to be looked for again.
func (r Roles) Expendable(held bool) (ids []int64) {
	ids = surplus(r.Recent, 0)
	older := r.Older
	if held {
		older = older[:max(0, len(older)-mostHeld)]
	}
	for _, k := range older {
		if k.State != Reading { // it is not over: it is compared by its ids when it ends
			ids = append(ids, k.ID)
		}
	}
	return ids
}

// Surplus returns the generations whose ids are not needed once one was read that is not
// whole, where another one waits to be confirmed.
func (r Roles) Surplus(base int64) []int64 {
	return append(surplus(r.Recent, base), surplus(r.Older, base)...)
}

// surplus returns those that are over and not whole, the newest few and one apart.
func surplus(of []Kept, apart int64) (ids []int64) {
	spare := mostSpare
	for _, k := range of {
		if k.State.Whole() || k.State == Reading || k.ID == apart {
			continue
		}
		if spare--; spare < 0 {
			ids = append(ids, k.ID)
		}
	}
	return ids
}

// Verdict is what a generation is worth.
type Verdict struct {
	State State
	Why   string // it is not complete, or is so by confirmation
	Base  int64  // of a shrunk one: the first that shows the same and can be confirmed; 0: this one
}

// Judge decides whether a list that was read to its end, as the rules of paging name it,
// is the whole list. It is if enough of the last whole generation came again. One that
// lacks too much is believed once a later reading, most of a day apart, shows the same.
func (c Config) Judge(r Roles, n Counts, asOf time.Time) Verdict {
	if r.Last == nil || float64(n.LastKept) >= c.MinShare*float64(n.Last) {
		return Verdict{State: Complete}
	}
	shrunk := fmt.Sprintf("%d of the %d ids of the last complete reading (as of %s) came again, less than snapshot.minShare of %v",
		n.LastKept, n.Last, r.Last.AsOf.UTC().Format(time.RFC3339), c.MinShare)
	switch {
	case r.Shrunk == nil:
		return Verdict{State: Shrunk, Why: shrunk}
	case !n.agree():
		return Verdict{State: Shrunk, Why: shrunk + "; the reading before was short too, and showed other ids"}
	case asOf.Sub(r.Shrunk.AsOf) < Apart:
		return Verdict{State: Shrunk, Why: shrunk + fmt.Sprintf("; the reading as of %s showed the same, but too short a time before to confirm it", r.Shrunk.AsOf.UTC().Format(time.RFC3339)), Base: r.Shrunk.ID}
	}
	return Verdict{State: Complete, Why: "confirmed: " + shrunk + fmt.Sprintf(", and the reading as of %s showed the same", r.Shrunk.AsOf.UTC().Format(time.RFC3339))}
}

// agreement is the share of ids that two short readings must have in common to show the
// same: a list that lives changes a little from day to day.
const agreement = 0.9

func (n Counts) agree() bool {
	return float64(n.ShrunkKept) >= agreement*float64(n.Shrunk) && float64(n.ShrunkKept) >= agreement*float64(n.Items)
}

// MostItems returns how many ids the largest of the generations has that ids are looked
// for in, and of the last one: a list that has shrunk had more.
func (r Roles) MostItems() (most int64) {
	if r.Last != nil {
		most = r.Last.Items
	}
	for _, k := range r.Older {
		most = max(most, k.Items)
	}
	return most
}

// MayBeGone returns how many vanished ids are believed at once, of a list of so many.
func (c Config) MayBeGone(last int64) int {
	switch {
	case c.MaxGone == 0:
		return 0
	case refresh.Believable(int(last), int(last), c.MaxGone):
		return int(last)
	}
	return max(refresh.AlwaysBelieved, int(c.MaxGone*float64(last)))
}
