package event

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

var noon = time.Date(2025, 3, 20, 12, 0, 0, 0, time.UTC)

// Whatever is held: at most one event of a key is tried, and it is the first.
func TestDueKeepsTheOrderOfKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var held []Held
		for i := range rapid.IntRange(0, 30).Draw(t, "n") {
			held = append(held, Held{
				Row: int64(i + 1), Key: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "key"), Status: rapid.SampledFrom([]Status{Failed, Dead}).Draw(t, "status"),
				NotBefore: noon.Add(time.Duration(rapid.IntRange(-1, 1).Draw(t, "due")) * time.Second),
			})
		}
		due := map[int64]bool{}
		for _, row := range Due(held, noon) {
			due[row] = true
		}
		first := map[string]bool{}
		for _, h := range held {
			want := !first[h.Key] && h.Status == Failed && !h.NotBefore.After(noon)
			if due[h.Row] != want {
				t.Fatalf("row %d of %+v: due is %v", h.Row, held, due[h.Row])
			}
			first[h.Key] = true
		}
	})
}

// Waves hold every change once, no key twice in a wave, and keys in their order.
func TestWaves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var changes []Change
		for i := range rapid.IntRange(0, 40).Draw(t, "n") {
			changes = append(changes, Change{Row: int64(i + 1), Key: rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "key")})
		}
		last, n := map[string]int64{}, 0
		for _, wave := range Waves(changes) {
			seen := map[string]bool{}
			for _, c := range wave {
				if seen[c.Key] || c.Row <= last[c.Key] {
					t.Fatalf("row %d of key %s after %d", c.Row, c.Key, last[c.Key])
				}
				seen[c.Key], last[c.Key] = true, c.Row
				n++
			}
		}
		if n != len(changes) {
			t.Fatalf("%d of %d", n, len(changes))
		}
	})
}

func TestRoomGivesEachItsOwn(t *testing.T) {
	var r Room
	for range 3 {
		r.Reset()
		var all [][]byte
		for i := range 300 {
			b := r.Take(i * 100)
			for len(b) < cap(b) {
				b = append(b, byte(i))
			}
			all = append(all, b)
		}
		all = append(all, r.Copy([]byte("x")))
		for i, b := range all[:300] {
			if len(b) != i*100 {
				t.Fatalf("%d bytes, want %d", len(b), i*100)
			}
			for _, is := range b {
				if is != byte(i) {
					t.Fatalf("block %d was written over", i)
				}
			}
		}
	}
}

func TestBackoffGrowsToALimit(t *testing.T) {
	last := time.Duration(0)
	for n := range 100 {
		wait := Backoff.After(n)
		if wait < last || wait > Backoff.Longest || wait < Backoff.First {
			t.Errorf("%v after %v", wait, last)
		}
		last = wait
	}
	if last != Backoff.Longest {
		t.Error(last)
	}
}

func TestRefusalsEnd(t *testing.T) {
	for attempts, dead := range map[int]bool{0: false, 3: false, 4: true, 9: true} {
		f := Refusal(Change{Row: 7, Attempts: attempts}, Refused, ErrRefused, noon)
		if f.Dead != dead || f.Attempts != attempts+1 || f.NotBefore.IsZero() != dead {
			t.Errorf("%+v", f)
		}
	}
	for _, f := range []Fault{TooLarge, BodyGone} {
		if !Refusal(Change{}, f, ErrTooLarge, noon).Dead {
			t.Errorf("%s is not cured by trying again", f)
		}
	}
}
