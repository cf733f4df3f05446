package twophase

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Whatever is delivered or not, every found id is asked for, each one that was
// not delivered is asked for as often as the policy says, and is lost exactly once.
func TestEveryIDIsAccountedFor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		policy := rapid.SampledFrom([]Policy{Recheck, Quarantine, Gone}).Draw(t, "policy")
		size := rapid.IntRange(1, 7).Draw(t, "batch size")
		pages := rapid.SliceOfN(rapid.IntRange(0, 10), 1, 4).Draw(t, "ids per page")
		asked, lost, unknown := map[string]int{}, []string{}, map[string]bool{}
		var p Progress
		id := 0
		for i, n := range pages {
			var found []string
			for range n {
				id++
				name := fmt.Sprint(id)
				unknown[name] = rapid.Bool().Draw(t, "unknown")
				found = append(found, name)
			}
			p = p.Found(found, i == len(pages)-1)
			for len(p.Pending) > 0 {
				batch := p.Batch(size)
				for _, id := range batch {
					asked[id]++
				}
				var gone []string
				p, gone = p.Asked(batch, func(id string) bool { return !unknown[id] }, policy)
				lost = append(lost, gone...)
			}
			if p.Done() != (i == len(pages)-1) {
				t.Fatalf("page %d: done is %v", i, p.Done())
			}
		}
		for name, missing := range unknown {
			want := 1
			if missing && policy == Recheck {
				want = 2
			}
			if asked[name] != want || missing != slices.Contains(lost, name) {
				t.Fatalf("%s (unknown %v): asked %d times, lost %v", name, missing, asked[name], lost)
			}
		}
		if slices.Sort(lost); len(slices.Compact(slices.Clone(lost))) != len(lost) {
			t.Fatalf("lost twice: %v", lost)
		}
	})
}

// A stored progress must not change under the hands of the next step.
func TestProgressIsAValue(t *testing.T) {
	a := Progress{}.Found([]string{"1", "2", "3"}, false)
	b := a.Found([]string{"4"}, true)
	c, _ := b.Asked(b.Batch(2), func(string) bool { return false }, Recheck)
	d := b.Found([]string{"5"}, true)
	if fmt.Sprint(a.Pending, b.Pending, c.Pending, c.Missing, d.Pending) != "[1 2 3] [1 2 3 4] [3 4] [1 2] [1 2 3 4 5]" {
		t.Error(a, b, c, d)
	}
}

// Missing ids do not wait without bound: all of them are written with every batch.
func TestMissingIDsAreBounded(t *testing.T) {
	var p Progress
	none := func(string) bool { return false }
	lost, most := 0, 0
	for page := range 50 {
		var ids []string
		for i := range 100 {
			ids = append(ids, fmt.Sprint(page, "-", i))
		}
		p = p.Found(ids, page == 49)
		for len(p.Pending) > 0 {
			var gone []string
			p, gone = p.Asked(p.Batch(40), none, Recheck)
			lost += len(gone)
			most = max(most, len(p.Missing), len(p.Pending))
		}
	}
	if lost != 5000 || !p.Done() || most > maxMissing+100 {
		t.Errorf("%d lost, at most %d waited, done %v", lost, most, p.Done())
	}
}

// A search that starts over does not find ids again that were asked for.
func TestRestartKeepsTheMissing(t *testing.T) {
	p, _ := Progress{Answered: 7, Bad: 1}.Found([]string{"a", "b"}, false).Asked([]string{"a", "b"}, func(id string) bool { return id == "a" }, Recheck)
	p = p.Restart().Found(nil, true)
	if !slices.Equal(p.Pending, []string{"b"}) || !p.Again || p.Answered != 7 || p.Bad != 1 {
		t.Errorf("%+v", p)
	}
}
