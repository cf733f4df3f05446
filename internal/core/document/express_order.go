package document

import (
	"bytes"
	"cmp"
	"slices"
)

// order says how the members of one kind of object come into their order. The
// objects of a page are of few kinds, so an order is worked out once, kept, and
// then only held against the names.
type order struct {
	kind  uint64 // of the names as they were written
	ranks []int32
}

// arrangeMembers puts the members of an object that was just read in order. Without
// those that are dropped there are gaps to close even if they are in order. It
// is false if a name is there twice.
func (e *express) arrangeMembers(members []member, body int) bool {
	inOrder, gaps := 1, members[0].isDropped()
	for inOrder < len(members) && e.compareNames(&members[inOrder-1], &members[inOrder]) < 0 {
		gaps = gaps || members[inOrder].isDropped()
		inOrder++
	}
	if inOrder >= len(members) && !gaps {
		return true
	}
	ranks, ok := e.rankMembers(members)
	if !ok {
		return false
	}
	e.writePending()
	sorted := e.sorted[:0]
	for _, rank := range ranks {
		m := &members[rank]
		if m.isDropped() {
			continue
		}
		if len(sorted) > 0 {
			sorted = append(sorted, ',')
		}
		sorted = append(sorted, e.out[m.from:m.to]...)
	}
	e.sorted = append(sorted, '}')
	e.out = e.out[:body+copy(e.out[body:], e.sorted)]
	return true
}

// rankMembers finds the order of members among those that are kept, or works it out.
func (e *express) rankMembers(members []member) ([]int32, bool) {
	kind := uint64(len(members))
	for i := range members {
		kind = (kind ^ members[i].key) * 0x9e3779b97f4a7c15
	}
	kept := &e.orders[kind>>58]
	if kept.kind == kind && len(kept.ranks) == len(members) && e.isAscending(members, kept.ranks) {
		return kept.ranks, true
	}
	kept.kind, kept.ranks = kind, kept.ranks[:0]
	for i := range members {
		kept.ranks = append(kept.ranks, int32(i))
	}
	slices.SortFunc(kept.ranks, func(a, b int32) int { return e.compareNames(&members[a], &members[b]) })
	return kept.ranks, e.isAscending(members, kept.ranks)
}

// isAscending returns false for a wrong order and for a name that is there twice.
func (e *express) isAscending(members []member, ranks []int32) bool {
	for i := 1; i < len(ranks); i++ {
		if e.compareNames(&members[ranks[i-1]], &members[ranks[i]]) >= 0 {
			return false
		}
	}
	return true
}

func (e *express) compareNames(a, b *member) int {
	if a.key != b.key {
		return cmp.Compare(a.key, b.key)
	}
	return bytes.Compare(e.src[a.name:a.nameEnd], e.src[b.name:b.nameEnd])
}
