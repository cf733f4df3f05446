package integrity

import (
	"cmp"
	"slices"
)

// Proven are versions of which a check has seen that they are the current ones of their records, so
// that nobody need look for them again. To look for each of them by itself would read a frame for each record,
// all over the database. 64 versions of a batch take 24 bytes. The zero value has none.
type Proven struct {
	words []provenWord // in the order of their places
}

// provenWord are 64 versions that follow one another.
type provenWord struct {
	place          int64 // id of the first, divided by 64
	known, claimed uint64
}

// mostProven is how many words are kept: about 100 MB, and 250 million versions where they lie close together. What comes
// beyond has to be looked for.
const mostProven = 4 << 20

// Add notes a version. Versions come in the order of their ids; one that does not is left out.
func (p *Proven) Add(id int64) {
	place, bit := id>>6, uint64(1)<<(id&63)
	last := len(p.words) - 1
	switch {
	case last >= 0 && p.words[last].place == place:
		p.words[last].known |= bit
	case len(p.words) < mostProven && (last < 0 || p.words[last].place < place):
		p.words = append(p.words, provenWord{place: place, known: bit})
	}
}

// Claim returns whether a version is known to be current, and whether a record has claimed it before: a version belongs to one
// record.
func (p *Proven) Claim(id int64) (known, again bool) {
	i, found := slices.BinarySearchFunc(p.words, id>>6, func(w provenWord, place int64) int { return cmp.Compare(w.place, place) })
	if !found {
		return false, false
	}
	w, bit := &p.words[i], uint64(1)<<(id&63)
	known, again = w.known&bit != 0, w.claimed&bit != 0
	w.claimed |= bit
	return known, again
}
