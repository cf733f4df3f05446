package visible

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// hidden are characters that steer a terminal, turn the direction of writing, or have
// no width; seen are such that look like them and belong to honest texts.
var (
	hidden = []rune{0, 0x07, 0x1b, 0x7f, 0x80, 0x9b, 0x9d, 0x200b, 0x200c, 0x200d, 0x200e, 0x200f, 0x2028, 0x2029, 0x202a, 0x202e, 0x2060, 0x2066, 0x2069, 0xad, 0x61c, 0x180e, 0xfeff, 0xfff9, 0xe0001, 0xe0041, 0x3164, 0x115f, 0x34f}
	seen   = []rune{' ', '~', 'é', 0xa0, 0x3000, 0x0600, 0x06dd, 0x1f600, 0xfe0f, 0x0301, 'ё', '中', 0xfffd}
)

func TestTrust08WhatIsHidden(t *testing.T) {
	for _, r := range hidden {
		if !IsHidden(r) || Text(string(r)) != "\ufffd" {
			t.Errorf("%U is let through", r)
		}
	}
	for _, r := range seen {
		if IsHidden(r) || Text(string(r)) != string(r) {
			t.Errorf("%U is taken for one that nobody sees", r)
		}
	}
	if got := Text("a\tb\n"); got != "a\tb\n" {
		t.Errorf("%q", got)
	}
}

// Escaped JSON means the same, and has nothing hidden in it.
func TestTrust08EscapedJSONMeansTheSame(t *testing.T) {
	letters := rapid.SampledFrom(append(append([]rune{'"', '\\', 'a'}, hidden...), seen...))
	rapid.Check(t, func(t *rapid.T) {
		value := map[string]string{rapid.StringOfN(letters, 0, 8, -1).Draw(t, "name"): rapid.StringOfN(letters, 0, 40, -1).Draw(t, "value")}
		plain, err := json.MarshalIndent(value, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		shown := Append(nil, plain)
		var again map[string]string
		if err := json.Unmarshal(shown, &again); err != nil || len(again) != len(value) {
			t.Fatalf("%s: %v", shown, err)
		}
		for name, text := range value {
			if again[name] != text {
				t.Fatalf("%q became %q", text, again[name])
			}
		}
		if strings.ContainsFunc(string(shown), func(r rune) bool { return r != '\n' && IsHidden(r) }) {
			t.Fatalf("%q", shown)
		}
	})
}

// However a text is cut into writes, the same is written, all of it valid UTF-8.
func TestWriterTakesTextsInPieces(t *testing.T) {
	letters := rapid.SampledFrom(append(append([]rune{'"', '\n', '\r', 'a'}, hidden...), seen...))
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(rapid.StringOfN(letters, 0, 30, -1).Draw(t, "text"))
		if rapid.Bool().Draw(t, "no UTF-8") {
			text = append(text, rapid.SliceOfN(rapid.Byte(), 0, 5).Draw(t, "bytes")...)
		}
		var out bytes.Buffer
		w := NewWriter(&out)
		for rest := text; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			if _, err := w.Write(rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if want := Append(nil, text); !bytes.Equal(out.Bytes(), want) || !utf8.Valid(want) {
			t.Fatalf("%q, want %q", out.Bytes(), want)
		}
	})
}
