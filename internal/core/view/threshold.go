package view

import "time"

// The thresholds of findings. Each stands here and nowhere else; those that a source or a
// command may set have their default here.
const (
	// ConditionLasts is how long an endpoint may be in trouble before a person should
	// look. Conditions are acted on and measured again automatically; most pass within
	// minutes.
	ConditionLasts = time.Hour

	// CircuitOpens is how many times in a row a circuit may open before a person should
	// look: with the waits between them about a quarter of an hour.
	CircuitOpens = 5

	// ClockOff is how far the clock of a machine may differ from the store's. Leases and
	// windows go by the store's; what is logged, signed and sent goes by the machine's.
	ClockOff = 30 * time.Second
)
