package freshness

import (
	"testing"
	"time"
)

func TestAHabitThatStopsIsOverdue(t *testing.T) {
	now := time.Date(2025, 3, 9, 3, 0, 0, 0, time.UTC)
	each := func(ago, pause time.Duration, n int) (out []time.Time) {
		for i := range n {
			out = append(out, now.Add(-ago-time.Duration(i)*pause))
		}
		return out
	}
	const day = 24 * time.Hour
	for name, c := range map[string]struct {
		starts []time.Time
		want   bool
	}{
		"never harvested":            {nil, false},
		"every night":                {each(5*time.Hour, day, 20), false},
		"one night missed":           {each(day+5*time.Hour, day, 20), false},
		"two nights missed":          {each(2*day+time.Hour, day, 20), true},
		"every hour, not for a day":  {each(25*time.Hour, time.Hour, 100), true},
		"every hour, a few missed":   {each(9*time.Hour, time.Hour, 100), false},
		"long ago":                   {each(90*day, day, 20), true},
		"a try of an hour":           {each(30*day, time.Minute, 50), false},
		"now and then":               {each(30*day, 9*day, 3), false},
		"every week":                 {each(10*day, 7*day, 5), false},
		"every week, two are missed": {each(15*day, 7*day, 5), true},
	} {
		if every, got := Overdue(c.starts, now); got != c.want {
			t.Errorf("%s: %t, each %s", name, got, every)
		}
	}
}
