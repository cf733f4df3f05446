package freshness

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/schedule"
	"github.com/patra-ingest/patra/internal/core/window"
)

const hour = duration.Duration(time.Hour)

func TestDefaultMaxLag(t *testing.T) {
	lag := 3 * hour
	off := false
	for name, c := range map[string]struct {
		schedule schedule.Config
		window   window.Config
		want     duration.Duration
	}{
		"no schedule":      {schedule.Config{}, window.Config{}, 0},
		"switched off":     {schedule.Config{Every: hour, Enabled: &off}, window.Config{}, 0},
		"every hour":       {schedule.Config{Every: hour}, window.Config{}, 2*hour + 24*hour + hour},
		"with jitter":      {schedule.Config{Every: hour, Jitter: hour / 2}, window.Config{}, 2*hour + hour/2 + 24*hour + hour},
		"daily":            {schedule.Config{Cron: "0 3 * * *"}, window.Config{}, 48*hour - 6*hour + 24*hour + hour},
		"on workdays":      {schedule.Config{Cron: "0 3 * * 1-5"}, window.Config{}, 2*69*hour + 24*hour + hour},
		"small windows":    {schedule.Config{Every: hour}, window.Config{Size: hour}, 2*hour + hour + hour},
		"lookback":         {schedule.Config{Every: hour}, window.Config{Lookback: 2 * hour}, 2*hour + 24*hour + 2*hour + hour},
		"long lookback":    {schedule.Config{Every: hour}, window.Config{Lookback: 30 * duration.Day}, 2*hour + 24*hour + 24*hour + hour},
		"long safety lag":  {schedule.Config{Every: hour}, window.Config{SafetyLag: &lag}, 2*hour + 24*hour + 3*hour},
		"a day that never": {schedule.Config{Cron: "0 3 30 2 *"}, window.Config{}, 0},
	} {
		if got := DefaultMaxLag(c.schedule, c.window); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	declared := 2 * hour
	if got := (Config{MaxLag: &declared}).Filled(schedule.Config{Every: hour}, window.Config{}).Limit(); got != 2*time.Hour {
		t.Errorf("what is declared counts, not %s", got)
	}
	none := duration.Duration(0)
	if got := (Config{MaxLag: &none}).Filled(schedule.Config{Every: hour}, window.Config{}).Limit(); got != 0 {
		t.Errorf("PT0S is none, not %s", got)
	}
	if got := (Config{}).Filled(schedule.Config{}, window.Config{}).Limit(); got != 0 {
		t.Errorf("without a schedule %s", got)
	}
}

// A source that is harvested at every tick, to the end of what is safe, is never late: the
// threshold is longer than its lag right before the next tick.
func TestWhoFollowsItsScheduleIsNeverLate(t *testing.T) {
	crons := []string{"*/5 * * * *", "0 * * * *", "0 */5 * * *", "0 3 * * *", "30 9-17 * * 1-5", "0 3 * * 0", "0 3 1 * *"}
	rapid.Check(t, func(t *rapid.T) {
		c := schedule.Config{Every: duration.Duration(rapid.Int64Range(60, 14*86400).Draw(t, "every")) * duration.Duration(time.Second)}
		if rapid.Bool().Draw(t, "cron") {
			c = schedule.Config{Cron: rapid.SampledFrom(crons).Draw(t, "fields")}
		}
		w := window.Config{Size: hour * duration.Duration(rapid.Int64Range(1, 72).Draw(t, "size")), Lookback: hour * duration.Duration(rapid.Int64Range(0, 72).Draw(t, "lookback"))}
		s, err := schedule.New("s", c)
		if err != nil {
			t.Fatal(err)
		}
		now := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(rapid.Int64Range(0, 365*86400).Draw(t, "now")) * time.Second)
		tick := s.Next(now)
		before := s.Next(tick)
		watermark := tick.Add(-window.DefaultMaxSafetyLag.Std()) // the lag as high as it may rise
		if lag := before.Sub(watermark); lag > DefaultMaxLag(c, w).Std() {
			t.Fatalf("%s right before the next tick is more than %s", lag, DefaultMaxLag(c, w))
		}
	})
}

// One tick may be late; the second one is not waited for.
func TestSilentAfterTwoTicks(t *testing.T) {
	s, err := schedule.New("s", schedule.Config{Every: hour})
	if err != nil {
		t.Fatal(err)
	}
	noon := time.Date(2025, 3, 9, 12, 0, 0, 0, time.UTC)
	for after, want := range map[time.Duration]bool{time.Hour: false, 2 * time.Hour: false, 2*time.Hour + 2*time.Minute: true, 9 * time.Hour: true} {
		if since, silent := Silent(s, noon, noon.Add(after)); silent != want || silent && !since.Equal(noon.Add(time.Hour)) {
			t.Errorf("%s after the last tick: %t since %s", after, silent, since)
		}
	}
	if _, silent := Silent(schedule.Schedule{}, noon, noon.AddDate(9, 0, 0)); silent {
		t.Error("what has no ticks is silent")
	}
}

func TestStalledAfterHalfAnHourWithoutAdvance(t *testing.T) {
	noon := time.Date(2025, 3, 9, 12, 0, 0, 0, time.UTC)
	at := func(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }
	for name, c := range map[string]struct {
		watermark, end, fired, moved, now time.Time
		want                              bool
	}{
		"there":                      {at(-10), at(-10), at(0), at(-60), at(300), false},
		"the tick fired just now":    {at(-70), at(-10), at(0), at(-60), at(29), false},
		"nothing moved for half one": {at(-70), at(-10), at(0), at(-60), at(30), true},
		"it moved a little":          {at(-40), at(-10), at(0), at(20), at(49), false},
		"and then no more":           {at(-40), at(-10), at(0), at(20), at(50), true},
	} {
		if _, got := Stalled(c.watermark, c.end, c.fired, c.moved, c.now, 30*time.Minute); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
