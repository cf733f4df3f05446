package threshold

import "time"

// Slot is what a share is measured over: a few minutes of work.
type Slot struct {
	Start time.Time
	Share float64
	Of    int64 // what it is a share of: batches
}

// Over reports whether a share has been above a limit for as long as it may, and since
// when: in each of the slots of that time, one more so that it is not shorter, with enough
// to judge by. It stays so until none of the slots given ends such a time, so that what goes
// up and down is one finding. Slots are in order, and one that is missing had no work.
func Over(slots []Slot, length, lasts time.Duration, limit float64, least int64) (since time.Time, over bool) {
	needed := int(lasts/length) + 1
	row := 0
	for i, s := range slots {
		if s.Share <= limit || s.Of < least {
			row = 0
			continue
		}
		if row > 0 && s.Start.Sub(slots[i-1].Start) > length {
			row = 0
		}
		row++
		if row >= needed && !over {
			since, over = slots[i-row+1].Start, true
		}
	}
	return since, over
}
