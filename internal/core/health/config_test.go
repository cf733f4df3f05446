package health

import (
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/duration"
)

// A source that says from where on something is wrong is taken at its word.
func TestThresholdsOfASource(t *testing.T) {
	at := time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)
	slow := func(c Config) int {
		w := NewWatch()
		w.Limit(c)
		for range 30 {
			at = at.Add(time.Second)
			w.Page(Sample{Requests: 1, Took: 2 * time.Second}, at)
		}
		size, _ := w.PageSize(100)
		return size
	}
	if got := slow(Config{}); got != 100 {
		t.Errorf("pages of 2 s are slow by default: %d items", got)
	}
	if got := slow(Config{SlowPage: duration.Duration(time.Second)}); got >= 100 {
		t.Error("pages of 2 s are not slow where the source says 1 s")
	}
	deep := &Load{Limits: Config{MaxPagesSoft: 60}}
	for range 60 {
		deep.Page(0, 0, 10, at)
	}
	if named, why := deep.TooMuch(); named != TooDeep || !strings.Contains(why, "60 pages") {
		t.Errorf("%s %s", named, why)
	}
	few := &Load{Limits: Config{FailedShare: 0.5}}
	for range 50 {
		few.Page(0, 0, 10, at)
	}
	for range 10 {
		few.Page(1, 0, 10, at)
	}
	if named, why := few.TooMuch(); named != "" {
		t.Errorf("10 of 50 is less than half: %s %s", named, why)
	}
}

// Thresholds that are changed while a condition is in force leave its level alone.
func TestThresholdsChangeLater(t *testing.T) {
	at := time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)
	w := NewWatch()
	for range 30 {
		at = at.Add(time.Second)
		w.Page(Sample{Requests: 1, Took: 4 * time.Second}, at)
	}
	before := w.InForce()
	w.Limit(Config{SlowPage: duration.Duration(time.Minute)})
	if after := w.InForce(); len(before) == 0 || len(after) != len(before) || after[0] != before[0] {
		t.Errorf("%+v, then %+v", before, after)
	}
}

// What is written out as its default is no change of a snapshot (I10).
func TestDefaultsOfHealing(t *testing.T) {
	if full := (Config{}).WithDefaults(); full.WithoutDefaults() != (Config{}) || full.WithDefaults() != full {
		t.Errorf("%+v", full)
	}
	own := Config{CircuitAfter: 5, FailedShare: 0.2}
	if got := own.WithDefaults().WithoutDefaults(); got != own {
		t.Errorf("%+v", got)
	}
	if err := (Config{ThrottledShare: 1.5, FailedShare: 2}).Validate(); err == nil || strings.Count(err.Error(), "E-SHARE") != 2 {
		t.Errorf("%v", err)
	}
}
