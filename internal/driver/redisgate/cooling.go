package redisgate

import "time"

// Cooling returns for how long nothing of a key may leave because its upstream
// asked for a pause, as far as this process knows.
func (g *Gate) Cooling(name string) time.Duration {
	g.mu.Lock()
	k := g.keys[name]
	g.mu.Unlock()
	if k == nil {
		return 0
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return max(time.Until(k.cool), 0)
}
