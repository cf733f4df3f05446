package sector

import (
	"slices"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/window"
	"pgregory.net/rapid"
)

func drawHours(t *rapid.T, name string, hours int) window.Window {
	from := rapid.IntRange(0, hours-1).Draw(t, name+" from")
	return window.Window{From: hour(from), To: hour(rapid.IntRange(from+1, hours).Draw(t, name+" to"))}
}

func drawLags(t *rapid.T, hours int) []Lag {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Lag {
		return Lag{Sector: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "sector"), Window: drawHours(t, "lag", hours),
			AsOf: hour(rapid.IntRange(0, 2*hours).Draw(t, "as of")), Waived: rapid.Bool().Draw(t, "waived")}
	}), 0, 6).Draw(t, "lags")
}

// A piece names exactly those that lag in each of its hours, and there is one wherever somebody does.
func TestPiecesFollowEveryHour(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const hours = 8
		within, lags := []window.Window{drawHours(t, "within", hours)}, drawLags(t, hours)
		pieces := Pieces(within, lags)
		for n := range hours {
			at := window.Window{From: hour(n), To: hour(n + 1)}
			missing, waived, earliest := map[string]bool{}, map[string]bool{}, time.Time{}
			for _, l := range lags {
				if l.Window.Overlaps(at) && within[0].Overlaps(at) {
					if l.Waived {
						waived[l.Sector] = true
					} else {
						missing[l.Sector] = true
					}
					if earliest.IsZero() || l.AsOf.Before(earliest) {
						earliest = l.AsOf
					}
				}
			}
			i := slices.IndexFunc(pieces, func(p Piece) bool { return p.Window.Overlaps(at) })
			if i < 0 {
				if len(missing)+len(waived) > 0 {
					t.Fatalf("hour %d has no piece: %v", n, lags)
				}
				continue
			}
			p := pieces[i]
			for _, name := range []string{"a", "b", "c"} {
				if slices.Contains(p.Missing, name) != missing[name] || slices.Contains(p.Waived, name) != (waived[name] && !missing[name]) {
					t.Fatalf("hour %d of %+v: %v", n, p, lags)
				}
			}
			if !p.AsOf.Equal(earliest) {
				t.Fatalf("hour %d as of %s, want %s", n, p.AsOf, earliest)
			}
		}
	})
}

// What a plan reads for every sector together is all that is owed for it: a sector is left out of an hour only where it
// does not lag, somebody else does, and the hour was settled when the others were read.
func TestNarrowedForgetsNobody(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const hours = 8
		owed := window.Union([]window.Window{drawHours(t, "owed", hours), drawHours(t, "owed too", hours)})
		lags, lookback := drawLags(t, hours), time.Duration(rapid.IntRange(0, 4).Draw(t, "lookback"))*time.Hour
		names := []string{"a", "b", "c", "d"}[:rapid.IntRange(1, 4).Draw(t, "known")]
		var all []Sector
		for _, name := range names {
			all = append(all, Sector{Name: name})
		}
		narrowed := Narrowed(owed, lags, All{List: all}, lookback)
		for n := range hours {
			at := window.Window{From: hour(n), To: hour(n + 1)}
			if !holds(owed, at) {
				continue
			}
			for _, name := range names {
				if holds(append(OwedByFew(name, owed, narrowed), OwedByAll(owed, narrowed)...), at) {
					continue
				}
				others := 0
				for _, l := range lags {
					if !l.Window.Overlaps(at) {
						continue
					}
					if !slices.Contains(names, l.Sector) {
						t.Fatalf("hour %d is left to %s, whom nobody can ask: %v", n, l.Sector, lags)
					}
					if l.Sector == name && !l.Waived {
						t.Fatalf("%s lags in hour %d and is not asked: %v", name, n, lags)
					}
					if at.To.After(l.AsOf.Add(-lookback)) {
						t.Fatalf("hour %d was not settled for %s: %v", n, name, lags)
					}
					if others++; l.Waived {
						others--
					}
				}
				if others == 0 {
					t.Fatalf("nobody lags in hour %d, and %s is not asked", n, name)
				}
			}
		}
	})
}

// A sector lags where its slice was lost and others were read; where all were lost, nobody does.
func TestLaggingNamesTheLost(t *testing.T) {
	day := window.Window{From: hour(0), To: hour(8)}
	half, _ := day.Split(hour(4))
	all := []Slice{{Sector: "a", Window: day, State: Read}, {Sector: "b", Window: half, State: Lost}, {Sector: "c", Window: day, State: Read}}
	if got := Lagging([]window.Window{half}, all, 3, hour(9)); len(got) != 1 || got[0] != (Lag{Sector: "b", Window: half, AsOf: hour(9)}) {
		t.Errorf("%+v", got)
	}
	all = []Slice{{Sector: "a", Window: day, State: Lost}, {Sector: "b", Window: half, State: Lost}}
	if got := Lagging([]window.Window{day}, all, 2, hour(9)); len(got) != 0 {
		t.Errorf("nobody read it: %+v", got)
	}
	left := Without([]Lag{{Sector: "a", Window: day}}, []window.Window{half})
	if len(left) != 1 || left[0].Window.From != hour(4) {
		t.Errorf("%+v", left)
	}
}
