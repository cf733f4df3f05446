package gate

import "time"

// CoolingFor returns how long nothing of the key may leave because its upstream
// asked for a pause.
func (s *State) CoolingFor(now time.Time) time.Duration { return max(s.cooling.Sub(now), 0) }
