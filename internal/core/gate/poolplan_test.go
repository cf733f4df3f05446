package gate

import (
	"testing"
	"time"
)

// A plan for a pool may take what all its members have left together, and waits only as long as the first of them.
func TestPlansOfPools(t *testing.T) {
	now := t0.Truncate(24 * time.Hour).Add(10*time.Hour + 30*time.Minute)
	hour := now.Truncate(time.Hour)
	limits := Limits{PerSecond: 1000, QuotaPerHour: 100, QuotaMargin: 0.0001}.Filled().Times(2)
	took := func(n float64, cool time.Time) Use {
		return Use{Now: now, Taken: []Taken{{"hour", hour, n}}, Cooling: cool}
	}
	use := Use{Now: now, Reserved: []Reserved{{hour, 30}}}.WithMembers([]Use{took(80, now.Add(time.Hour)), took(10, time.Time{})})
	if !use.Cooling.IsZero() {
		t.Errorf("the pool waits until %s, and one member need not", use.Cooling)
	}
	b := NewBudget(limits, 10, use)
	if at := b.Place(70, now); !at.Equal(now) {
		t.Errorf("70 of the 79 that are left leave at %s", at)
	}
	if at := b.Place(30, now); !at.Equal(hour.Add(time.Hour)) {
		t.Errorf("30 more leave at %s", at)
	}
	p := Foretell(Load{Key: "k", Limits: limits, Requests: 50}, use, now)
	if p.Shares[0].Left != 109 || p.Shares[0].Limit != 200 {
		t.Errorf("%+v", p)
	}
	waits := Use{Now: now}.WithMembers([]Use{took(0, now.Add(time.Hour)), took(0, now.Add(time.Minute))})
	if !waits.Cooling.Equal(now.Add(time.Minute)) {
		t.Errorf("it waits until %s", waits.Cooling)
	}
}

// Together members have everything several times, and one request costs what it costs.
func TestLimitsOfAllMembers(t *testing.T) {
	l := Limits{PerSecond: 2, Burst: 3, Concurrency: 4, QuotaPerHour: 5, QuotaPerDay: 6, BudgetPerDay: 7, PricePerRequest: 0.1, Cost: 2, Hours: "Sun"}.Filled()
	got := l.Times(3)
	if got.PerSecond != 6 || got.Burst != 9 || got.Concurrency != 12 || got.QuotaPerHour != 15 || got.QuotaPerDay != 18 || got.BudgetPerDay != 21 || got.Cost != 2 || got.PricePerRequest != 0.1 || got.Hours != "Sun" {
		t.Errorf("%+v", got)
	}
	if !sameLimits(l.Times(1), l) || !sameLimits(l.Times(0), l) {
		t.Error("one member is no pool")
	}
}
