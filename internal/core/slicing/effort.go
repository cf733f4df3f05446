package slicing

// Step is what one endpoint has to do for a plan: the search of a window, or the
// details of what it found. Zero is unknown.
type Step struct {
	Endpoint        string
	Role            string // SEARCH or DETAIL
	PerRequest      int    // items one request brings
	Passes          int    // reads of a slice, more than one where pages move (D§5.14)
	ByID            bool   // asks for ids that are known: where there are none it asks nothing
	PerSecond       float64
	Concurrency     int
	PricePerRequest float64
}

// requestsFor returns what so many items take.
func (s Step) requestsFor(items int64) int64 {
	if s.ByID && items <= 0 {
		return 0
	}
	return Pages(items, s.PerRequest) * int64(max(s.Passes, 1))
}

// Pages returns how many requests so many items take; nothing takes one as well.
func Pages(items int64, size int) int64 {
	if items <= 0 || size <= 0 {
		return 1
	}
	return (items-1)/int64(size) + 1
}

// expectedItems returns what is known about the size of a slice; nothing if it
// is unknown.
func (s Slice) expectedItems() Estimate {
	if s.Spec.Telemetry.Estimate == nil {
		return Estimate{}
	}
	return *s.Spec.Telemetry.Estimate
}

// requestsFor adds up the steps of a slice.
func requestsFor(steps []Step, items int64) (total int64) {
	for _, s := range steps {
		total += s.requestsFor(items)
	}
	return total
}
