package gatetest

import (
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
)

// untilHour is what is left of the hour of the clock. Where the hour is about to
// end, a test in real time waits for the next one.
func (w *world) untilHour() time.Duration {
	left := func() time.Duration { return time.Until(time.Now().Truncate(time.Hour).Add(time.Hour)) }
	if !w.Virtual && left() < time.Minute {
		<-time.After(left())
	}
	return left()
}

// fastLimits are limits that nothing but a quota bounds.
func fastLimits(l gate.Limits) gate.Limits {
	l.PerSecond, l.Burst, l.Concurrency = 1000, 1000, 100
	return l
}

// testQuota: charged before sending, the margin kept, and the end of the window told.
func (w *world) testQuota() {
	left := w.untilHour()
	clients := w.Open(w.T, 2)
	a := w.askFor(fastLimits(gate.Limits{QuotaPerHour: 20, QuotaMargin: 0.1}))
	a.Deadline = time.Second
	for i := range 18 {
		w.mustPass(clients[i%2], a, gate.Signal{Outcome: gate.Refused}) // charged, whatever came of it
	}
	f := w.refusalOf(clients[0], a)
	if f.Wait > left+10*time.Minute || f.Wait < left-time.Since(w.began)-time.Minute {
		w.Errorf("told to wait %v, the hour ends in %v", f.Wait, left)
	}
	if clients[0].Snapshot == nil {
		return
	}
	if q := w.gateState(clients[0]).Quotas; len(q) != 1 || q[0].Used != 18 || q[0].Limit != 20 || q[0].Name != "hour" {
		w.Errorf("shown as %+v", q)
	}
}

// rollOver: what is refused for the quota leaves when the next window begins, and
// no window holds more than is declared.
func (w *world) rollOver() {
	if w.Virtual {
		w.rollsOver(w.Open(w.T, 1), time.Hour)
		return
	}
	if w.ShortHours != nil {
		gates, hour := w.ShortHours(w.T, 2)
		w.rollsOver(gates, hour)
	}
}

// rollsOver sends 27 requests, one after the other, with 10 an hour and 25 a day. A
// log in real time is a little late, so the last request of an hour may be seen in
// the next one.
func (w *world) rollsOver(gates []Gate, hour time.Duration) {
	limits := fastLimits(gate.Limits{QuotaPerHour: 10, QuotaPerDay: 25}.WithDefaults())
	limits.QuotaMargin = 0
	for i := range pickByTime(w, 27, 25) {
		w.mustPass(gates[i%len(gates)], w.askFor(limits), gate.Signal{})
	}
	perHour, perDay := map[time.Time]int{}, map[time.Time]int{}
	for _, s := range w.sentLog() {
		perHour[s.at.Truncate(hour)]++
		perDay[s.at.Truncate(24*hour)]++
	}
	if n := len(perHour); n < 3 || w.Virtual && n != 4 {
		w.Errorf("%d requests in %d hours", len(w.sentLog()), n)
	}
	for at, n := range perHour {
		if n > pickByTime(w, 10, 11) {
			w.Errorf("%d requests in the hour of %v", n, at)
		}
	}
	for at, n := range perDay {
		if n > 25 {
			w.Errorf("%d requests on the day of %v", n, at)
		}
	}
}

// testRestarted: the process that comes after does not begin from nothing. One that
// ended in an orderly way loses nothing of the quota, one that did not may lose
// what it had fetched in advance.
func (w *world) testRestarted(orderly bool) {
	g := w.newGate()
	if g.Restart == nil {
		return
	}
	w.untilHour()
	a := w.askFor(fastLimits(gate.Limits{QuotaPerHour: 20, QuotaMargin: 0.1}))
	a.Deadline = 2 * time.Second
	for range 3 {
		for range 5 {
			w.mustPass(g, a, gate.Signal{})
		}
		g = g.Restart(orderly)
	}
	for w.makeRequest(w.Context(), g, a, 0, gate.Signal{}) == nil {
	}
	if n := len(w.sentLog()); n > 18 || orderly && n < 18 {
		w.Errorf("%d requests over four lives, 18 are allowed", n)
	}
}

func (w *world) testMoney() {
	w.untilHour()
	g := w.newGate()
	a := w.askFor(fastLimits(gate.Limits{BudgetPerDay: 1, PricePerRequest: 0.25}))
	a.Deadline = time.Second
	for range 4 {
		w.mustPass(g, a, gate.Signal{})
	}
	if f := w.refusalOf(g, a); f.Wait <= 0 || f.Wait > 25*time.Hour {
		w.Errorf("told to wait %v", f.Wait)
	}
	b := w.askFor(fastLimits(gate.Limits{BudgetPerDay: 1})) // costs nothing
	b.Deadline = time.Second
	w.mustPass(g, b, gate.Signal{})
}

// closedHours: refused until they open; who has none leaves at once.
func (w *world) closedHours() {
	w.untilHour()
	g, now := w.newGate(), time.Now().UTC()
	opens := now.Truncate(time.Hour).Add(3 * time.Hour)
	a := w.askFor(fastLimits(gate.Limits{Hours: opens.Format("15:04") + "-" + opens.Add(time.Hour).Format("15:04") + " UTC"}))
	a.Deadline = time.Minute
	if f := w.refusalOf(g, a); f.Wait < opens.Sub(now)-time.Minute || f.Wait > opens.Sub(now)+10*time.Minute {
		w.Errorf("told to wait %v, they open in %v", f.Wait, opens.Sub(now))
	}
	w.mustPass(g, w.askFor(fastLimits(gate.Limits{})), gate.Signal{})
	if !w.Virtual {
		return
	}
	a.Deadline = 0
	w.mustPass(g, a, gate.Signal{})
	if sent := w.sentLog(); sent[1].at.Before(opens) {
		w.Errorf("left at %v, they open at %v", sent[1].at, opens)
	}
}

// testEstimate is never more than what the limits allow.
func (w *world) testEstimate() {
	g := w.newGate()
	if g.Estimate == nil {
		return
	}
	w.untilHour()
	for _, c := range []struct {
		name     string
		limits   gate.Limits
		horizon  time.Duration
		min, max int64
	}{
		{"rate", gate.Limits{PerSecond: 10, Burst: 1, Concurrency: 4}, time.Minute, 590, 601},
		{"cost", gate.Limits{PerSecond: 10, Burst: 1, Concurrency: 4, Cost: 2}, time.Minute, 295, 301},
		{"quota", fastLimits(gate.Limits{QuotaPerHour: 100, QuotaMargin: 0.1}), 30 * time.Second, 80, 90},
		{"money", fastLimits(gate.Limits{BudgetPerDay: 1, PricePerRequest: 0.1}), time.Second, 9, 10},
	} {
		a := w.askFor(c.limits)
		a.Key = "estimate of " + c.name
		got, err := g.Estimate(w.Context(), a, c.horizon)
		if err != nil || got.Requests < c.min || got.Requests > c.max || got.Concurrency < 1 {
			w.Errorf("%s: %+v, want %d to %d requests (%v)", c.name, got, c.min, c.max, err)
		}
	}
}

// testStanding: whoever chooses between keys sees what all clients have used of each, and that nothing was of a new one.
func (w *world) testStanding() {
	w.untilHour()
	clients := w.Open(w.T, 2)
	if clients[0].Standing == nil {
		return
	}
	limits := fastLimits(gate.Limits{QuotaPerHour: 200, QuotaMargin: 0})
	a := w.askFor(limits)
	a.Key = "source:one"
	for range 50 {
		w.mustPass(clients[0], a, gate.Signal{})
	}
	for key, want := range map[string][2]int64{"source:one": {50, 199}, "source:two": {0, 0}} {
		s, err := clients[1].Standing(w.Context(), key, limits)
		if err != nil {
			w.Fatal(err)
		}
		if len(s.Quotas) != 1 || s.Quotas[0].Limit != 200 || int64(s.Quotas[0].Used) < want[0] || int64(s.Quotas[0].Used) > want[1] {
			w.Errorf("%s stands at %+v", key, s)
		}
	}
}
