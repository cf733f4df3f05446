// Package skew tells how far the dates of items lie outside of what was asked
// for. A filter that selects and a date that is shown should be the same thing;
// where they are not, nothing in a single answer tells, but the distances of many
// items do.
package skew

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"
)

// DefaultShare is the share of dated items that may lie outside of the request
// before it is said. Some do in every source that changes while it is read.
const DefaultShare = 0.02

// fewest: so many must lie outside before their share says anything. One record
// that changed between two answers is no disagreement.
const fewest = 3

// Disagree reports whether filter and stamps tell different things.
func Disagree(outside, dated int64, share float64) bool {
	return outside >= fewest && float64(outside) > share*float64(dated)
}

const (
	perOctave = 8                // steps from a length to its double
	sizes     = 1 + 27*perOctave // up to four years; what is longer counts as that
)

// Spread counts distances by their size, so that those of many runs add up and
// take little room.
type Spread [sizes]int32

// Note counts a distance.
func (s *Spread) Note(d time.Duration) {
	i := 0
	if seconds := d.Seconds(); seconds >= 1 {
		i = min(1+int(perOctave*math.Log2(seconds)), sizes-1)
	}
	s[i]++
}

// Add sums two spreads.
func (s Spread) Add(o Spread) Spread {
	for i, n := range o {
		s[i] += n
	}
	return s
}

// Count returns how many distances were noted.
func (s Spread) Count() (n int64) {
	for _, in := range s {
		n += int64(in)
	}
	return n
}

// Typical estimates how far two clocks are apart from how far their items lie
// outside. Those next to a bound are only just outside, whatever the distance of
// the clocks, and a few stray ones lie anywhere: so the tenth part at either end
// is not looked at, and what it spans is added from the rest.
func (s Spread) Typical() time.Duration {
	low, high := s.at(0.1), s.at(0.9)
	return high + (high-low)/8
}

// at returns the size below which a share of the distances lies.
func (s Spread) at(share float64) time.Duration {
	wanted, passed := share*float64(s.Count()), 0.0
	for i, n := range s {
		if passed += float64(n); n > 0 && passed >= wanted {
			return middle(i)
		}
	}
	return 0
}

func middle(i int) time.Duration {
	if i == 0 {
		return 0
	}
	return time.Duration(math.Exp2((float64(i)-0.5)/perOctave) * float64(time.Second))
}

// About writes an estimate in one unit, as people say it.
func About(d time.Duration) string {
	units := []struct {
		name    string
		size    time.Duration
		upTo    float64 // of the unit, before the next is used
		rounded float64
	}{
		{"s", time.Second, 45, 5}, {"min", time.Minute, 45, 5}, {"h", time.Hour, 20, 1}, {"days", 24 * time.Hour, math.Inf(1), 1},
	}
	if d < time.Second {
		return "less than 1 s"
	}
	for _, u := range units {
		n := float64(d) / float64(u.size)
		if n > u.upTo {
			continue
		}
		if n > 2*u.rounded {
			n = math.Round(n/u.rounded) * u.rounded
		}
		n = max(math.Round(n), 1)
		if u.name == "days" && n == 1 {
			return "about 1 day"
		}
		return fmt.Sprintf("about %g %s", n, u.name)
	}
	return ""
}

// String is for people who print what holds a spread.
func (s Spread) String() string {
	if s.Count() == 0 {
		return "none"
	}
	return fmt.Sprintf("%d, %s", s.Count(), About(s.Typical()))
}

// MarshalJSON writes only the sizes there are.
func (s Spread) MarshalJSON() ([]byte, error) {
	out := map[string]int32{}
	for i, n := range s {
		if n != 0 {
			out[strconv.Itoa(i)] = n
		}
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (s *Spread) UnmarshalJSON(text []byte) error {
	var in map[int]int32
	if err := json.Unmarshal(text, &in); err != nil {
		return fmt.Errorf("read spread: %w", err)
	}
	*s = Spread{}
	for i, n := range in {
		if i < 0 || i >= sizes {
			return fmt.Errorf("read spread: there is no size %d", i)
		}
		s[i] = n
	}
	return nil
}
