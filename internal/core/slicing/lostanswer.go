package slicing

import "math"

// MostPages returns how many pages a slice may come to. Sized says whether
// slices are cut by what they hold; else only the budget ends a slice.
func (r Request) MostPages(sized bool) int64 {
	if !sized {
		r.Config.TargetRecords, r.Config.MaxPages, r.MaxPages, r.Cap = 0, 0, 0, 0
	}
	return min(Pages(r.mostItems(), r.PageSize), int64(r.Config.MaxRequests))
}

// ShareOfWalksThatEnd returns how many walks over so many pages come to their
// end if each answer is lost with this chance and one lost answer breaks the
// walk: all of them have to arrive.
func ShareOfWalksThatEnd(pages int64, lost float64) float64 {
	return math.Pow(1-lost, float64(pages))
}
