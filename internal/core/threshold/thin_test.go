package threshold

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// weeks returns six weeks of days that end on Sunday, 9 March, with what a source has on each
// day of a week, Monday first.
func weeks(week [7]int64) (days []Day) {
	monday := time.Date(2025, 1, 27, 0, 0, 0, 0, time.UTC)
	for n := range 42 {
		days = append(days, Day{monday.AddDate(0, 0, n), week[n%7]})
	}
	return days
}

// busy is a source that works every day, calm one that rests at weekends, closed one that has
// nothing then.
var (
	busy   = [7]int64{1000, 1000, 1000, 1000, 1000, 900, 900}
	calm   = [7]int64{1000, 1000, 1000, 1000, 1000, 120, 110}
	closed = [7]int64{1000, 1000, 1000, 1000, 1000, 0, 0}
)

func TestDaysThatAreThin(t *testing.T) {
	set := func(days []Day, items int64, at ...int) []Day {
		for _, n := range at {
			days[n].Items = items
		}
		return days
	}
	for name, c := range map[string]struct {
		days []Day
		want []int
	}{
		"as ever":                      {weeks(busy), nil},
		"a weekend":                    {weeks(calm), nil},
		"nothing came on a day":        {set(weeks(busy), 0, 40), []int{40}},
		"little came on a day":         {set(weeks(busy), 150, 38), []int{38}},
		"half of it came":              {set(weeks(busy), 500, 38), nil},
		"two days":                     {set(weeks(busy), 10, 40, 41), []int{40, 41}},
		"more than a week ago":         {set(weeks(busy), 0, 34), nil},
		"a holiday":                    {set(weeks(calm), 115, 37, 38), nil},
		"less than on any Sunday":      {set(weeks(calm), 20, 37), []int{37}},
		"closed on a holiday":          {set(weeks(closed), 0, 35, 36), nil},
		"a working week without items": {set(weeks(closed), 0, 35, 36, 37, 38, 39), []int{35, 36, 37, 38, 39}},
		"a holiday a year ago":         {set(weeks(busy), 0, 10), nil},
		"a new source":                 {set(weeks(busy), 0, 41)[21:], nil},
		"a source with few items":      {set(weeks([7]int64{50, 50, 50, 50, 50, 50, 50}), 0, 41), nil},
		"nothing is known":             {nil, nil},
		"days in between are not known": {func() []Day {
			days := set(weeks(busy), 0, 41)
			return append(append([]Day{}, days[:30]...), days[34:]...)
		}(), []int{41}},
	} {
		var want []time.Time
		for _, n := range c.want {
			want = append(want, weeks(busy)[n].Start)
		}
		got := Thin(c.days, 0.2)
		if len(got) != len(want) {
			t.Errorf("%s: %+v, want %v", name, got, want)
			continue
		}
		for i, d := range got {
			if !d.Start.Equal(want[i]) || d.Usual < 900 || 5*d.Items >= d.Usual {
				t.Errorf("%s: %+v, want %s", name, d, want[i])
			}
		}
		if len(want) > 0 && !MayBeThin(c.days, 0.2) {
			t.Errorf("%s: it is not looked at closely", name)
		}
	}
	if MayBeThin(weeks(calm), 0.2) || MayBeThin(nil, 0.2) {
		t.Error("what is as ever is looked at closely")
	}
}

// However many items come: a day is never thin by more of them, none is thin without a share,
// and what is thin holds less than it usually does.
func TestLawsOfThinDays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		days := weeks(busy)
		for i := range days {
			days[i].Items = rapid.Int64Range(0, 2000).Draw(t, "items")
		}
		if rapid.Bool().Draw(t, "young") {
			days = days[rapid.IntRange(0, len(days)).Draw(t, "from"):]
		}
		share := rapid.Float64Range(0, 1).Draw(t, "share")
		if len(Thin(days, 0)) > 0 {
			t.Fatal("thin without a share")
		}
		thin := Thin(days, share)
		for _, d := range thin {
			if float64(d.Items) >= share*float64(d.Usual) || d.Usual < thinUsual || days[len(days)-1].Start.Sub(d.Start) >= thinJudged*24*time.Hour {
				t.Fatalf("%+v of share %g", d, share)
			}
			for i := range days {
				if days[i].Start.Equal(d.Start) {
					days[i].Items = d.Usual
				}
			}
			for _, again := range Thin(days, share) {
				if again.Start.Equal(d.Start) {
					t.Fatalf("%+v is thin with all its items", again)
				}
			}
		}
	})
}
