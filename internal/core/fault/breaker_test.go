package fault

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

var noon = time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)

func TestBreakerOpensAndCloses(t *testing.T) {
	var b Breaker
	for i := range 2 {
		if b = b.Note(true, false, noon, 0.5); b.State(noon) != BreakerClosed {
			t.Fatalf("open after %d failures", i+1)
		}
	}
	b = b.Note(true, false, noon, 0.5)
	if b.State(noon) != BreakerOpen || !b.OpenUntil.Equal(noon.Add(90*time.Second)) {
		t.Fatalf("%+v", b)
	}
	if late := b.Note(true, false, noon.Add(time.Second), 1); late != b {
		t.Errorf("a run that was under way opens it again: %+v", late)
	}
	back := b.OpenUntil
	if b.State(back) != BreakerHalfOpen {
		t.Errorf("%s", b.State(back))
	}
	if again := b.Note(true, false, back, 0); again.State(back) != BreakerOpen || !again.OpenUntil.Equal(back.Add(2*time.Minute)) {
		t.Errorf("the second wait: %+v", again)
	}
	if b.Note(false, false, back, 0) != (Breaker{}) {
		t.Error("a good run does not close it")
	}
}

// A run that got answers before it failed is no sign of an upstream that is gone.
func TestProgressIsNoRow(t *testing.T) {
	var b Breaker
	for range 20 {
		if b = b.Note(true, true, noon, 0); b.State(noon) != BreakerClosed {
			t.Fatalf("%+v", b)
		}
	}
}

// Whatever happens, it is never open for longer than twice the longest wait, and
// one good run closes it.
func TestBreakerIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b Breaker
		now := noon
		for range rapid.IntRange(1, 60).Draw(t, "runs") {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "gap")))
			b = b.Note(rapid.Bool().Draw(t, "failed"), rapid.Bool().Draw(t, "progress"), now, rapid.Float64Range(0, 1).Draw(t, "random"))
			if b.OpenUntil.Sub(now) > 2*breakFor.Longest {
				t.Fatalf("open for %v", b.OpenUntil.Sub(now))
			}
		}
		if closed := b.Note(false, false, now, 0); closed.State(now) != BreakerClosed {
			t.Fatalf("%+v", closed)
		}
	})
}
