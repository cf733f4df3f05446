package live

import (
	"testing"
	"time"
)

// A slow store has rest, but one that did not answer at all is asked again before long.
func TestAStoreHasRest(t *testing.T) {
	for took, want := range map[time.Duration]time.Duration{time.Millisecond: 3 * time.Second, time.Second: 10 * time.Second, longestLook: longestRest} {
		if got := restAfter(took, usualEvery); got != want {
			t.Errorf("after a look of %v it rests %v, want %v", took, got, want)
		}
	}
}
