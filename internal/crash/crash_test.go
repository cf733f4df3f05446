package crash

import "testing"

// What a release does: nothing, whatever the environment says.
func TestNoPointEndsAProgramBuiltWithoutTheTag(t *testing.T) {
	if Armed {
		t.Skip("built with the tag")
	}
	for _, p := range Points {
		t.Setenv(Env, string(p)+":1:kill")
		At(p)
	}
	if n := testing.AllocsPerRun(100, func() { At(Records) }); n != 0 {
		t.Errorf("a point costs %v allocations", n)
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
