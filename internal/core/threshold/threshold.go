// Package threshold is from when on something is a finding: each limit with its default,
// and the rules that judge numbers by them.
//
// It must never read a clock or a table: what is judged is given.
package threshold

import "time"

// Limits are the thresholds of findings. Each has its default here and nowhere else.
type Limits struct {
	// ConditionLasts is how long an endpoint may be in trouble before a person should
	// look. Conditions are acted on and measured again automatically; most pass within
	// minutes.
	ConditionLasts time.Duration

	// CircuitOpens is how many times in a row a circuit may open before a person should
	// look: with the waits between them about a quarter of an hour.
	CircuitOpens int

	// ClockOff is how far the clock of a machine may differ from the store's. Leases and
	// windows go by the store's; what is logged, signed and sent goes by the machine's.
	ClockOff time.Duration

	// StallAfter is how long a watermark may stand after the tick that should have moved it.
	StallAfter time.Duration

	// PlanIdle is how long a plan may be ready before the first of its tasks is taken.
	PlanIdle time.Duration

	// ProcessGone is how long it is told that a process ended without shutting down, where
	// nothing waits for it.
	ProcessGone time.Duration

	// EventsAge is how long an event may wait: longer than any pause of a relay that works,
	// and than what one that falls behind needs to be noticed. 0: for ever.
	EventsAge time.Duration

	// CheckAge is how old the last check of the database may be. 0: for ever.
	CheckAge time.Duration

	// ErrorShare is which share of batches may meet errors of L1 and L2 (§14.8), and ErrorFor
	// for how long it may be more. 0: any.
	ErrorShare float64
	ErrorFor   time.Duration

	// ThrottledShare is which share of batches may be told to slow down (§14.8), and
	// ThrottledFor for how long it may be more. 0: any.
	ThrottledShare float64
	ThrottledFor   time.Duration

	// LeastBatches is how many there must be in five minutes to judge by shares of them.
	LeastBatches int

	// QuotaLeftShare is which share of a quota should be left. 0: none.
	QuotaLeftShare float64

	// QuarantineGrowth is how many items may come into quarantine within an hour before that
	// is critical. 0: any.
	QuarantineGrowth int

	// QueueLeast is how many tasks may always wait, and QueueFor for how long more than usual
	// may (§14.8). 0: any.
	QueueLeast int
	QueueFor   time.Duration

	// ThinShare is which share of the items that a weekday usually has a day should have. 0: none.
	ThinShare float64

	// DiskFreeShare is which share of a disk should be free, where that is less than 20 GB.
	DiskFreeShare float64

	// RawFullShare is up to which share of their bound bodies of answers may be kept before
	// it is told that older ones go. 0: any.
	RawFullShare float64

	// StoreSlow is how long the database may take for the simplest answer. 0: for ever.
	StoreSlow time.Duration
}

// What commands name in their help.
const (
	UsualEventsAge = time.Hour
	UsualCheckAge  = 30 * 24 * time.Hour
)

// Default returns the limits of an installation that declares none.
func Default() Limits {
	return Limits{
		ConditionLasts: time.Hour,
		CircuitOpens:   5,
		ClockOff:       30 * time.Second,
		StallAfter:     30 * time.Minute,
		PlanIdle:       30 * time.Minute,
		ProcessGone:    24 * time.Hour,
		EventsAge:      UsualEventsAge,
		CheckAge:       UsualCheckAge,

		ErrorShare: 0.05, ErrorFor: 10 * time.Minute,
		ThrottledShare: 0.05, ThrottledFor: 5 * time.Minute,
		LeastBatches:     20,
		QuotaLeftShare:   0.1,
		QuarantineGrowth: 100,
		QueueLeast:       500,
		QueueFor:         30 * time.Minute,
		ThinShare:        0.2,
		DiskFreeShare:    0.05,
		RawFullShare:     0.9,
		StoreSlow:        time.Second,
	}
}
