package extract

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/document"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/core/zone"
)

// valueOf is a JSON text as a path finds it.
func valueOf(t fataler, text string) document.Value {
	reader, err := document.Compile(document.Shape{Page: []document.Path{path("$.d")}})
	if err != nil {
		t.Fatalf("%v", err)
	}
	page, err := reader.Read([]byte(`{"d":`+text+`}`), document.Limits{})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return page.Values[0]
}

type fataler interface{ Fatalf(string, ...any) }

func datesIn(t fataler, name string, formats ...string) *Dates {
	z, err := zone.Parse(name)
	if err != nil {
		t.Fatalf("%v", err)
	}
	d, err := NewDates(z, formats)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return d
}

// instants are texts of JSON and what they stand for; "" is not a date.
var instants = map[string]string{
	// ISO with and without zone
	`"2024-05-04T10:11:12Z"`:          "2024-05-04T10:11:12Z",
	`"2024-05-04T10:11:12+02:00"`:     "2024-05-04T08:11:12Z",
	`"2024-05-04T10:11:12+0200"`:      "2024-05-04T08:11:12Z",
	`"2024-05-04T10:11:12.1234567Z"`:  "2024-05-04T10:11:12.123456Z",
	`"2024-05-04T10:11:12,5Z"`:        "2024-05-04T10:11:12.5Z",
	`"2024-05-04T23:59:59.9999999Z"`:  "2024-05-04T23:59:59.999999Z",
	`"2024-05-04T10:11:12.123456789"`: "2024-05-04T10:11:12.123456Z",
	`"2024-05-04T10:11:12"`:           "2024-05-04T10:11:12Z",
	`"2024-05-04T10:11:12.5"`:         "2024-05-04T10:11:12.5Z",
	`"2024-05-04T10:11"`:              "2024-05-04T10:11:00Z",
	`"2024-05-04T10:11Z"`:             "2024-05-04T10:11:00Z",
	`"2024-05-04 10:11:12"`:           "2024-05-04T10:11:12Z",
	`"2024-05-04 10:11:12.25"`:        "2024-05-04T10:11:12.25Z",
	`"2024-05-04 10:11:12+02:00"`:     "2024-05-04T08:11:12Z",
	`"2024-05-04 10:11:12 UTC"`:       "2024-05-04T10:11:12Z",
	`"2024-05-04 10:11:12 -0330"`:     "2024-05-04T13:41:12Z",
	`"2024-05-04"`:                    "2024-05-04T00:00:00Z",
	`" 2024-05-04\n"`:                 "2024-05-04T00:00:00Z",
	`"2024-05"`:                       "2024-05-01T00:00:00Z",
	`"2024"`:                          "2024-01-01T00:00:00Z",
	`"1000-01-01"`:                    "1000-01-01T00:00:00Z",
	`"9999-12-31T23:59:59Z"`:          "9999-12-31T23:59:59Z",
	// other numbers
	`"2024/05/04"`:          "2024-05-04T00:00:00Z",
	`"2024/5/4"`:            "2024-05-04T00:00:00Z",
	`"2024/05"`:             "2024-05-01T00:00:00Z",
	`"2024/05/04 06:00"`:    "2024-05-04T06:00:00Z",
	`"2024/05/04 06:00:07"`: "2024-05-04T06:00:07Z",
	`"20240504"`:            "2024-05-04T00:00:00Z",
	`20240504`:              "2024-05-04T00:00:00Z",
	`2024`:                  "2024-01-01T00:00:00Z",
	// mail and words
	`"Sat, 04 May 2024 10:11:12 GMT"`:   "2024-05-04T10:11:12Z",
	`"Sat, 4 May 2024 10:11:12 UTC"`:    "2024-05-04T10:11:12Z",
	`"Sat, 04 May 2024 10:11:12 +0200"`: "2024-05-04T08:11:12Z",
	`"2020 Jan 5"`:                      "2020-01-05T00:00:00Z",
	`"2020 Jan"`:                        "2020-01-01T00:00:00Z",
	`"Jan 2020"`:                        "2020-01-01T00:00:00Z",
	`"January 5, 2020"`:                 "2020-01-05T00:00:00Z",
	`"5 sept. 2020"`:                    "2020-09-05T00:00:00Z",
	`"2020 Jan-Feb"`:                    "2020-01-01T00:00:00Z",
	`"Jan–Feb 2020"`:                    "2020-01-01T00:00:00Z",
	`"1998 Dec-1999 Jan"`:               "1998-12-01T00:00:00Z",
	`"2015 Nov 11-17"`:                  "2015-11-11T00:00:00Z",
	`"2000 Feb 28-Mar 6"`:               "2000-02-28T00:00:00Z",
	`"1978-1979"`:                       "1978-01-01T00:00:00Z",
	`"2020 Spring"`:                     "2020-03-01T00:00:00Z",
	`"Summer 2020"`:                     "2020-06-01T00:00:00Z",
	`"2020 Fall"`:                       "2020-09-01T00:00:00Z",
	`"autumn 2020"`:                     "2020-09-01T00:00:00Z",
	`"Winter 2020"`:                     "2020-12-01T00:00:00Z",
	`"2000 Spring-Summer"`:              "2000-03-01T00:00:00Z",
	// date-parts
	`[2020,1,5]`:          "2020-01-05T00:00:00Z",
	`[[2020,1]]`:          "2020-01-01T00:00:00Z",
	`[["2020","01","5"]]`: "2020-01-05T00:00:00Z",
	`[[2020]]`:            "2020-01-01T00:00:00Z",
	`[2020,5,null]`:       "2020-05-01T00:00:00Z",
	`[[2020,1],[2021,2]]`: "2020-01-01T00:00:00Z",
	`["2020-01-05"]`:      "2020-01-05T00:00:00Z",
	`["2020","Jan"]`:      "2020-01-01T00:00:00Z",
	// objects
	`{"Year":"2020","Month":"Jan","Day":"5"}`: "2020-01-05T00:00:00Z",
	`{"year":2020,"month":2}`:                 "2020-02-01T00:00:00Z",
	`{"YEAR":"2020"}`:                         "2020-01-01T00:00:00Z",
	`{"Year":"2020","Month":"","Day":null}`:   "2020-01-01T00:00:00Z",
	`{"Year":"2020","Season":"Summer"}`:       "2020-06-01T00:00:00Z",
	`{"MedlineDate":"1998 Dec-1999 Jan"}`:     "1998-12-01T00:00:00Z",
	`{"@PubStatus":"entrez","Year":"2020","Month":"1","Day":"5","Hour":"6","Minute":"0"}`: "2020-01-05T06:00:00Z",
	`{"#text":"2020-01-05","@type":"updated"}`:                                            "2020-01-05T00:00:00Z",
	`{"year":"2020","month":"5","title":"of a journal"}`:                                  "2020-05-01T00:00:00Z",
	// epoch
	`1714817472`:         "2024-05-04T10:11:12Z",
	`1714817472000`:      "2024-05-04T10:11:12Z",
	`1714817472123`:      "2024-05-04T10:11:12.123Z",
	`1714817472123456`:   "2024-05-04T10:11:12.123456Z",
	`"1714817472"`:       "2024-05-04T10:11:12Z",
	`"1714817472123"`:    "2024-05-04T10:11:12.123Z",
	`"1714817472123456"`: "2024-05-04T10:11:12.123456Z",
	`-864000000`:         "1942-08-16T00:00:00Z",
	`99999999999`:        "5138-11-16T09:46:39Z",
	`100000000000`:       "1973-03-03T09:46:40Z",
	`1714817472.0`:       "2024-05-04T10:11:12Z",
	// no dates
	`0`: "", `-86400`: "", `7`: "", `-123`: "", `202405`: "", `"202405"`: "", `"202405041011"`: "", `"20240504101112"`: "",
	`"0000-01-01"`: "", `"0000"`: "", `"0999-12-31"`: "", `"9999-12-31T23:59:59-01:00"`: "",
	`"2024-02-30"`: "", `"2024-13-01"`: "", `"2024-13"`: "", `"2024-5"`: "", `"20241301"`: "", `20241301`: "", `"2024/13"`: "",
	`"2024-05-04T24:00:00Z"`: "", `"2024-05-04T10:61:00Z"`: "", `"2018-0806T10:00:00Z"`: "",
	`"Sat, 04 May 2024 10:11:12 PST"`: "", `"2024-05-04 10:11:12 CET"`: "",
	`"yesterday"`: "", `""`: "", `" "`: "", `"Jan"`: "", `"5 2020"`: "", `"2020 Jan Feb"`: "", `"2020 2021"`: "", `"2020 Jan 32"`: "",
	`"2020 Jan-"`: "", `"-2020"`: "", `"2020 Jan-soon"`: "", `"2020 Feb 30"`: "", `"2012 2nd Quarter"`: "", `"Jan 2020 Spring"`: "",
	`1714817472.5`: "", `1e9`: "", `9223372036854775807`: "", `-9223372036854775808`: "", `99999999999999999999`: "", `9007199254740993999`: "",
	`null`: "", `true`: "", `[]`: "", `[[null]]`: "", `[[]]`: "", `[null,1]`: "", `[2020,13]`: "", `[2020,2,30]`: "", `[2020,1,5,6]`: "", `[2020,0]`: "",
	`[2020,"soon"]`: "", `[2020.5,1]`: "", `["2020-01-05","2020-01-06"]`: "", `[{"a":1},2]`: "",
	`{}`: "", `{"date-time":"2024-05-04"}`: "", `{"Year":"2020","Day":"5"}`: "", `{"Year":"2020","year":"2021"}`: "", `{"Year":"20 20"}`: "",
	`{"Year":"2020","Month":"13"}`: "", `{"Year":"2020","Season":"Rain"}`: "", `{"Year":"2020","Month":"0"}`: "", `{"Month":"Jan"}`: "",
	`{"Year":[2020]}`: "", `{"Year":"2020","Month":"1","Day":"5","Hour":"24"}`: "",
	`"` + strings.Repeat("9", 5e4) + `"`: "",
}

func TestInstants(t *testing.T) {
	d := datesIn(t, "UTC")
	for text, want := range instants {
		got, err := d.Instant(valueOf(t, text))
		switch {
		case err == nil && got.Format(time.RFC3339Nano) != want:
			t.Errorf("%.60s: read as %v, want %q", text, got, want)
		case err != nil && want != "":
			t.Errorf("%.60s: %v", text, err)
		case err != nil && len(err.Error()) > 250:
			t.Errorf("%.60s: an error of %d bytes", text, len(err.Error()))
		}
	}
}

// What has no zone of its own is in the zone of the endpoint; partial dates are
// the first instant there.
func TestInstantsInAZone(t *testing.T) {
	for zone, wants := range map[string]map[string]string{
		"+08:00": {
			`"2024-05-04"`: "2024-05-03T16:00:00Z", `"2024-05"`: "2024-04-30T16:00:00Z", `"2024"`: "2023-12-31T16:00:00Z", `"2024-05-04T10:00:00"`: "2024-05-04T02:00:00Z",
			`"2024-05-04T10:00:00Z"`: "2024-05-04T10:00:00Z", `"Sat, 04 May 2024 10:11:12 GMT"`: "2024-05-04T10:11:12Z", `"2024-05-04 10:11:12 UTC"`: "2024-05-04T10:11:12Z",
			`1714817472`: "2024-05-04T10:11:12Z", `[[2024,5]]`: "2024-04-30T16:00:00Z", `{"Year":"2024"}`: "2023-12-31T16:00:00Z", `"2024 Spring"`: "2024-02-29T16:00:00Z",
		},
		"Europe/Berlin": {`"2024-01-04"`: "2024-01-03T23:00:00Z", `"2024-07-04"`: "2024-07-03T22:00:00Z"},
		// The clocks jumped from midnight to one: the day begins at one.
		"America/Sao_Paulo": {`"2018-11-04"`: "2018-11-04T03:00:00Z"},
	} {
		d := datesIn(t, zone)
		for text, want := range wants {
			if got, err := d.Instant(valueOf(t, text)); err != nil || got.Format(time.RFC3339Nano) != want {
				t.Errorf("%s in %s: %v, %v; want %s", text, zone, got, err, want)
			}
		}
	}
}

func TestDateFormatsComeFirst(t *testing.T) {
	d := datesIn(t, "+01:00", "dd.MM.yyyy HH:mm", "dd/MM/yyyy", "yyyyMMddHHmmss", "yyyyMMddHHmm", "d MMMM yyyy, HH:mm:ss.SSS XXX")
	for text, want := range map[string]string{
		`"04.05.2024 10:11"`:                "2024-05-04T09:11:00Z",
		`"04/05/2024"`:                      "2024-05-03T23:00:00Z",
		`"20240504101112"`:                  "2024-05-04T09:11:12Z",
		`"202405041011"`:                    "2024-05-04T09:11:00Z",
		`"4 May 2024, 10:11:12.250 +02:00"`: "2024-05-04T08:11:12.25Z",
		`"2024-05-04"`:                      "2024-05-03T23:00:00Z",
		`"31/02/2024"`:                      "",
	} {
		got, err := d.Instant(valueOf(t, text))
		if err == nil != (want != "") || err == nil && got.Format(time.RFC3339Nano) != want {
			t.Errorf("%s: %v, %v; want %q", text, got, err, want)
		}
	}
	for _, bad := range []string{"", "MM/dd", "yyyy-dd", "YYYY-MM-DD", "yyyy HH", "yyyy-MM-ddTHH:mm:ssSSS", "yyyy Jan", "2006-01-02", "yyyy mm", "yy-MM", "yyyy-MM-ddXXX"} {
		if _, err := NewDates(zone.UTC, []string{bad}); err == nil {
			t.Errorf("pattern %q was taken", bad)
		}
	}
}

// printed are the supported shapes, each with what it keeps of an instant.
var printed = []struct {
	name  string
	text  func(time.Time) string
	keeps func(time.Time) time.Time
}{
	{"RFC 3339", layout(time.RFC3339Nano), micro},
	{"nanoseconds", layout("2006-01-02T15:04:05.000000000Z07:00"), micro},
	{"no zone", layout("2006-01-02T15:04:05.999999"), micro},
	{"blank", layout("2006-01-02 15:04:05"), floor(time.Second)},
	{"offset", layout("2006-01-02T15:04:05-0700"), floor(time.Second)},
	{"minute", layout("2006-01-02T15:04"), floor(time.Minute)},
	{"day", layout("2006-01-02"), dayOf},
	{"month", layout("2006-01"), monthOf},
	{"year", layout("2006"), yearOf},
	{"slashes", layout("2006/01/02"), dayOf},
	{"slashes with time", layout("2006/01/02 15:04"), floor(time.Minute)},
	{"slashed month", layout("2006/01"), monthOf},
	{"compact", layout("20060102"), dayOf},
	{"mail", func(at time.Time) string { return `"` + at.UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT") + `"` }, floor(time.Second)},
	{"mail with offset", layout(time.RFC1123Z), floor(time.Second)},
	{"words", layout("2006 Jan 2"), dayOf},
	{"month and year", layout("January 2006"), monthOf},
	{"span", func(at time.Time) string { return at.Format(`"2006 Jan-`) + at.AddDate(0, 2, 0).Format(`2006 Jan"`) }, monthOf},
	{"parts", layout3(`[[%d,%d,%d]]`), dayOf},
	{"parts as texts", layout3(`["%d","%d","%d"]`), dayOf},
	{"two parts", func(at time.Time) string { return fmt.Sprintf(`[%d,%d]`, at.Year(), at.Month()) }, monthOf},
	{"object", layout3(`{"Year":"%04d","Month":"%02d","Day":"%02d"}`), dayOf},
	{"named month", func(at time.Time) string { return at.Format(`{"year":2006,"month":"Jan"}`) }, monthOf},
	{"seconds", func(at time.Time) string { return fmt.Sprint(at.Unix()) }, floor(time.Second)},
	{"milliseconds", func(at time.Time) string { return fmt.Sprint(at.UnixMilli()) }, floor(time.Millisecond)},
	{"microseconds", func(at time.Time) string { return fmt.Sprint(at.UnixMicro()) }, micro},
	{"seconds as text", func(at time.Time) string { return fmt.Sprintf(`"%d"`, at.Unix()) }, floor(time.Second)},
}

func layout(l string) func(time.Time) string {
	return func(at time.Time) string { return `"` + at.Format(l) + `"` }
}

func layout3(l string) func(time.Time) string {
	return func(at time.Time) string { return fmt.Sprintf(l, at.Year(), at.Month(), at.Day()) }
}

func micro(at time.Time) time.Time { return at.Truncate(time.Microsecond) }

func floor(unit time.Duration) func(time.Time) time.Time {
	return func(at time.Time) time.Time { return at.Truncate(unit) } // the zones below are whole minutes off
}

func dayOf(at time.Time) time.Time   { return dateIn(at, at.Year(), at.Month(), at.Day()) }
func monthOf(at time.Time) time.Time { return dateIn(at, at.Year(), at.Month(), 1) }
func yearOf(at time.Time) time.Time  { return dateIn(at, at.Year(), 1, 1) }

func dateIn(at time.Time, y int, m time.Month, d int) time.Time {
	return time.Date(y, m, d, 0, 0, 0, 0, at.Location())
}

// Printing an instant in a shape and reading it back gives the instant, cut to
// what the shape keeps.
func TestShapesReadBack(t *testing.T) {
	zones := []string{"UTC", "+08:00", "-03:30", "Asia/Tokyo"}
	rapid.Check(t, func(t *rapid.T) {
		d := datesIn(t, rapid.SampledFrom(zones).Draw(t, "zone"))
		// From 1985 epoch numbers have their usual lengths; to 5000 they are told by size.
		at := time.Unix(rapid.Int64Range(473385600, 95617584000).Draw(t, "seconds"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanoseconds")).In(d.zone)
		shape := rapid.SampledFrom(printed).Draw(t, "shape")
		text, want := shape.text(at), shape.keeps(at)
		got, err := d.Instant(valueOf(t, text))
		if err != nil || !got.Equal(want) || got.Location() != time.UTC {
			t.Fatalf("%s: %s was read as %v, %v; want %v", shape.name, text, got, err, want)
		}
		// What is exact to the second is taken at its word; what is coarser covers its time.
		if r, err := d.readValue(valueOf(t, text)); at.Sub(want) >= time.Second && (err != nil || !r.within.Contains(micro(at))) {
			t.Fatalf("%s: %s may lie in %v, but was printed for %v", shape.name, text, r.within, at)
		}
	})
}

// An unreadable updatedAt costs its item and says where.
func TestBadDateIsOneReject(t *testing.T) {
	r := compiled(t, func(c *Config) { c.Filtered = Selector{} })
	for _, text := range []string{`"yesterday"`, `null`, `true`, `[[null]]`, `"` + strings.Repeat("9", 5e4) + `"`} {
		_, reject := one(t, r, fmt.Sprintf(`{"id":"a","at":%s}`, text))
		if reject == nil || reject.Reason != record.BadUpdatedAt || reject.ProviderID != "a" || reject.Path != "$.at" || len(reject.Detail) > 250 {
			t.Errorf("%.40s: %+.200v", text, reject)
		}
	}
}

func FuzzInstant(f *testing.F) {
	for text := range instants {
		if len(text) < 200 {
			f.Add(text)
		}
	}
	reader, err := document.Compile(document.Shape{Page: []document.Path{path("$.d")}})
	if err != nil {
		f.Fatal(err)
	}
	all := []*Dates{datesIn(f, "UTC"), datesIn(f, "America/Sao_Paulo", "dd.MM.yyyy", "yyyyMMddHHmm")}
	f.Fuzz(func(t *testing.T, text string) {
		page, err := reader.Read([]byte(`{"d":`+text+`}`), document.Limits{})
		if err != nil {
			t.Skip()
		}
		for _, d := range all {
			at, err := d.Instant(page.Values[0])
			if err != nil {
				continue
			}
			if window.CheckInstant(at) != nil || !at.Equal(window.Instant(at)) {
				t.Fatalf("%s: %v is not an instant we store", text, at)
			}
			if r, _ := d.readValue(page.Values[0]); !r.within.Contains(at) {
				t.Fatalf("%s: %v is not within %v", text, at, r.within)
			}
		}
	})
}
