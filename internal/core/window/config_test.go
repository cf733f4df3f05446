package window_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/window"
)

func TestZeroConfigIsValidAndHasTheDefaults(t *testing.T) {
	if err := (window.Config{}).Validate(); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(window.Config{}.WithDefaults())
	const want = `{"mode":"SLIDING","size":"P1D","safetyLag":"PT10M","maxSafetyLag":"PT1H","maxWindow":"P30D","minWindow":"PT1M","updatedSince":true}`
	if err != nil || string(text) != want {
		t.Errorf("defaults %s, %v; want %s", text, err, want)
	}
}

func TestDefaultsDoNotContradictAGivenBound(t *testing.T) {
	narrow := window.Config{MaxWindow: duration.Duration(30 * time.Second)}.WithDefaults()
	wide := window.Config{MinWindow: 60 * duration.Day}.WithDefaults()
	if narrow.MinWindow != narrow.MaxWindow || wide.MaxWindow != wide.MinWindow {
		t.Errorf("narrow %+v, wide %+v", narrow, wide)
	}
}

func TestNoLagIsNotTheDefaultLag(t *testing.T) {
	var cfg window.Config
	if err := json.Unmarshal([]byte(`{"safetyLag":"0s"}`), &cfg); err != nil {
		t.Fatal(err)
	}
	if lag := cfg.WithDefaults().SafetyLag; *lag != 0 {
		t.Errorf("lag %s, want none", lag)
	}
}

func TestConfigRefuses(t *testing.T) {
	hour, negative := duration.Duration(time.Hour), duration.Duration(-time.Hour)
	tests := []struct {
		cfg  window.Config
		says string
	}{
		{window.Config{Mode: "ROLLING"}, "mode"},
		{window.Config{Mode: window.Calendar, Align: "YEAR"}, "align"},
		{window.Config{Align: "day"}, "align"},
		{window.Config{Mode: window.Calendar, Align: window.Day, Size: hour}, "size PT1H"},
		{window.Config{Mode: window.Calendar, Align: window.Week}, "size P1D"},
		{window.Config{Mode: window.Calendar, Align: window.Month, Size: duration.Week}, "size P7D"},
		{window.Config{Mode: window.Calendar, Align: window.Day, MaxWindow: hour}, "maxWindow PT1H"},
		{window.Config{Mode: window.Calendar, Size: duration.Duration(time.Minute)}, "size PT1M"},
		{window.Config{MaxWindow: hour, MinWindow: duration.Day}, "maxWindow PT1H"},
		{window.Config{Earliest: "long ago"}, "earliest"},
		{window.Config{Lookback: negative}, "lookback"},
		{window.Config{SafetyLag: &negative}, "safetyLag"},
		{window.Config{MaxSafetyLag: &negative}, "maxSafetyLag"},
		{window.Config{Size: negative}, "size"},
	}
	for _, tt := range tests {
		if err := tt.cfg.Validate(); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%+v: %v, want an error about %q", tt.cfg, err, tt.says)
		}
		if _, err := window.Harvest(tt.cfg, window.Inputs{Now: at("2025-03-10")}); err == nil {
			t.Errorf("%+v: Harvest accepted it", tt.cfg)
		}
	}
	several := window.Config{Mode: "X", Earliest: "x"}.Validate()
	if several == nil || !strings.Contains(several.Error(), "mode") || !strings.Contains(several.Error(), "earliest") {
		t.Errorf("all faults at once: %v", several)
	}
}

func TestInstantsHaveOneSpelling(t *testing.T) {
	for text, want := range map[string]string{
		"2020-01-01": "2020-01-01", "2020-01-01T00:00:00Z": "2020-01-01", "2020-01-01T09:00:00+09:00": "2020-01-01", "2020-01-01T00:00:00.0Z": "2020-01-01",
		"2020-01-01T00:00:00+09:00": "2019-12-31T15:00:00Z", "2020-01-01T12:00:00.50Z": "2020-01-01T12:00:00.5Z", "1850-03-01": "1850-03-01", "": "", "long ago": "long ago",
	} {
		if got := window.CanonicalText(text); got != want || window.CanonicalText(got) != got {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
