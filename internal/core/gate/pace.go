package gate

import "math/bits"

// Pace is how many tasks of a partition may run at once, judged by how the last
// ones went (§5.7, §9.7). When more than half of the last twenty failed for a
// reason that passes, the number is halved, down to one; every five in a row that
// went well add one, up to what is declared. The zero value is the declared pace.
type Pace struct {
	lowered int    // zero: as declared
	failed  uint32 // the last ones, newest in the lowest bit
	streak  int    // ones that went well since the last change or failure
}

const (
	paceWindow = 20
	paceStreak = 5
)

// Limit is how many may run at once where so many are declared.
func (p Pace) Limit(declared int) int {
	if p.lowered == 0 {
		return declared
	}
	return min(p.lowered, declared)
}

// Note takes in how one ended.
func (p Pace) Note(well bool, declared int) Pace {
	p.failed = p.failed << 1 & (1<<paceWindow - 1)
	p.streak++
	if !well {
		p.failed, p.streak = p.failed|1, 0
	}
	limit := p.Limit(declared)
	switch {
	case bits.OnesCount32(p.failed) > paceWindow/2:
		return Pace{lowered: max(limit/2, 1)} // what led to this is not held against the new pace
	case p.lowered != 0 && p.streak == paceStreak:
		p.lowered, p.streak = limit+1, 0
	}
	if p.lowered >= declared {
		p.lowered = 0
	}
	return p
}
