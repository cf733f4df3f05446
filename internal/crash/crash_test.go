package crash

import (
	"slices"
	"testing"
)

// What a release does: nothing.
func TestNoPointDoesAnythingUnlessArmed(t *testing.T) {
	if Reached != nil {
		t.Fatal("this process is armed")
	}
	for _, p := range Points {
		At(p)
	}
	if n := testing.AllocsPerRun(100, func() { At(Records) }); n != 0 {
		t.Errorf("a point costs %v allocations", n)
	}
}

func TestAnArmedProcessIsToldOfEachPoint(t *testing.T) {
	var told []Point
	Reached = func(p Point) { told = append(told, p) }
	defer func() { Reached = nil }()
	for _, p := range Points {
		At(p)
	}
	if !slices.Equal(told, Points[:]) {
		t.Errorf("it was told of %v", told)
	}
}

func TestPointsAreDistinct(t *testing.T) {
	seen := map[Point]bool{}
	for _, p := range Points {
		if p == "" || seen[p] {
			t.Errorf("point %q stands twice", p)
		}
		seen[p] = true
	}
	if len(seen) != 27 {
		t.Errorf("%d points, want P0 to P26", len(seen))
	}
}
