package files

import (
	"testing"
	"time"
)

// A set says no more than its oldest file, less its age, and nothing of the time after its listing.
func TestSetIsAsOldAsItsOldestFile(t *testing.T) {
	day := func(n int) time.Time { return time.Date(2025, 1, n, 0, 0, 0, 0, time.UTC) }
	set := Set{Read: 3, Oldest: day(5), Newest: day(9)}
	for _, c := range []struct {
		set    Set
		take   Take
		listed time.Time
		want   time.Time // zero: nobody knows
	}{
		{set, TakeAll, day(20), day(4)},
		{set, TakeNewest, day(20), day(8)},
		{set, TakeNewest, day(7), day(6)},
		{set, TakeAll, day(3), day(2)},
		{Set{}, TakeAll, day(20), time.Time{}},
		{Set{Read: 2, Undated: 1, Oldest: day(5), Newest: day(5)}, TakeAll, day(20), time.Time{}},
	} {
		got, err := c.set.AsOf(c.take, c.listed, 24*time.Hour)
		if !got.Equal(c.want) || (err != nil) != c.want.IsZero() {
			t.Errorf("%+v: %s %v", c, got, err)
		}
	}
}
