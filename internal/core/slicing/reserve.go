package slicing

// Expected returns how many items a slice is planned for. An assumed size may be
// wrong by any factor and counts like one nobody knows.
func (s Slice) Expected() int64 {
	if e := s.expectedItems(); !e.isUnknown() && e.Source != FromConstant {
		return e.Count
	}
	return 0
}

// Requests returns what so many items take; where nobody knows how many, the
// least.
func (s Step) Requests(items int64) int64 { return s.requestsFor(items) }
