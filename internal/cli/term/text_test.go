package term

import (
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/core/wording"
)

func TestSize(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "17": 17, "17B": 17, "1.5KB": 1500, "500 MB": 500_000_000, "10gb": 10_000_000_000, "2TB": 2_000_000_000_000,
	} {
		if got, err := ParseSize(text); got != want || err != nil {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "GB", "-1GB", "1XB", "NaN", "Inf", "9999999999TB"} {
		if got, err := ParseSize(text); err == nil {
			t.Errorf("%q: %d", text, got)
		}
	}
	for n, want := range map[int64]string{0: "0B", 17: "17B", 1000: "1KB", 1540: "1.5KB", 7981: "8KB", 102_964: "103KB", 10_000_000_000: "10GB"} {
		if got := SizeText(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

func TestPretty(t *testing.T) {
	if got := IndentJSON([]byte(`{"url":"a\u0026b","n":1.0}`)); got != "  {\n    \"url\": \"a&b\",\n    \"n\": 1.0\n  }" {
		t.Errorf("%s", got)
	}
	if got := IndentJSON([]byte("no \x1b[31mJSON")); strings.Contains(got, "\x1b") {
		t.Errorf("%q steers the terminal", got)
	}
}

func TestFailure(t *testing.T) {
	for _, c := range []struct{ code, text, want string }{
		{"", "", "-"}, {"", "odd", "odd"}, {"NETWORK", "NETWORK: no answer", "NETWORK: no answer"}, {"LEASE_EXPIRED", "the worker vanished", "LEASE_EXPIRED: the worker vanished"}, {"X", "", "X"},
	} {
		if got := wording.FailureText(c.code, c.text); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

func TestWrapped(t *testing.T) {
	for _, text := range []string{"", "short", strings.Repeat("x", 300), strings.Repeat("word, ", 80), strings.Repeat("ä", 97), strings.Repeat("é,", 200)} {
		got := Wrap(text)
		if strings.ReplaceAll(got, "\n", "") != text {
			t.Errorf("%q lost something of %q", got, text)
		}
		for line := range strings.Lines(got) {
			if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 96 {
				t.Errorf("%d columns in %q", n, got)
			}
		}
	}
}

func TestSpan(t *testing.T) {
	at := time.Date(2025, 3, 1, 11, 30, 15, 123456000, time.UTC)
	for _, c := range []struct {
		w    window.Window
		want string
	}{
		{window.Window{}, "-"},
		{window.Window{From: march(1), To: march(2)}, "[2025-03-01, 2025-03-02)"},
		{window.Window{From: at, To: march(2)}, "[2025-03-01T11:30Z, 2025-03-02)"},
	} {
		if got := WindowToMinute(c.w); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
	if wording.DateOrSecond(at) != "2025-03-01T11:30:15Z" || wording.DateOrSecond(march(1)) != "2025-03-01" || wording.DateOrSecond(time.Time{}) != "-" {
		t.Errorf("%s, %s, %s", wording.DateOrSecond(at), wording.DateOrSecond(march(1)), wording.DateOrSecond(time.Time{}))
	}
}

func TestShort(t *testing.T) {
	for _, c := range []struct{ text, want string }{{"", ""}, {"12345", "12345"}, {"123456", "1234…"}, {"äöüßé", "äöüßé"}, {"äöüßéx", "äöüß…"}, {"a\nb", "a b"}} {
		if got := wording.Shorten(c.text, 5); got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}
