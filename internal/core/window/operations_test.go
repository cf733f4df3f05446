package window

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/duration"
	"pgregory.net/rapid"
)

func at(text string) *time.Time {
	t, err := ParseInstant(text)
	if err != nil {
		panic(err)
	}
	return &t
}

func lagged(edit func(*Config)) Config {
	lag := duration.Duration(time.Hour)
	c := Config{Size: 7 * duration.Day, SafetyLag: &lag}
	if edit != nil {
		edit(&c)
	}
	return c
}

// now is 2025-03-20T12:00:00Z everywhere, so nowSafe is 11:00.
var noon = *at("2025-03-20T12:00:00Z")

func window(from, to string) string { return Window{From: *at(from), To: *at(to)}.String() }

// W§4.2, each branch with its numbers worked by hand.
func TestBackfillBranches(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*Config)
		in   BackfillInputs
		want string // "" is an empty window
	}{
		"nothing given: one window before nowSafe":  {nil, BackfillInputs{}, window("2025-03-13T11:00:00Z", "2025-03-20T11:00:00Z")},
		"the forward watermark is the ceiling":      {nil, BackfillInputs{Forward: at("2025-03-10")}, window("2025-03-03", "2025-03-10")},
		"a forward watermark beyond nowSafe":        {nil, BackfillInputs{Forward: at("2025-03-21")}, window("2025-03-13T11:00:00Z", "2025-03-20T11:00:00Z")},
		"the requested end is lower still":          {nil, BackfillInputs{Forward: at("2025-03-10"), UserTo: at("2025-02-01")}, window("2025-01-25", "2025-02-01")},
		"the requested end is cut at the watermark": {nil, BackfillInputs{Forward: at("2025-03-10"), UserTo: at("2025-03-15"), UserFrom: at("2020-01-01")}, window("2020-01-01", "2025-03-10")},
		"a requested range":                         {nil, BackfillInputs{UserFrom: at("2020-01-01"), UserTo: at("2021-01-01"), Forward: at("2025-03-10")}, window("2020-01-01", "2021-01-01")},
		"a campaign goes on":                        {nil, BackfillInputs{Cursor: at("2024-06-01"), Forward: at("2025-03-10")}, window("2024-06-01", "2025-03-10")},
		"a campaign goes on in its requested range": {nil, BackfillInputs{UserFrom: at("2020-01-01"), UserTo: at("2021-01-01"), Cursor: at("2020-06-01")}, window("2020-01-01", "2021-01-01")},
		"nothing before earliest":                   {func(c *Config) { c.Earliest = "2000-01-01" }, BackfillInputs{UserFrom: at("1990-01-01"), UserTo: at("2001-01-01")}, window("2000-01-01", "2001-01-01")},
		"the start lies past the watermark":         {nil, BackfillInputs{UserFrom: at("2025-03-15"), Forward: at("2025-03-10")}, ""},
		"calendar days":                             {func(c *Config) { c.Mode, c.Align = Calendar, Day }, BackfillInputs{Forward: at("2025-03-10T15:00:00Z"), UserFrom: at("2025-03-01T09:00:00Z")}, window("2025-03-01", "2025-03-10")},
		"calendar months, one window": {func(c *Config) {
			c.Mode, c.Align, c.Size, c.MaxWindow = Calendar, Month, 31*duration.Day, 31*duration.Day
		}, BackfillInputs{Forward: at("2025-03-10")}, window("2025-02-01", "2025-03-01")},
		"calendar days that round to nothing": {func(c *Config) { c.Mode, c.Align = Calendar, Day }, BackfillInputs{UserFrom: at("2025-03-01T09:00:00Z"), UserTo: at("2025-03-01T10:00:00Z")}, ""},
	} {
		c.in.Now = noon
		got, err := Backfill(lagged(c.edit), c.in)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got.Empty != (c.want == "") || !got.Empty && got.Window.String() != c.want || got.Empty && got.Reason == "" {
			t.Errorf("%s: %s (%s), want %s", name, got.Window, got.Reason, c.want)
		}
	}
}

func TestBackfillSkipsWhatTheCampaignHasDone(t *testing.T) {
	got, err := Backfill(lagged(nil), BackfillInputs{
		Now: noon, UserFrom: at("2024-01-01"), UserTo: at("2024-01-11"),
		Done:    []Window{{*at("2024-01-08"), *at("2024-02-01")}, {*at("2023-01-01"), *at("2024-01-02")}},
		Waiting: []Window{{*at("2024-01-04"), *at("2024-01-05")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var owed []string
	for _, w := range got.Owed {
		owed = append(owed, w.String())
	}
	if want := []string{window("2024-01-02", "2024-01-04"), window("2024-01-05", "2024-01-08")}; !slices.Equal(owed, want) {
		t.Errorf("reads %v, want %v", owed, want)
	}
}

func TestBackfillSaysWhyItStopsAtTheWatermark(t *testing.T) {
	got, err := Backfill(lagged(nil), BackfillInputs{Now: noon, UserFrom: at("2025-03-15"), Forward: at("2025-03-10")})
	if err != nil || !strings.Contains(got.Reason, "forward watermark") {
		t.Errorf("%+v, %v", got, err)
	}
}

// W§5.2 and W§5.3.
func TestUpdateBranches(t *testing.T) {
	for name, c := range map[string]struct {
		in   UpdateInputs
		want string
	}{
		"by time: nothing before earliest":       {UpdateInputs{ByTime: true, UserFrom: at("1890-01-01"), UserTo: at("1901-01-01")}, window("1900-01-01", "1901-01-01")},
		"by id: earliest is about other dates":   {UpdateInputs{UserFrom: at("1890-01-01"), UserTo: at("1901-01-01")}, window("1890-01-01", "1901-01-01")},
		"by time, from the watermark":            {UpdateInputs{ByTime: true, Cursor: at("2025-03-18")}, window("2025-03-18", "2025-03-20T11:00:00Z")},
		"by time, a later start":                 {UpdateInputs{ByTime: true, Cursor: at("2025-03-18"), UserFrom: at("2025-03-19")}, window("2025-03-19", "2025-03-20T11:00:00Z")},
		"by time, an earlier start":              {UpdateInputs{ByTime: true, Cursor: at("2025-03-18"), UserFrom: at("2025-03-01")}, window("2025-03-18", "2025-03-20T11:00:00Z")},
		"by time, first":                         {UpdateInputs{ByTime: true}, window("2025-03-13T11:00:00Z", "2025-03-20T11:00:00Z")},
		"by time, first, with a start":           {UpdateInputs{ByTime: true, UserFrom: at("2025-01-01"), UserTo: at("2025-02-01")}, window("2025-01-01", "2025-02-01")},
		"by time, all checked":                   {UpdateInputs{ByTime: true, Cursor: at("2025-03-20T11:00:00Z")}, ""},
		"by id: one window to pace":              {UpdateInputs{}, window("2025-03-13T11:00:00Z", "2025-03-20T11:00:00Z")},
		"by id: the watermark of time is no bar": {UpdateInputs{Cursor: at("2025-03-19")}, window("2025-03-13T11:00:00Z", "2025-03-20T11:00:00Z")},
		"by id: as requested, cut at nowSafe":    {UpdateInputs{UserFrom: at("2025-03-01"), UserTo: at("2025-04-01")}, window("2025-03-01", "2025-03-20T11:00:00Z")},
	} {
		c.in.Now = noon
		got, err := Update(lagged(func(c *Config) { c.Earliest = "1900-01-01" }), c.in)
		if err != nil || got.Empty != (c.want == "") || !got.Empty && got.Window.String() != c.want {
			t.Errorf("%s: %s (%s, %v), want %s", name, got.Window, got.Reason, err, c.want)
		}
	}
}

func TestOperationsRefuseContradictions(t *testing.T) {
	early := lagged(func(c *Config) { c.Earliest = "2000-01-01" })
	for name, call := range map[string]func() error{
		"backfill, from after to": func() error {
			_, err := Backfill(lagged(nil), BackfillInputs{Now: noon, UserFrom: at("2025-01-02"), UserTo: at("2025-01-01")})
			return err
		},
		"backfill before earliest": func() error {
			_, err := Backfill(early, BackfillInputs{Now: noon, UserTo: at("1999-01-01")})
			return err
		},
		"update, from after to": func() error {
			_, err := Update(lagged(nil), UpdateInputs{Now: noon, UserFrom: at("2025-01-02"), UserTo: at("2025-01-01")})
			return err
		},
	} {
		if err := call(); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

// Whatever is asked: a backfill never passes the forward watermark or nowSafe, and what it reads, skips and leaves
// waiting tiles its window (I1, I6).
func TestBackfillLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		instant := func(name string) *time.Time {
			if rapid.Bool().Draw(t, name+" given") {
				v := noon.Add(-time.Duration(rapid.IntRange(0, 500*24).Draw(t, name)) * time.Hour)
				return &v
			}
			return nil
		}
		stretches := func(name string) (out []Window) {
			for range rapid.IntRange(0, 4).Draw(t, name) {
				from := noon.Add(-time.Duration(rapid.IntRange(1, 500*24).Draw(t, "from")) * time.Hour)
				out = append(out, Window{from, from.Add(time.Duration(rapid.IntRange(1, 100).Draw(t, "hours")) * time.Hour)})
			}
			return out
		}
		in := BackfillInputs{Now: noon, UserFrom: instant("from"), UserTo: instant("to"), Forward: instant("forward"), Cursor: instant("cursor"), Done: stretches("done"), Waiting: stretches("waiting")}
		cfg := lagged(nil)
		if rapid.Bool().Draw(t, "calendar") {
			cfg.Mode, cfg.Align = Calendar, rapid.SampledFrom([]Unit{Minute, Hour, Day, Week}).Draw(t, "align")
		}
		got, err := Backfill(cfg, in)
		if err != nil || got.Empty {
			return
		}
		if got.Window.To.After(got.NowSafe) || in.Forward != nil && got.Window.To.After(*in.Forward) || in.UserTo != nil && got.Window.To.After(*in.UserTo) {
			t.Fatalf("%s passes a ceiling: %+v", got.Window, in)
		}
		rest := []Window{got.Window}
		for _, part := range slices.Concat(got.Owed, got.Skipped, got.Waiting) {
			var next []Window
			for _, w := range rest {
				next = append(next, Subtract(w, []Window{part})...)
			}
			rest = next
		}
		if len(rest) != 0 {
			t.Fatalf("%v is neither read, skipped nor waiting", rest)
		}
		for _, w := range got.Owed {
			for _, done := range in.Done {
				if cfg.Mode == Sliding && !w.Intersect(done).Empty() {
					t.Fatalf("%s is read again, %s is done", w, done)
				}
			}
		}
	})
}
