package duration_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/duration"
)

func TestParseAndWrite(t *testing.T) {
	tests := []struct {
		text  string
		want  time.Duration
		canon string
	}{
		{"PT10M", 10 * time.Minute, "PT10M"},
		{"10m", 10 * time.Minute, "PT10M"},
		{"P1D", 24 * time.Hour, "P1D"},
		{"30d", 30 * 24 * time.Hour, "P30D"},
		{"P2W", 14 * 24 * time.Hour, "P14D"},
		{"1w", 7 * 24 * time.Hour, "P7D"},
		{"PT1H30M", 90 * time.Minute, "PT1H30M"},
		{"1h30m", 90 * time.Minute, "PT1H30M"},
		{"90m", 90 * time.Minute, "PT1H30M"},
		{"90s", 90 * time.Second, "PT1M30S"},
		{"500ms", 500 * time.Millisecond, "PT0.5S"},
		{"PT0.000001S", time.Microsecond, "PT0.000001S"},
		{"1s250ms", 1250 * time.Millisecond, "PT1.25S"},
		{"P1DT12H", 36 * time.Hour, "P1DT12H"},
		{"36h", 36 * time.Hour, "P1DT12H"},
		{"P1W1DT1H1M1S", 8*24*time.Hour + time.Hour + time.Minute + time.Second, "P8DT1H1M1S"},
		{"0s", 0, "PT0S"},
		{"PT0S", 0, "PT0S"},
		{"P106751DT23H47M16.854775S", 1<<63 - 1 - 807, "P106751DT23H47M16.854775S"},
	}
	for _, tt := range tests {
		got, err := duration.Parse(tt.text)
		if err != nil || got.Std() != tt.want || got.String() != tt.canon {
			t.Errorf("Parse(%q) = %v, %v; want %v written %s", tt.text, got, err, tt.want, tt.canon)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	tests := []struct{ text, says string }{
		{"", "empty"},
		{"-PT10M", "negative"},
		{"-10m", "negative"},
		{"PT-10M", "no number"},
		{"P1M", "no fixed length"},
		{"P1Y", "no fixed length"},
		{"P1Y2DT1H", "no fixed length"},
		{"P", "after P"},
		{"PT", "after T"},
		{"P1DT", "after T"},
		{"P1H", "unit \"H\""},
		{"PT1D", "unit \"D\""},
		{"10", "no unit"},
		{"m", "no number"},
		{"10M", "unit \"M\""},
		{"10 m", "no unit"},
		{"10m ", "no number"},
		{"pt10m", "no number"},
		{"10m1h", "unit \"h\""},
		{"1h1h", "unit \"h\""},
		{"1.5h", "fraction"},
		{"PT1.5H", "fraction"},
		{"PT.5S", "before it"},
		{"PT1.S", "bad fraction"},
		{"PT1.2.3S", "bad fraction"},
		{"PT0.0000001S", "microsecond"},
		{"106752d", "292 years"},
		{"106751d24h", "292 years"},
		{"99999999999999999999s", "292 years"},
		{"PT10M\u00a0", "no number"},
	}
	for _, tt := range tests {
		got, err := duration.Parse(tt.text)
		if err == nil {
			t.Errorf("Parse(%q) = %v, want an error", tt.text, got)
			continue
		}
		if !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), "PT10M") {
			t.Errorf("Parse(%q): error %q should mention %q and an example", tt.text, err, tt.says)
		}
	}
}

func TestNegativeIsNotWritten(t *testing.T) {
	if text, err := duration.Duration(-time.Minute).MarshalText(); err == nil {
		t.Errorf("MarshalText of a negative length = %s, want an error", text)
	}
	if got := duration.Duration(-time.Minute).String(); got != "-PT1M" {
		t.Errorf("String = %s", got)
	}
}

func TestWrittenTextIsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		micros := rapid.Int64Range(0, 1<<63/1000-1).Draw(t, "micros")
		want := duration.Duration(micros * 1000)
		got, err := duration.Parse(want.String())
		if err != nil || got != want {
			t.Fatalf("%d written as %s, read back as %v, %v", want, want, got, err)
		}
	})
}

func TestJSONInBothEncoders(t *testing.T) {
	type config struct {
		Size duration.Duration  `json:"size"`
		Lag  *duration.Duration `json:"lag"`
	}
	lag := duration.Duration(10 * time.Minute)
	in := config{Size: duration.Day, Lag: &lag}
	const want = `{"size":"P1D","lag":"PT10M"}`
	classic, err := json.Marshal(in)
	if err != nil || string(classic) != want {
		t.Errorf("encoding/json: %s, %v", classic, err)
	}
	newer, err := jsonv2.Marshal(in)
	if err != nil || string(newer) != want {
		t.Errorf("json v2: %s, %v", newer, err)
	}
	var out config
	if err := jsonv2.Unmarshal([]byte(`{"size":"24h","lag":"10m"}`), &out); err != nil || out.Size != in.Size || *out.Lag != lag {
		t.Errorf("read back %+v, %v", out, err)
	}
	if err := json.Unmarshal([]byte(`{"size":"1y"}`), &out); err == nil {
		t.Error("1y was accepted")
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"PT10M", "1h30m", "P1DT2H", "500ms", "PT0.5S", "P1M", "-1s"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := duration.Parse(text)
		if err != nil {
			return
		}
		if d < 0 {
			t.Fatalf("Parse(%q) is negative: %d", text, d)
		}
		if again, err := duration.Parse(d.String()); err != nil || again != d {
			t.Fatalf("Parse(%q) = %d, its text %s reads as %d, %v", text, d, d, again, err)
		}
	})
}
