package rategate

import "time"

// Cooling returns for how long nothing of a key may leave because its upstream
// asked for a pause. A key that was never used is not cooling.
func (l *Local) Cooling(name string) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.keys[name]
	if k == nil {
		return 0
	}
	return k.state.CoolingFor(time.Now())
}
