package coverage

import (
	"slices"
	"sort"
	"time"

	"github.com/patra-ingest/patra/internal/core/window"
)

// Fate is what became of a range of time, seen over all operations that ask the same question.
type Fate int

const (
	NotAsked   Fate = iota // no plan ever wanted it
	Owed                   // wanted, and not read that late
	GivenUp                // wanted, failed, and waiting for its retry
	Waiving                // an operator accepted that it is not read
	Backfilled             // read by a campaign
	Harvested              // read by HARVEST
)

var fateNames = [...]string{"NOT_ASKED", "OWED", "FAILED", "WAIVED", "BACKFILLED", "HARVESTED"}

func (f Fate) String() string { return fateNames[f] }

// MarshalText writes the fate for JSON.
func (f Fate) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (f *Fate) UnmarshalText(text []byte) error {
	*f = Fate(max(0, slices.Index(fateNames[:], string(text))))
	return nil
}

// Done reports whether nothing has to be read there.
func (f Fate) Done() bool { return f >= Waiving }

// FateRange is a piece of time with one fate.
type FateRange struct {
	Window window.Window `json:"window"`
	Fate   Fate          `json:"fate"`
	Fails  int           `json:"fails,omitempty"`
}

// Overlay adds what campaigns read and waived to the coverage of a harvest, as of when they did. A range is done if one of
// them did it late enough for the harvest (D§5.7). It is a view: no campaign moves a harvest's cursor (I6).
func Overlay(harvested []Segment, campaigns ...[]Segment) []Segment {
	for _, campaign := range campaigns {
		for _, s := range campaign {
			if !s.Done() {
				continue
			}
			for kind, asOf := range map[Kind]time.Time{Succeeded: s.Have, Waived: s.Waived} {
				if !asOf.IsZero() {
					harvested = Apply(harvested, Event{Kind: kind, Windows: []window.Window{s.Window}, AsOf: asOf}, apart)
				}
			}
		}
	}
	return harvested
}

// apart is a lookback that lets nothing settle: a merge would give one campaign's as-of to its neighbour.
const apart = time.Duration(1 << 62)

// Fates tells what became of all that is known, sorted; time between the ranges was never asked for. Campaigns is
// the Overlay of what they did over nothing.
func Fates(harvested, campaigns []Segment) []FateRange {
	edges := make([]time.Time, 0, 2*(len(harvested)+len(campaigns)))
	for _, s := range slices.Concat(harvested, campaigns) {
		edges = append(edges, s.Window.From, s.Window.To)
	}
	slices.SortFunc(edges, time.Time.Compare)
	edges = slices.CompactFunc(edges, time.Time.Equal)
	out := make([]FateRange, 0, len(edges))
	for i := 0; i+1 < len(edges); i++ {
		w := window.Window{From: edges[i], To: edges[i+1]}
		own, other := segmentUnder(&harvested, w), segmentUnder(&campaigns, w)
		s := FateRange{Window: w, Fate: fateOf(own, other)}
		if !s.Fate.Done() {
			s.Fails = own.Fails
		}
		if s.Fate == NotAsked {
			continue
		}
		if n := len(out); n > 0 && out[n-1].Window.To.Equal(w.From) && out[n-1].Fate == s.Fate && out[n-1].Fails == s.Fails {
			out[n-1].Window.To = w.To
			continue
		}
		out = append(out, s)
	}
	return out
}

// segmentUnder returns the segment that holds w, a piece between two edges; the list loses what lies before it.
func segmentUnder(segs *[]Segment, w window.Window) Segment {
	for len(*segs) > 0 && !(*segs)[0].Window.To.After(w.From) {
		*segs = (*segs)[1:]
	}
	if len(*segs) > 0 && (*segs)[0].Window.Contains(w.From) {
		return (*segs)[0]
	}
	return Segment{}
}

func fateOf(own, other Segment) Fate {
	late := func(at time.Time) bool { return !at.IsZero() && !at.Before(own.Want) }
	switch {
	case late(own.Have):
		return Harvested
	case late(other.Have):
		return Backfilled
	case late(own.Waived) || late(other.Waived):
		return Waiving
	case own.Fails > 0:
		return GivenUp
	case !own.Want.IsZero():
		return Owed
	}
	return NotAsked
}

// Amounts is how much of a window has which fate, in microseconds: a duration would end at 292 years.
type Amounts [Harvested + 1]int64

// Measure adds up the ranges under a window. Its cost is that of the ranges there.
func Measure(within window.Window, ranges []FateRange) (a Amounts) {
	rest := lengthMicros(within)
	first := sort.Search(len(ranges), func(i int) bool { return ranges[i].Window.To.After(within.From) })
	for _, s := range ranges[first:] {
		if !s.Window.From.Before(within.To) {
			break
		}
		part := lengthMicros(s.Window.Intersect(within))
		a[s.Fate] += part
		rest -= part
	}
	a[NotAsked] += rest
	return a
}

func lengthMicros(w window.Window) int64 { return w.To.UnixMicro() - w.From.UnixMicro() }

// Total returns the length of the window.
func (a Amounts) Total() (n int64) {
	for _, part := range a {
		n += part
	}
	return n
}

// Done returns how much needs no reading.
func (a Amounts) Done() int64 { return a[Waiving] + a[Backfilled] + a[Harvested] }
