package slicing

// Expected returns how many items a slice is planned for. An assumed size may be
// wrong by any factor and counts as unknown.
func (s Slice) Expected() int64 {
	if e := s.expectedItems(); !e.isUnknown() && e.Source != FromConstant {
		return e.Count
	}
	return 0
}

// Requests returns how many requests so many items take; the least number where
// the size is unknown.
func (s Step) Requests(items int64) int64 { return s.requestsFor(items) }
