package integrity

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// What is proven is what was added, whatever the ids are, and each version is claimed once.
func TestProvenKnowsWhatWasAdded(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var p Proven
		added := map[int64]bool{}
		var ids []int64
		for range random.IntN(300) {
			id := int64(random.IntN(5))<<20 + int64(random.IntN(400))
			ids, added[id] = append(ids, id), true
		}
		slices.Sort(ids)
		for _, id := range ids {
			p.Add(id)
		}
		claimed := map[int64]bool{}
		for range 600 {
			id := int64(random.IntN(6))<<20 + int64(random.IntN(400))
			known, again := p.Claim(id)
			if known != added[id] || known && again != claimed[id] {
				t.Fatalf("body %d: known %t, again %t; it was added %t and claimed %t", id, known, again, added[id], claimed[id])
			}
			claimed[id] = true
		}
	}
}

// One that comes out of order is not noted in the place of another.
func TestProvenLeavesOutWhatIsOutOfOrder(t *testing.T) {
	var p Proven
	p.Add(1 << 20)
	p.Add(5)
	if known, _ := p.Claim(5); known {
		t.Error("body 5 came behind a later one")
	}
	if known, _ := p.Claim(1 << 20); !known {
		t.Error("the first one is not known")
	}
}
