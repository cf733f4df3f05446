package reason

import (
	"fmt"
	"testing"
	"time"
)

// A bar that stands still says why, each reason once; one that moves says nothing.
func TestABarThatStandsStillSaysWhy(t *testing.T) {
	reason, at := "the upstream is away", march(1)
	var said []string
	s := NewStallHint(func() string { return reason }, func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) })
	pass := func(d time.Duration, mark string) {
		at = at.Add(d)
		s.Look(at, mark)
	}
	for i := range 20 {
		pass(StallAfter-time.Second, fmt.Sprint(i))
	}
	if len(said) != 0 {
		t.Fatalf("it moved: %q", said)
	}
	pass(StallAfter-time.Second, "19")
	if len(said) != 0 {
		t.Fatalf("too early: %q", said)
	}
	for range 5 {
		pass(StallAfter, "19")
	}
	reason = "waits for\x1b minutes"
	pass(StallAfter, "19")
	reason = ""
	pass(StallAfter, "19")
	if want := []string{"the upstream is away", "waits for\uFFFD minutes"}; fmt.Sprint(said) != fmt.Sprint(want) {
		t.Errorf("%q, want %q", said, want)
	}
}
