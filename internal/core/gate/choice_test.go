package gate

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func drawStanding(t *rapid.T) Standing {
	return Standing{
		Room: float64(rapid.IntRange(0, 50).Draw(t, "room")), From: t0.Add(time.Duration(rapid.IntRange(-2, 3).Draw(t, "from")) * time.Minute),
		Refused: rapid.IntRange(0, 3).Draw(t, "refused") == 0, Running: rapid.IntRange(0, 4).Draw(t, "running"),
	}
}

// Whatever the members are like: none is chosen that is refused while another is not, none that has to wait
// while another has not, and of those that are left the one with most for each run.
func TestChoiceLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.Custom(drawStanding), 1, 6).Draw(t, "members")
		got := Choose(all, rapid.IntRange(-9, 1<<40).Draw(t, "first"), t0)
		chosen := all[got]
		for i, o := range all {
			switch {
			case chosen.Refused && !o.Refused:
				t.Fatalf("%d is refused, %d is not: %+v", got, i, all)
			case chosen.Refused != o.Refused:
			case !chosen.IsFree(t0) && o.IsFree(t0):
				t.Fatalf("%d has to wait, %d has not: %+v", got, i, all)
			case chosen.IsFree(t0) != o.IsFree(t0):
			case !chosen.IsFree(t0) && o.From.Before(chosen.From):
				t.Fatalf("%d is free before %d: %+v", i, got, all)
			case chosen.IsFree(t0) && o.share() > chosen.share():
				t.Fatalf("%d has more left than %d: %+v", i, got, all)
			}
		}
	})
}

// Runs are spread over members as what is left is: no member gets one while another, with as many, would
// have more left for each.
func TestRunsAreSpreadAsWhatIsLeft(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := make([]Standing, rapid.IntRange(2, 5).Draw(t, "members"))
		var sum float64
		for i := range all {
			all[i] = Standing{Room: float64(rapid.IntRange(1, 1000).Draw(t, "room")), From: t0}
			sum += all[i].Room
		}
		runs := rapid.IntRange(1, 60).Draw(t, "runs")
		for n := range runs {
			all[Choose(all, n, t0)].Running++
		}
		for i, m := range all {
			if fair := float64(runs) * m.Room / sum; float64(m.Running) < fair-1 { // the rule of d'Hondt: never more than one below its part
				t.Fatalf("%d runs of %d for member %d: %+v", m.Running, runs, i, all)
			}
		}
	})
}

// Equal members are begun with at different places, so that processes do not crowd on one.
func TestEqualMembersAreBegunWithInTurns(t *testing.T) {
	all := []Standing{{Room: 9}, {Room: 9}, {Room: 9}}
	for task := range 6 {
		if got := Choose(all, task, t0); got != task%3 {
			t.Errorf("task %d began with %d", task, got)
		}
	}
}

func TestStanding(t *testing.T) {
	limits := Limits{PerSecond: 2, QuotaPerDay: 100, BudgetPerDay: 10, PricePerRequest: 0.5}
	left := func(n int64) *int64 { return &n }
	for name, c := range map[string]struct {
		state Snapshot
		said  Announced
		want  Standing
	}{
		"the rate of an hour":  {Snapshot{PerSecond: 2, BurstLeft: 1}, Announced{}, Standing{Room: 7201, From: t0}},
		"what is left":         {Snapshot{PerSecond: 2, Quotas: []Usage{{Name: "day", Used: 30, Usable: 90}}}, Announced{}, Standing{Room: 60, From: t0}},
		"money":                {Snapshot{PerSecond: 2, Quotas: []Usage{{Name: "money", Used: 8, Usable: 10}}}, Announced{}, Standing{Room: 4, From: t0}},
		"used up":              {Snapshot{PerSecond: 2, Quotas: []Usage{{Name: "day", Used: 90, Usable: 90, Reset: t0.Add(time.Hour)}}}, Announced{}, Standing{From: t0.Add(time.Hour)}},
		"asked to wait":        {Snapshot{PerSecond: 2, CoolingUntil: t0.Add(time.Minute)}, Announced{}, Standing{Room: 7200, From: t0.Add(time.Minute)}},
		"announced":            {Snapshot{PerSecond: 2}, Announced{Remaining: left(7), Reset: t0.Add(time.Minute)}, Standing{Room: 7, From: t0}},
		"announced, long past": {Snapshot{PerSecond: 2}, Announced{Remaining: left(7), Reset: t0}, Standing{Room: 7200, From: t0}},
		"nothing announced":    {Snapshot{PerSecond: 2}, Announced{Remaining: left(0), Reset: t0.Add(time.Minute)}, Standing{From: t0.Add(time.Minute)}},
	} {
		if got := StandingOf(c.state, limits, c.said, t0); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func TestMemberKeys(t *testing.T) {
	for _, key := range []string{"crossref", "@group"} {
		of, member := CutMember(MemberKey(key, "library"))
		if of != key || member != "library" || MemberKey(key, "") != key {
			t.Errorf("%s became %s and %s", key, of, member)
		}
	}
}
