package slicing

import "fmt"

// PlanUse is what a plan has used so far.
type PlanUse struct {
	Slices   int // it was cut into at first
	Requests int64
	Records  int64
	Bytes    int64
}

// What a plan may use by default: for each of its slices, and for so many more, as much
// as one slice may use by default. A plan whose slices are of the right size never comes
// near it.
const (
	spareSlices   = 20
	bytesPerSlice = 10_000_000_000
)

// MayCut refuses to cut a slice into parts once its plan has used up its budget. A list
// without an end would be cut for as long as its window can be, thousands of times over,
// and two halves that both reach their limit prove nothing about it.
func (c Config) MayCut(use PlanUse) error {
	c, usual := c.WithDefaults(), Config{}.WithDefaults()
	for _, b := range []struct {
		key               string
		limit, each, used int64
	}{
		{"planRequests", c.PlanRequests, int64(max(c.MaxRequests, usual.MaxRequests)), use.Requests},
		{"planRecords", c.PlanRecords, int64(max(c.MaxRecords, usual.MaxRecords)), use.Records},
		{"planBytes", c.PlanBytes, bytesPerSlice, use.Bytes},
	} {
		limit := b.limit
		if limit == 0 {
			limit = int64(use.Slices+spareSlices) * b.each
		}
		if b.used >= limit {
			return fmt.Errorf("slicing.%s of %d is used up: the plan has used %d, as happens when a list has no end; "+
				"if this list has an end, lower slicing.step or raise slicing.%s", b.key, limit, b.used, b.key)
		}
	}
	return nil
}
