package gate

import "time"

// Use is what is known of the quotas of a key: taken, and set aside by plans.
type Use struct {
	Now      time.Time // of the clock that counts
	Taken    []Taken
	Reserved []Reserved
	Cooling  time.Time // the upstream wants nothing before; zero: it may leave
	Held     time.Time // work is left alone before, for a reason of our own; zero: it is not
	HeldBy   Reason
}

// Taken is what all processes took of one window.
type Taken struct {
	Quota  string // hour, day or money
	Start  time.Time
	Amount float64
}

// Reserved is what tasks that are due in one hour are expected to take.
type Reserved struct {
	Hour     time.Time
	Requests float64
}

// WithMembers returns the use of a pool: what its members took, and what is set aside under its own key. The pool
// waits as long as the one of them that waits least.
func (u Use) WithMembers(members []Use) Use {
	var soonest time.Time
	for i, m := range members {
		u.Taken = append(u.Taken, m.Taken...)
		if i == 0 || m.Cooling.Before(soonest) {
			soonest = m.Cooling
		}
	}
	if soonest.After(u.Cooling) {
		u.Cooling = soonest
	}
	return u
}
