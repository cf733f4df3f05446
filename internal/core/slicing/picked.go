package slicing

import (
	"encoding/hex"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/refresh"
	"github.com/patra-ingest/patra/internal/core/sector"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Picked tells which parents a plan asks for, where the upstream promises that a parent changes when something below it does:
// those that changed, and all others in turns (decision 156). Turns are instants of the time that the list is read by, so a
// plan takes all turns between where the last one ended and where it ends itself, however long ago that was.
type Picked struct {
	After    time.Time         `json:"after"`             // clock of the store: what was stored of a parent later is a change
	Turns    window.Window     `json:"turns"`             // that the plan takes; every parent was read up to a turn of its own before them
	Sweep    duration.Duration `json:"sweep"`             // every parent has one turn in this time
	Lookback duration.Duration `json:"lookback,omitzero"` // how late an item may appear behind its stamp
	From     time.Time         `json:"from,omitzero"`     // where the list begins: nothing is asked for before it
	Behind   []string          `json:"behind,omitempty"`  // keys of parents that owe something
	Owes     bool              `json:"owes,omitempty"`    // so do more of them than stand there
}

// Pick is why a parent is asked for.
type Pick int

// Reasons, the strongest first.
const (
	NotPicked Pick = iota
	ByChange       // what is stored of it changed
	ByTurn         // its turn has come, and nothing says that it changed
	ByLag          // it owes something
)

// Choose returns why a parent is asked for, by its key and by when it was last stored.
func (p *Picked) Choose(key record.Key, changed time.Time) Pick {
	switch {
	case changed.After(p.After):
		return ByChange
	case p.Turns.Contains(refresh.Turn(key, p.Sweep.Std(), p.Turns.From)):
		return ByTurn
	case p.isBehind(key):
		return ByLag
	}
	return NotPicked
}

// isBehind reports whether a parent is one of those that owe something.
func (p *Picked) isBehind(key record.Key) bool {
	return len(p.Behind) > 0 && slices.Contains(p.Behind, hex.EncodeToString(key[:]))
}

// Unannounced returns up to where a parent has nothing that was not read, if the upstream keeps its promise; zero if nobody can tell.
// That is so of a parent which is asked for in its turn only, and owes nothing.
func (p *Picked) Unannounced(key record.Key, changed time.Time) time.Time {
	if p == nil || p.Owes || p.isBehind(key) || p.Choose(key, changed) != ByTurn {
		return time.Time{}
	}
	return p.Turns.From
}

// readTo returns up to where a parent has been read for sure: to its last turn. Changes may have let it be read further since,
// which nobody noted: a row for each parent would be needed.
func (p *Picked) readTo(key record.Key) time.Time {
	return refresh.Turn(key, p.Sweep.Std(), p.Turns.From).Add(-p.Sweep.Std())
}

// IsPicked reports whether a parent is asked for beyond the window of its slice.
func (o *Opening) IsPicked(key record.Key, changed time.Time) bool {
	return o != nil && o.Picked != nil && o.Picked.Choose(key, changed) != NotPicked
}

// Reach returns what is asked for of a parent that changed, or whose turn has come, instead of a window: everything since it was
// read for sure. A parent may have changed some time before that was seen, while the windows of that time were read without it.
func (o *Opening) Reach(w window.Window, key record.Key) window.Window {
	from := o.Picked.readTo(key).Add(-o.Picked.Lookback.Std())
	w.From = window.Earlier(w.From, window.Later(from, o.Picked.From))
	w.To = window.Later(w.To, o.To)
	return w
}

// Choice is where a plan asks for picked parents only.
type Choice struct {
	Picked
	Within []window.Window `json:"within"`         // elsewhere all parents are asked for
	Lags   []Owing         `json:"lags,omitempty"` // who owes something there
}

// Owing is a sector that owes a range of time.
type Owing struct {
	Sector string        `json:"sector"`
	Window window.Window `json:"window"`
}

// MarkPicks lets slices ask for picked parents only, where that is enough. Parents that owe something are asked for as well, and
// all of a run that owes something of the window: with the end of the window nobody owes anything there any more.
func MarkPicks(cuts []Slice, c *Choice) []Slice {
	if c == nil {
		return cuts
	}
	usual := c.Picked
	for i := range cuts {
		cut := &cuts[i]
		if cut.Spec.Few > 0 || !window.AllWithin([]window.Window{cut.Window}, c.Within) {
			continue
		}
		own, all := c.ofSlice(cut.Window, cut.Spec.Sector)
		switch {
		case all:
		case len(own.Behind) == 0 && !own.Owes:
			cut.Spec.Picks = &usual
		default:
			cut.Spec.Picks = &own
		}
	}
	return cuts
}

// ofSlice returns who is picked of the parents of a slice; all says that its window is owed by too many to name them.
func (c *Choice) ofSlice(w window.Window, of map[string]string) (own Picked, all bool) {
	own = c.Picked
	if len(c.Lags) == 0 {
		return own, false
	}
	name := sector.NameOf(of)
	for _, l := range c.Lags {
		if !sector.Meet(l.Sector, name) {
			continue
		}
		if key, one := sector.KeyIn(l.Sector, of); one {
			own.Behind = append(own.Behind, hex.EncodeToString(key[:]))
			continue
		}
		if own.Owes = true; l.Window.Overlaps(w) {
			return own, true
		}
	}
	slices.Sort(own.Behind)
	own.Behind = slices.Compact(own.Behind)
	return own, false
}
