package gate

import "time"

// demotion is how far the rate is below the declared one: divided when the
// upstream complains, and coming back in steps (§4.10.4).
type demotion struct {
	lowered float64   // share of the declared rate that was left; zero: the whole
	since   time.Time // steps are counted from here
	at      time.Time // of the last complaint that counted
	times   int
	why     Outcome // of that complaint
}

// usableShare returns what may be used of the declared rate.
func (d demotion) usableShare(l Limits, now time.Time) float64 {
	if d.lowered == 0 {
		return 1
	}
	steps := 0.0
	if passed := now.Sub(d.since); passed > 0 {
		steps = float64(passed / l.RecoverEvery.Std())
	}
	return min(d.lowered+steps*l.Recover/l.PerSecond, 1)
}

// lowerRate divides the rate. One burst that is refused as a whole is one complaint:
// answers to what was sent before the last one counted say nothing new. And one
// request that always fails, tried again and again, must not stop all others:
// failures count once in the time of one step back up.
func (d *demotion) lowerRate(l Limits, why Outcome, sent, now time.Time) bool {
	if d.times > 0 && (!sent.After(d.at) || why == Failed && now.Sub(d.at) < l.RecoverEvery.Std()) {
		return false
	}
	floor := l.MinPerSecond / l.PerSecond
	d.lowered = max(d.usableShare(l, now)/l.Demote, floor)
	d.since, d.at = now, now
	d.times++
	d.why = why
	return true
}

// nextRise returns when the share rises again; zero if it does not.
func (d demotion) nextRise(l Limits, now time.Time) time.Time {
	if d.lowered == 0 || d.usableShare(l, now) >= 1 {
		return time.Time{}
	}
	every := l.RecoverEvery.Std()
	if now.Before(d.since) {
		return d.since.Add(every)
	}
	return d.since.Add((now.Sub(d.since)/every + 1) * every)
}
