package schedule

import (
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/duration"
)

const (
	second = duration.Duration(time.Second)
	minute = duration.Duration(time.Minute)
)

func flag(on bool) *bool { return &on }

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		name   string
		config Config
		want   string // "" is valid
	}{
		{"nothing", Config{}, ""},
		{"switched off", Config{Enabled: flag(false)}, ""},
		{"every", Config{Every: minute}, ""},
		{"cron", Config{Cron: "*/5 0-6 1,15 JAN-MAR MON"}, ""},
		{"Sunday twice", Config{Cron: "0 0 * * 0,7"}, ""},
		{"leap day", Config{Cron: "0 0 29 2 *"}, ""},
		{"leap day on a Sunday", Config{Cron: "0 0 29 2 */7"}, ""},
		{"ranges with a step and names", Config{Cron: "0-59/15 8-18/2 1-7 jan-dec mon-fri"}, ""},
		{"a signed number", Config{Cron: "+5 * * * *"}, `cannot have "+5" as its minute`},
		{"below the range", Config{Cron: "-5 * * * *"}, `cannot have "-5" as its minute`},
		{"five digits", Config{Cron: "00005 * * * *"}, `cannot have "00005" as its minute`},
		{"a range without an end", Config{Cron: "5- * * * *"}, `cannot have "5-" as its minute`},
		{"a step without a number", Config{Cron: "*/ * * * *"}, `cannot have "*/" as its minute`},
		{"two steps", Config{Cron: "*/2/2 * * * *"}, `cannot have "*/2/2" as its minute`},
		{"weekdays that go back", Config{Cron: "0 0 * * SAT-SUN"}, `cannot have "SAT-SUN" as its day of the week`},
		{"in a zone", Config{Cron: "0 3 * * *", Zone: "Europe/London"}, ""},
		{"both", Config{Cron: "0 3 * * *", Every: minute}, "every PT1M: E-SCHEDULE: stands beside cron"},
		{"both and off", Config{Cron: "0 3 * * *", Every: minute, Enabled: flag(false)}, "every PT1M: E-SCHEDULE: stands beside cron"},
		{"none and on", Config{Enabled: flag(true)}, "enabled true: E-SCHEDULE: needs cron or every"},
		{"half a second", Config{Every: second / 2}, "every PT0.5S: E-SCHEDULE: must be whole seconds"},
		{"jitter as long as every", Config{Every: minute, Jitter: minute}, "jitter PT1M: E-SCHEDULE: must be shorter than every PT1M"},
		{"jitter of days", Config{Cron: "0 3 * * *", Jitter: 2 * duration.Day}, "jitter P2D: E-SCHEDULE: must be at most a day"},
		{"unknown zone", Config{Cron: "0 3 * * *", Zone: "Mars/Olympus"}, `zone "Mars/Olympus": E-SCHEDULE: `},
		{"four fields", Config{Cron: "0 3 * *"}, "has 4 fields, cron has 5"},
		{"seconds", Config{Cron: "0 0 3 * * *"}, "has 6 fields, cron has 5"},
		{"a tag", Config{Cron: "@daily"}, "has 1 fields"},
		{"minute 60", Config{Cron: "60 * * * *"}, `cannot have "60" as its minute`},
		{"second of a list", Config{Cron: "0,60 * * * *"}, `cannot have "60" as its minute`},
		{"hour 24", Config{Cron: "0 24 * * *"}, `cannot have "24" as its hour`},
		{"day 0", Config{Cron: "0 0 0 * *"}, `cannot have "0" as its day of the month`},
		{"month 13", Config{Cron: "0 0 1 13 *"}, `cannot have "13" as its month`},
		{"day 8", Config{Cron: "0 0 * * 8"}, `cannot have "8" as its day of the week`},
		{"backwards", Config{Cron: "30-10 * * * *"}, `cannot have "30-10" as its minute`},
		{"step 0", Config{Cron: "*/0 * * * *"}, `cannot have "*/0" as its minute`},
		{"step without a range", Config{Cron: "5/10 * * * *"}, `cannot have "5/10" as its minute`},
		{"month for an hour", Config{Cron: "0 MAR * * *"}, `cannot have "MAR" as its hour`},
		{"weekday for a month", Config{Cron: "0 0 1 MON *"}, `cannot have "MON" as its month`},
		{"last day", Config{Cron: "0 0 L * *"}, `cannot have "L" as its day of the month`},
		{"anything", Config{Cron: "0 0 ? * *"}, `cannot have "?" as its day of the month`},
		{"star among others", Config{Cron: "0 0 1 * *,1"}, `cannot have "*" as its day of the week`},
		{"empty element", Config{Cron: "0, 0 * * *"}, `cannot have "" as its minute`},
		{"30 February", Config{Cron: "0 0 30 2 *"}, "there is no such day"},
	} {
		err := c.config.Validate()
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "E-SCHEDULE")):
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func TestOn(t *testing.T) {
	for _, c := range []struct {
		config Config
		want   bool
	}{
		{Config{}, false}, {Config{Every: minute}, true}, {Config{Cron: "0 3 * * *"}, true},
		{Config{Every: minute, Enabled: flag(false)}, false}, {Config{Every: minute, Enabled: flag(true)}, true},
	} {
		if got := c.config.On(); got != c.want {
			t.Errorf("%+v: %v", c.config, got)
		}
	}
}

// What says nothing leaves no trace, and one schedule has one spelling.
func TestWithDefaults(t *testing.T) {
	if got := (Config{}).WithDefaults(); got != (Config{}) {
		t.Errorf("%+v", got)
	}
	if got := (Config{Cron: "  0   3 *\t* mon "}).WithDefaults().Cron; got != "0 3 * * MON" {
		t.Errorf("%q", got)
	}
}

func TestString(t *testing.T) {
	for want, c := range map[string]Config{
		"every PT1M":              {Every: minute},
		"every PT1M, jitter PT5S": {Every: minute, Jitter: 5 * second},
		"cron 0 3 * * *":          {Cron: "0 3 * * *", Zone: "UTC"},
		"cron 0 3 * * * in Asia/Tokyo, jitter PT1M": {Cron: "0 3 * * *", Zone: "Asia/Tokyo", Jitter: minute},
	} {
		if got := c.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
