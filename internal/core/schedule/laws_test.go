package schedule

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/zone"
)

// matches is cron as its manual describes it, minute by minute: written for
// these tests, to hold the program against.
func matches(cron string, clock time.Time) bool {
	f := strings.Fields(cron)
	day, weekday := holds(f[2], clock.Day(), 1, 31), holds(f[4], int(clock.Weekday()), 0, 6)
	either := day && weekday
	if !strings.HasPrefix(f[2], "*") && !strings.HasPrefix(f[4], "*") {
		either = day || weekday
	}
	return clock.Second() == 0 && holds(f[0], clock.Minute(), 0, 59) && holds(f[1], clock.Hour(), 0, 23) && holds(f[3], int(clock.Month()), 1, 12) && either
}

func holds(field string, value, low, high int) bool {
	for part := range strings.SplitSeq(field, ",") {
		span, step, _ := strings.Cut(part, "/")
		from, to := low, high
		if span != "*" {
			first, last, isRange := strings.Cut(span, "-")
			from, _ = strconv.Atoi(first)
			if to = from; isRange {
				to, _ = strconv.Atoi(last)
			}
		}
		every := 1
		if step != "" {
			every, _ = strconv.Atoi(step)
		}
		if value >= from && value <= to && (value-from)%every == 0 {
			return true
		}
	}
	return false
}

func drawField(low, high int) *rapid.Generator[string] {
	part := rapid.Custom(func(t *rapid.T) string {
		a, b := rapid.IntRange(low, high).Draw(t, "a"), rapid.IntRange(low, high).Draw(t, "b")
		step := rapid.IntRange(1, high).Draw(t, "step")
		span := fmt.Sprintf("%d-%d", min(a, b), max(a, b))
		return rapid.SampledFrom([]string{"*", fmt.Sprintf("*/%d", step), strconv.Itoa(a), span, fmt.Sprintf("%s/%d", span, step)}).Draw(t, "part")
	})
	return rapid.Custom(func(t *rapid.T) string {
		parts := rapid.SliceOfN(part, 1, 3).Draw(t, "parts")
		if slices.Contains(parts, "*") {
			return "*"
		}
		return strings.Join(parts, ",")
	})
}

var drawCron = rapid.Custom(func(t *rapid.T) string {
	return strings.Join([]string{
		drawField(0, 59).Draw(t, "minute"), drawField(0, 23).Draw(t, "hour"), drawField(1, 31).Draw(t, "day"),
		drawField(1, 12).Draw(t, "month"), drawField(0, 6).Draw(t, "weekday"),
	}, " ")
})

// drawInstant draws mostly near jumps of the clock.
var drawInstant = rapid.Custom(func(t *rapid.T) time.Time {
	near := rapid.SampledFrom([]string{"2025-03-30 00:00:00", "2025-10-26 00:00:00", "2011-12-30 00:00:00", "2024-02-28 12:00:00", "2025-04-05 15:00:00"}).Draw(t, "near")
	return at(near).Add(time.Duration(rapid.Int64Range(-int64(18*time.Hour), int64(18*time.Hour)).Draw(t, "off")))
})

var drawZone = rapid.SampledFrom([]zone.Zone{"UTC", "Europe/London", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "Asia/Kathmandu", "+09:00"})

func valid(t *rapid.T, c Config) Schedule {
	s, err := New("any", c)
	if err != nil {
		t.Skip(err) // a day that does not exist
	}
	return s
}

// same reports the first tick in which two lists differ.
func same(t *rapid.T, s Schedule, got, want []time.Time) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || !got[i].Equal(want[i]) {
			t.Fatalf("%s: tick %d is %v, want %v", s.Config, i, got[min(i, len(got)):min(i+1, len(got))], want[min(i, len(want)):min(i+1, len(want))])
		}
	}
}

// stretch is how long the laws are walked, minute by minute.
const stretch = 5 * time.Hour

// In UTC the ticks are exactly the minutes that match: none lost, none twice,
// none invented.
func TestCronTicksAreTheMatchingMinutes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cron := drawCron.Draw(t, "cron")
		s, from := valid(t, Config{Cron: cron}), drawInstant.Draw(t, "from")
		to := from.Add(stretch)
		var want, got []time.Time
		for m := from.Truncate(time.Minute).Add(time.Minute); !m.After(to); m = m.Add(time.Minute) {
			if matches(cron, m) {
				want = append(want, m)
			}
		}
		for tick := s.Next(from); !tick.IsZero() && !tick.After(to); tick = s.Next(tick) {
			got = append(got, tick)
		}
		same(t, s, got, want)
	})
}

// The far tick is right too: nothing matches in between.
func TestCronTickAfterALongPause(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		day, month := rapid.IntRange(1, 31).Draw(t, "day"), rapid.IntRange(1, 12).Draw(t, "month")
		weekday := rapid.SampledFrom([]string{"*", "MON", "0", "*/2", "5-6"}).Draw(t, "weekday")
		s := valid(t, Config{Cron: fmt.Sprintf("0 0 %d %d %s", day, month, weekday)})
		from := drawInstant.Draw(t, "from")
		want := from.Truncate(24 * time.Hour).Add(24 * time.Hour)
		for !matches(strings.Replace(s.Config.Cron, "MON", "1", 1), want) {
			want = want.Add(24 * time.Hour)
		}
		if got := s.Next(from); !got.Equal(want) {
			t.Fatalf("%s after %v: %v, want %v", s.Config.Cron, from, got, want)
		}
	})
}

// In any zone a time of the clock has exactly one tick: the first instant at
// which the clock shows it or, where it jumps over it, a later time.
func TestEveryTimeOfTheClockHasOneTick(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cron := fmt.Sprintf("*/%d * * * *", rapid.SampledFrom([]int{1, 7, 20, 30}).Draw(t, "step"))
		s, from := valid(t, Config{Cron: cron, Zone: drawZone.Draw(t, "zone")}), drawInstant.Draw(t, "from").Truncate(time.Minute)
		to := from.Add(stretch)
		var want []time.Time
		highest := onClock(from, s.in)
		for m := from.Add(-3 * time.Hour); m.Before(from); m = m.Add(time.Minute) {
			if clock := onClock(m, s.in); clock.After(highest) {
				highest = clock // the clock was put back since
			}
		}
		for m := from.Add(time.Minute); !m.After(to); m = m.Add(time.Minute) {
			clock, reached := onClock(m, s.in), false
			for c := highest.Add(time.Minute); !c.After(clock); c = c.Add(time.Minute) {
				reached, highest = reached || matches(cron, c), c
			}
			if reached {
				want = append(want, m)
			}
		}
		var got []time.Time
		for tick := s.Next(from); !tick.After(to); tick = s.Next(tick) {
			got = append(got, tick)
		}
		same(t, s, got, want)
	})
}

// A nightly schedule fires once on every date its zone has.
func TestOnceADay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		clock := fmt.Sprintf("%d %d * * *", rapid.IntRange(0, 59).Draw(t, "minute"), rapid.IntRange(0, 23).Draw(t, "hour"))
		s := valid(t, Config{Cron: clock, Zone: rapid.SampledFrom([]zone.Zone{"Europe/London", "America/New_York", "Australia/Lord_Howe"}).Draw(t, "zone")})
		tick := s.Next(at("2025-01-01 00:00:00"))
		for range 366 {
			next := s.Next(tick)
			if today, tomorrow := onClock(tick, s.in).YearDay(), onClock(next, s.in).YearDay(); tomorrow != today+1 && tomorrow != 1 {
				t.Fatalf("%s in %s: %v, then %v", clock, s.Config.Zone, tick, next)
			}
			tick = next
		}
	})
}

var drawSchedule = rapid.Custom(func(t *rapid.T) Schedule {
	c := Config{Every: duration.Duration(rapid.Int64Range(1, 100_000).Draw(t, "every")) * second}
	c.Jitter = duration.Duration(rapid.Int64Range(0, int64(c.Every)-1).Draw(t, "jitter"))
	if rapid.Bool().Draw(t, "cron") {
		c = Config{Cron: drawCron.Draw(t, "cron"), Zone: drawZone.Draw(t, "zone"), Jitter: duration.Duration(rapid.Int64Range(0, int64(duration.Day)).Draw(t, "jitter"))}
	}
	return valid(t, c)
})

// Whenever and however often somebody asks, ticks go forward, each is taken at
// most once, and taken and missed ones together are all there were.
func TestDueTakesEveryTickOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, from := drawSchedule.Draw(t, "schedule"), drawInstant.Draw(t, "from")
		last, now, seen := from, from, 0
		for range rapid.IntRange(1, 6).Draw(t, "looks") {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(9*time.Hour)).Draw(t, "wait")))
			tick, missed, ok := s.Due(last, now)
			if !ok {
				continue
			}
			if !tick.After(last) || s.Fires(tick).After(now) || missed < 0 {
				t.Fatalf("from %v to %v: %v, %d missed", last, now, tick, missed)
			}
			seen += 1 + missed
			last = tick
		}
		all := 0
		if s.Config.Every > 0 {
			all = int(s.periodNumber(last) - s.periodNumber(from))
		} else {
			for tick := s.Next(from); !tick.IsZero() && !tick.After(last); tick = s.Next(tick) {
				all++
			}
		}
		if seen != all {
			t.Fatalf("%d ticks were taken or missed, there were %d", seen, all)
		}
	})
}

// A tick that fired by now is never left lying.
func TestDueLeavesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, last := drawSchedule.Draw(t, "schedule"), drawInstant.Draw(t, "last")
		tick := s.Next(last)
		if tick.IsZero() || tick.Sub(last) > 48*time.Hour {
			t.Skip("too far")
		}
		if fires := s.Fires(tick); fires.Before(tick) || fires.Sub(tick) > s.Config.Jitter.Std() {
			t.Fatalf("%v fires at %v, jitter %v", tick, fires, s.Config.Jitter)
		}
		got, _, ok := s.Due(last, s.Fires(tick))
		if !ok || got.Before(tick) {
			t.Fatalf("%v was due, got %v %v", tick, got, ok)
		}
	})
}

// Until it is worth asking again nothing becomes due, and then something does.
func TestWakesInTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, now := drawSchedule.Draw(t, "schedule"), drawInstant.Draw(t, "now").Truncate(time.Millisecond)
		last := now.Add(-time.Duration(rapid.Int64Range(0, int64(6*time.Hour)).Draw(t, "ago")))
		if tick, _, ok := s.Due(last, now); ok {
			last = tick
		}
		at := s.Wakes(last, now)
		if at.IsZero() || at.Sub(now) > 48*time.Hour {
			t.Skip("too far")
		}
		if tick, _, ok := s.Due(last, at.Add(-time.Millisecond)); ok {
			t.Fatalf("%v was due before %v", tick, at)
		}
		if _, _, ok := s.Due(last, at); !ok {
			t.Fatalf("nothing is due at %v", at)
		}
	})
}

// Restarts do not move the ticks of an interval, whenever they happen.
func TestEveryDoesNotDrift(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := named(t, Config{Every: duration.Duration(rapid.Int64Range(1, 1_000_000).Draw(t, "every")) * second})
		from := drawInstant.Draw(t, "from")
		tick := s.Next(from)
		if tick.Unix()%int64(s.Config.Every.Std()/time.Second) != 0 || tick.Sub(from) > s.Config.Every.Std() || !tick.After(from) {
			t.Fatalf("after %v: %v", from, tick)
		}
		restart := from.Add(time.Duration(rapid.Int64Range(0, int64(tick.Sub(from))-1).Draw(t, "restart")))
		if again := s.Next(restart); !again.Equal(tick) {
			t.Fatalf("asked at %v: %v, asked at %v: %v", from, tick, restart, again)
		}
	})
}

// Jitter is of a schedule and a tick, so it spreads both.
func TestJitterSpreads(t *testing.T) {
	c, seen := Config{Every: 60 * minute, Jitter: 10 * minute}, map[time.Duration]bool{}
	tick := at("2025-03-01 00:00:00")
	for i := range 20 {
		s, err := New(fmt.Sprintf("source%d/works/HARVEST", i), c)
		if err != nil {
			t.Fatal(err)
		}
		seen[s.Fires(tick).Sub(tick)] = true
		seen[s.Fires(s.Next(tick)).Sub(s.Next(tick))] = true
	}
	if len(seen) < 38 {
		t.Errorf("only %d different moments of 40", len(seen))
	}
}
