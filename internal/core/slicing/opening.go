package slicing

import (
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/sector"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Opening is what a plan does about parents that came since those of an earlier plan were read. The runs of its newest window
// read them from their beginning to the end of what is read of the others. When that window is decided, all parents that
// were there when the plan began are known (D§5.26).
type Opening struct {
	Began time.Time `json:"began"`          // clock of the store when the plan was drawn
	After time.Time `json:"after,omitzero"` // parents that came after it are new; zero: nothing was read before
	From  time.Time `json:"from,omitzero"`  // where a new parent begins that does not say since when it is there
	To    time.Time `json:"to"`             // the end of what is read of the others
	At    time.Time `json:"at"`             // end of the window whose runs do so
	// Still are names of parents that came before and were not read from their beginning: they are new still. In a slice, those of
	// its run.
	Still []string `json:"still,omitempty"`
	// Picked are the parents that are asked for again beyond the window, where others are not asked for; nil: none are.
	Picked *Picked `json:"picked,omitempty"`
}

// Settling is how long the transaction that stores a parent may take: a plan that began meanwhile may not have seen it.
const Settling = 10 * time.Minute

// IsNew reports whether a parent came since the others were read. Those that are new still have names.
func (o *Opening) IsNew(opened time.Time) bool {
	return o != nil && !o.After.IsZero() && opened.After(o.After)
}

// Widen returns what is asked for of a new parent instead of a window: everything since it may have items. What lies beside
// that and the window was asked for before, or is asked for by other slices.
func (o *Opening) Widen(w window.Window, since time.Time) window.Window {
	if since.IsZero() {
		since = o.From
	}
	if !since.IsZero() {
		w.From = window.Earlier(w.From, since)
	}
	w.To = window.Later(w.To, o.To)
	return w
}

// MarkOpening lets the slices of the newest window that is read for all parents do so.
func MarkOpening(cuts []Slice, o *Opening) []Slice {
	for i := range cuts {
		if spec := &cuts[i].Spec; o != nil && spec.Few == 0 && cuts[i].Window.To.Equal(o.At) {
			own, name := *o, sector.NameOf(spec.Sector)
			own.Still = slices.DeleteFunc(slices.Clone(o.Still), func(one string) bool { return !sector.Meet(one, name) })
			spec.Opens = &own
		}
	}
	return cuts
}
