package ledger

import (
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// Looks at a tombstone come after a week, then each after twice the time, and at
// least once a year.
func TestBelieve06LooksAtATombstoneComeEverMoreRarely(t *testing.T) {
	day := 24 * time.Hour
	gone := fixture.Noon
	last, looks := gone, []int{}
	for at := gone; at.Sub(gone) < 4*365*day; at = at.Add(day) {
		if isAwake(gone, last, at) {
			looks = append(looks, int(at.Sub(gone)/day))
			last = at
		}
	}
	want := []int{7, 14, 28, 56, 112, 224, 448, 813, 1178}
	if len(looks) != len(want) {
		t.Fatalf("looks after %v days, want %v", looks, want)
	}
	for i := range want {
		if looks[i] != want[i] {
			t.Fatalf("looks after %v days, want %v", looks, want)
		}
	}
}
