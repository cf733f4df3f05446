package threshold

import (
	"testing"
	"time"
)

// A share counts when it lasts, and stays counted while it goes up and down.
func TestAShareIsOverWhenItLasts(t *testing.T) {
	noon := time.Date(2025, 3, 9, 12, 0, 0, 0, time.UTC)
	const length, lasts, limit, least = 5 * time.Minute, 10 * time.Minute, 0.05, 20
	at := func(n int, share float64, of int64) Slot { return Slot{noon.Add(time.Duration(n) * length), share, of} }
	for name, c := range map[string]struct {
		slots []Slot
		since int // slot; -1: never
	}{
		"nothing":                   {nil, -1},
		"well":                      {[]Slot{at(0, 0.01, 99), at(1, 0.02, 99), at(2, 0.05, 99)}, -1},
		"not for long":              {[]Slot{at(0, 0.5, 99), at(1, 0.5, 99)}, -1},
		"for ten minutes":           {[]Slot{at(0, 0.01, 99), at(1, 0.06, 99), at(2, 0.5, 99), at(3, 0.07, 99)}, 1},
		"of nearly nothing":         {[]Slot{at(1, 1, 3), at(2, 1, 3), at(3, 1, 3)}, -1},
		"with a rest in between":    {[]Slot{at(1, 0.5, 99), at(3, 0.5, 99), at(5, 0.5, 99)}, -1},
		"and better a moment after": {[]Slot{at(1, 0.5, 99), at(2, 0.5, 99), at(3, 0.5, 99), at(4, 0, 99)}, 1},
	} {
		since, over := Over(c.slots, length, lasts, limit, least)
		if over != (c.since >= 0) || over && !since.Equal(noon.Add(time.Duration(c.since)*length)) {
			t.Errorf("%s: %t since %s", name, over, since)
		}
	}
}
