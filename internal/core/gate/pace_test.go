package gate

import (
	"testing"

	"pgregory.net/rapid"
)

// noted is a pace after so many that went well or badly.
func noted(p Pace, n int, well bool, declared int) Pace {
	for range n {
		p = p.Note(well, declared)
	}
	return p
}

func TestPace(t *testing.T) {
	const declared = 8
	p := noted(Pace{}, 10, false, declared)
	for _, c := range []struct {
		name string
		n    int
		well bool
		want int
	}{
		{"half failed", 0, false, 8},
		{"more than half failed", 1, false, 4},
		{"what was judged is not judged again", 10, false, 4},
		{"as bad as before", 1, false, 2},
		{"worse", 11, false, 1},
		{"never less than one", 50, false, 1},
		{"a few that go well change nothing", 4, true, 1},
		{"five in a row", 1, true, 2},
		{"one that fails ends the row", 1, false, 2},
		{"and a new one begins", 4, true, 2},
		{"five in a row again", 1, true, 3},
		{"all in all", 25, true, 8},
		{"never more than declared", 100, true, 8},
	} {
		if p = noted(p, c.n, c.well, declared); p.Limit(declared) != c.want {
			t.Fatalf("%s: %d at once, want %d", c.name, p.Limit(declared), c.want)
		}
	}
}

// What failed long ago is forgotten.
func TestPaceForgets(t *testing.T) {
	p := noted(noted(Pace{}, 10, false, 8), 10, true, 8)
	if p = noted(p, 10, false, 8); p.Limit(8) != 8 {
		t.Errorf("%d at once: 10 of the last 20 failed", p.Limit(8))
	}
	if p = p.Note(false, 8); p.Limit(8) != 4 {
		t.Errorf("%d at once: 11 of the last 20 failed", p.Limit(8))
	}
}

func TestPaceLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p Pace
		declared := 1
		for range rapid.IntRange(0, 300).Draw(t, "runs") {
			declared = rapid.IntRange(1, 40).Draw(t, "declared") // a newer snapshot may say otherwise
			before, well := p.Limit(declared), rapid.Bool().Draw(t, "well")
			p = p.Note(well, declared)
			after := p.Limit(declared)
			if after < 1 || after > declared || well && after < before || !well && after > before {
				t.Fatalf("well %v: from %d to %d of %d", well, before, after, declared)
			}
		}
		if worst := noted(p, 11*8, false, declared); worst.Limit(declared) != 1 {
			t.Fatalf("all fail and %d may run", worst.Limit(declared))
		}
		if best := noted(p, 5*40+1, true, declared); best.Limit(declared) != declared || best.lowered != 0 {
			t.Fatalf("all go well and %d of %d may run", best.Limit(declared), declared)
		}
	})
}
