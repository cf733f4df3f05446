package term

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/core/wording"
)

type pair struct {
	Name string    `json:"name"`
	At   time.Time `json:"at,omitzero"`
}

var pairs = NewColumns([]string{"name", "at"}, func(p pair) []any { return []any{p.Name, p.At} })

func Printed(t *testing.T, output string, print func(*Env) error) string {
	t.Helper()
	var out, side bytes.Buffer
	if err := print(&Env{Out: &out, Err: &side, Output: output}); err != nil {
		t.Fatal(err)
	}
	if side.Len() > 0 {
		t.Errorf("data on stderr: %q", side.String())
	}
	return out.String()
}

func TestList(t *testing.T) {
	some := []pair{{"a & b", march(1)}, {"long name\x1b", time.Time{}}}
	for _, c := range []struct {
		output string
		values []pair
		want   string
	}{
		{"table", some, "NAME        AT\na & b       2025-03-01T00:00:00Z\nlong name\uFFFD  -\n"},
		{"table", nil, "NAME  AT\n"},
		{"json", some, "{\n  \"items\": [\n    {\n      \"name\": \"a & b\",\n      \"at\": \"2025-03-01T00:00:00Z\"\n    },\n    {\n      \"name\": \"long name\\u001b\"\n    }\n  ],\n  \"more\": false,\n  \"next\": null\n}\n"},
		{"json", nil, "{\n  \"items\": [],\n  \"more\": false,\n  \"next\": null\n}\n"},
	} {
		if got := Printed(t, c.output, func(e *Env) error { return PrintList(e, c.values, pairs) }); got != c.want {
			t.Errorf("%s:\n%q\nwant\n%q", c.output, got, c.want)
		}
	}
}

func TestShow(t *testing.T) {
	value := pair{"a", march(1)}
	facts := []Fact{{"name", value.Name}, {"seen at", value.At}, {"count", 3}}
	if got := Printed(t, "table", func(e *Env) error { return PrintFacts(e, value, facts) }); got != "name     a\nseen at  2025-03-01T00:00:00Z\ncount    3\n" {
		t.Errorf("%q", got)
	}
	if got := Printed(t, "json", func(e *Env) error { return PrintFacts(e, value, facts) }); got != "{\n  \"name\": \"a\",\n  \"at\": \"2025-03-01T00:00:00Z\"\n}\n" {
		t.Errorf("%q", got)
	}
}

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"plain ä 漢字 ✗\n\ttab": "plain ä 漢字 ✗\n\ttab", "\x1b]0;title\x07": "\uFFFD]0;title\uFFFD", "a\rb": "a\uFFFDb", "\x00\x7f": "\uFFFD\uFFFD",
		"\u009b31mred": "\uFFFD31mred", "שלום عربي": "שלום عربي",
	} {
		if got := Printable(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// A title that turns the direction of text could make a row read as another one.
func TestNoTextTurnsItsDirectionForPeople(t *testing.T) {
	for _, r := range "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069" {
		value := []pair{{"a" + string(r) + "b", march(1)}}
		if got := Printed(t, "table", func(e *Env) error { return PrintList(e, value, pairs) }); strings.ContainsRune(got, r) || !strings.Contains(got, "a\uFFFDb") {
			t.Errorf("%U in a table: %q", r, got)
		}
		var back view.List[pair]
		if got := Printed(t, "json", func(e *Env) error { return PrintList(e, value, pairs) }); json.Unmarshal([]byte(got), &back) != nil || back.Items[0].Name != value[0].Name {
			t.Errorf("%U in JSON: %q became %+v", r, got, back)
		}
		var side bytes.Buffer
		(&Env{Err: &side}).Hint("about %s", value[0].Name)
		if side.String() != "about a\uFFFDb\n" {
			t.Errorf("%U in a hint: %q", r, side.String())
		}
	}
}

func TestBrief(t *testing.T) {
	noon := time.Date(2025, 3, 1, 12, 0, 0, 5000, time.UTC)
	if got := wording.WindowText(window.Window{From: march(1), To: noon}); got != "[2025-03-01, 2025-03-01T12:00:00.000005Z)" {
		t.Error(got)
	}
}

func TestHint(t *testing.T) {
	var side bytes.Buffer
	(&Env{Err: &side}).Hint("%d more", 3)
	(&Env{Err: &side, Quiet: true}).Hint("silent")
	if side.String() != "3 more\n" {
		t.Errorf("%q", side.String())
	}
}

func TestParseTime(t *testing.T) {
	now := time.Date(2025, 3, 10, 12, 0, 0, 1234567, time.UTC)
	for text, want := range map[string]time.Time{
		"2025-03-01": march(1), "2025-03-01T01:00:00+01:00": march(1), "-7d": window.Instant(now.AddDate(0, 0, -7)), "-PT1H": window.Instant(now.Add(-time.Hour)),
	} {
		if got, err := ParseTime("from", text, now); err != nil || !got.Equal(want) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	if got, err := ParseTime("from", "", now); got != nil || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"yesterday", "-", "-x", "0001-01-01", "2025-13-01"} {
		_, err := ParseTime("from", bad, now)
		var known *Coded
		if !errors.As(err, &known) || known.code != ExitUsage || !bytes.Contains([]byte(err.Error()), []byte("--from")) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
