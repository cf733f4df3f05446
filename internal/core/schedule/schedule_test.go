package schedule

import (
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/zone"
)

func at(text string) time.Time {
	t, err := time.Parse("2006-01-02 15:04:05", text)
	if err != nil {
		panic(err)
	}
	return t
}

type fatal interface {
	Helper()
	Fatal(...any)
}

func named(t fatal, c Config) Schedule {
	t.Helper()
	s, err := New("crossref/works/HARVEST", c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestNext(t *testing.T) {
	for _, c := range []struct {
		config Config
		after  string
		want   []string
	}{
		{Config{Every: 15 * minute}, "2025-03-01 00:00:00", []string{"2025-03-01 00:15:00", "2025-03-01 00:30:00"}},
		{Config{Every: 7 * second}, "1970-01-01 00:00:00", []string{"1970-01-01 00:00:07", "1970-01-01 00:00:14"}},
		{Config{Every: 7 * second}, "1969-12-31 23:59:52", []string{"1969-12-31 23:59:53", "1970-01-01 00:00:00"}},
		{Config{Cron: "0 3 * * *"}, "2025-03-01 02:59:59", []string{"2025-03-01 03:00:00", "2025-03-02 03:00:00"}},
		{Config{Cron: "0 3 * * *"}, "2025-03-01 03:00:00", []string{"2025-03-02 03:00:00"}},
		{Config{Cron: "30 1 1 * MON"}, "2025-03-01 00:00:00", []string{"2025-03-01 01:30:00", "2025-03-03 01:30:00", "2025-03-10 01:30:00"}},
		{Config{Cron: "0 0 31 * *"}, "2025-03-31 00:00:00", []string{"2025-05-31 00:00:00", "2025-07-31 00:00:00"}},
		{Config{Cron: "0 0 29 2 *"}, "2096-02-29 00:00:00", []string{"2104-02-29 00:00:00"}},
		{Config{Cron: "0 0 29 2 */7"}, "2000-01-01 00:00:00", []string{"2004-02-29 00:00:00", "2032-02-29 00:00:00"}},
		{Config{Cron: "0 0 29 2 */7"}, "2088-02-29 00:00:00", []string{"2128-02-29 00:00:00"}},
		{Config{Cron: "0 0 * * 5-7"}, "2025-03-05 00:00:00", []string{"2025-03-07 00:00:00", "2025-03-08 00:00:00", "2025-03-09 00:00:00", "2025-03-14 00:00:00"}},
		{Config{Cron: "0 0 * * 7-1"}, "2025-03-05 00:00:00", []string{"2025-03-09 00:00:00", "2025-03-10 00:00:00", "2025-03-16 00:00:00"}},
		{Config{Cron: "0 0 13 * */2"}, "2025-03-01 00:00:00", []string{"2025-03-13 00:00:00", "2025-04-13 00:00:00", "2025-05-13 00:00:00"}},
		{Config{Cron: "0 9 * * *", Zone: "Asia/Tokyo"}, "2025-03-01 00:00:00", []string{"2025-03-02 00:00:00"}},
		{Config{Cron: "0 0 * * *", Zone: "-03:30"}, "2025-03-01 00:00:00", []string{"2025-03-01 03:30:00"}},

		// London goes from 01:00 to 02:00 on 30 March: 01:30 does not exist and fires at the jump.
		{Config{Cron: "30 1 * * *", Zone: "Europe/London"}, "2025-03-29 12:00:00", []string{"2025-03-30 01:00:00", "2025-03-31 00:30:00"}},
		{Config{Cron: "*/20 * * * *", Zone: "Europe/London"}, "2025-03-30 00:30:00",
			[]string{"2025-03-30 00:40:00", "2025-03-30 01:00:00", "2025-03-30 01:20:00"}},
		// It goes from 02:00 back to 01:00 on 26 October: 01:30 comes twice and fires the first time.
		{Config{Cron: "30 1 * * *", Zone: "Europe/London"}, "2025-10-25 12:00:00", []string{"2025-10-26 00:30:00", "2025-10-27 01:30:00"}},
		{Config{Cron: "*/30 * * * *", Zone: "Europe/London"}, "2025-10-25 23:45:00",
			[]string{"2025-10-26 00:00:00", "2025-10-26 00:30:00", "2025-10-26 02:00:00"}},
		// Samoa had no 30 December 2011: its midnight is that of the 31st.
		{Config{Cron: "0 0 30 12 *", Zone: "Pacific/Apia"}, "2011-12-29 00:00:00", []string{"2011-12-30 10:00:00", "2012-12-29 10:00:00"}},
	} {
		s, when := named(t, c.config), at(c.after)
		for _, want := range c.want {
			if when = s.Next(when); !when.Equal(at(want)) {
				t.Errorf("%v after %s: %v, want %s", c.config, c.after, when, want)
				break
			}
		}
	}
	if got := (Schedule{}).Next(at("2025-03-01 00:00:00")); !got.IsZero() {
		t.Errorf("no schedule has a tick at %v", got)
	}
}

func TestDue(t *testing.T) {
	for _, c := range []struct {
		config    Config
		last, now string
		tick      string // "" for none
		missed    int
	}{
		{Config{Cron: "0 3 * * *"}, "2025-03-01 03:00:00", "2025-03-02 02:59:59", "", 0},
		{Config{Cron: "0 3 * * *"}, "2025-03-01 03:00:00", "2025-03-02 03:00:00", "2025-03-02 03:00:00", 0},
		{Config{Cron: "0 3 * * *"}, "2025-03-01 03:00:00", "2025-03-09 12:00:00", "2025-03-09 03:00:00", 7},
		{Config{Cron: "0 3 * * *"}, "2025-03-01 12:00:00", "2025-03-02 12:00:00", "2025-03-02 03:00:00", 0}, // first seen at noon
		{Config{Cron: "0 3 * * *"}, "2025-03-09 03:00:00", "2025-03-01 12:00:00", "", 0},                    // the clock went back
		{Config{Every: minute}, "2025-03-01 00:00:00", "2025-03-01 00:00:59", "", 0},
		{Config{Every: minute}, "2025-03-01 00:00:00", "2025-03-01 00:01:00", "2025-03-01 00:01:00", 0},
		{Config{Every: minute}, "2025-03-01 00:00:30", "2025-03-01 00:01:00", "2025-03-01 00:01:00", 0},
		{Config{Every: second}, "2020-01-01 00:00:00", "2025-01-01 00:00:00", "2025-01-01 00:00:00", 157852799},
		{Config{Every: minute}, "2025-03-01 00:05:00", "2025-03-01 00:01:00", "", 0},
	} {
		tick, missed, ok := named(t, c.config).Due(at(c.last), at(c.now))
		if ok != (c.tick != "") || ok && (!tick.Equal(at(c.tick)) || missed != c.missed) {
			t.Errorf("%v from %s to %s: %v, %d missed, %v", c.config, c.last, c.now, tick, missed, ok)
		}
	}
}

// A year without the program, in a zone that jumps: of the hour that came twice
// in October six ticks count once, and in March none is lost.
func TestDueAfterAYear(t *testing.T) {
	s := named(t, Config{Cron: "*/10 * * * *", Zone: "Europe/London"})
	tick, missed, ok := s.Due(at("2024-06-01 00:00:00"), at("2025-06-01 00:05:00"))
	if want := 365*144 - 6 - 1; !ok || !tick.Equal(at("2025-06-01 00:00:00")) || missed != want {
		t.Errorf("%v, %d missed, want %d", tick, missed, want)
	}
}

func TestKeyIsTheTickNotWhenItFires(t *testing.T) {
	plain, late := named(t, Config{Every: minute}), named(t, Config{Every: minute, Jitter: 30 * second})
	tick := plain.Next(at("2025-03-01 00:00:00"))
	if late.Fires(tick).Equal(tick) {
		t.Fatal("this tick is not moved, choose another")
	}
	if plain.Key(tick) != late.Key(tick) || plain.Key(tick) != "schedule crossref/works/HARVEST 2025-03-01T00:01:00Z" {
		t.Errorf("%s, %s", plain.Key(tick), late.Key(tick))
	}
	if got := named(t, Config{Every: minute}).Key(tick.In(time.FixedZone("x", 3600))); got != plain.Key(tick) {
		t.Errorf("another zone, another key: %s", got)
	}
}

func TestNewRefuses(t *testing.T) {
	for _, c := range []Config{{Enabled: flag(true)}, {Cron: "nonsense"}, {Cron: "0 3 * * *", Zone: zone.Zone("nowhere")}, {Every: -duration.Day}} {
		if _, err := New("x", c); err == nil {
			t.Errorf("%+v was taken", c)
		}
	}
}

// A year in a zone that jumps, as a planner meets it that was away.
func BenchmarkDueAfterAYear(b *testing.B) {
	for name, cron := range map[string]string{"minutes": "* * * * *", "ten minutes": "*/10 * * * *"} {
		b.Run(name, func(b *testing.B) {
			s := named(b, Config{Cron: cron, Zone: "Europe/London"})
			ticks := 0
			for b.Loop() {
				_, missed, _ := s.Due(at("2024-06-01 00:00:00"), at("2025-06-01 00:00:30"))
				if missed == 0 {
					b.Fatal("nothing was missed")
				}
				ticks += missed + 1
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(ticks), "ns/tick")
		})
	}
}
