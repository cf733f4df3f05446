package paging

// Tally counts the different items of a pass, page by page. A page may hold more
// than was asked for: an item that is shown on every page, one of another list, or
// simply the next ones. Such a surplus says nothing about the places that were
// asked for, so it must not stand in for an item that never came (I2).
//
// Nobody can tell which items of a page are the surplus. So a page counts for at
// most as many items as were asked for, and the rest is kept in mind: where an
// item of such a page comes again, it may be at its own place now, and counts
// then. The zero value is ready to use.
type Tally struct {
	seen  map[uint64]struct{} // ids of all items, as short hashes
	spare map[uint64]struct{} // ids of pages with more than was asked for
	owed  int                 // items of those pages that were not counted
}

// Page takes note of the items of a page. It gives the places of those that were
// not seen before, and how many known ones may be the surplus of an earlier page
// that comes at its place now. A slice may have millions of items, so what is kept
// per item is small (I14).
func (t *Tally) Page(ids []uint64, asked int) (fresh []int, known int) {
	if t.seen == nil {
		t.seen, t.spare = map[uint64]struct{}{}, map[uint64]struct{}{}
	}
	fresh = make([]int, 0, len(ids))
	again := map[uint64]struct{}{}
	for i, id := range ids {
		if addID(t.seen, id) {
			fresh = append(fresh, i)
		} else if _, spare := t.spare[id]; spare {
			again[id] = struct{}{}
		}
	}
	known = min(len(again), t.owed, max(asked-len(fresh), 0))
	t.owed += max(len(fresh)-asked, 0) - known
	if len(ids) > asked {
		for _, id := range ids {
			t.spare[id] = struct{}{}
		}
	}
	return fresh, known
}

// addID puts an id into a set and reports whether it was not in there.
func addID(set map[uint64]struct{}, id uint64) bool {
	before := len(set)
	set[id] = struct{}{}
	return len(set) > before
}

// Has reports whether an item was on a page of this pass.
func (t *Tally) Has(id uint64) bool {
	_, seen := t.seen[id]
	return seen
}
