package gate

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/duration"
)

// I11 over everything an upstream may say: complaints, waits, announced rates and
// remainders, and a share that changes. The rate is never above the declared one,
// nor a quota or a wait broken.
func TestStateNeverExceeds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := Limits{
			PerSecond: rapid.Float64Range(0.2, 50).Draw(t, "rate"), Burst: rapid.IntRange(1, 6).Draw(t, "burst"),
			QuotaPerHour: rapid.SampledFrom([]int64{0, 2, 7, 40}).Draw(t, "quota"), Warmup: duration.Duration(rapid.Int64Range(0, 20).Draw(t, "warmup")) * 1e9,
		}
		s, now := NewState(l, 0, 1, t0), t0
		var sent []time.Time
		var cooling time.Time
		for range rapid.IntRange(1, 80).Draw(t, "requests") {
			a := &Ask{Limits: l, Priority: rapid.SampledFrom([]int{10, 50, 90}).Draw(t, "priority")}
			for v := s.Judge(a, now); v.Decision != Allow; v = s.Judge(a, now) {
				if !v.Until.After(now) {
					t.Fatalf("waits for the past: %+v at %v", v, now)
				}
				now = v.Until
			}
			if now.Before(cooling) {
				t.Fatalf("left %v before the end of a wait", cooling.Sub(now))
			}
			s.Charge(a, now)
			sent = append(sent, now)
			at := now
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(3*time.Second)).Draw(t, "takes")))
			in := Signal{Outcome: rapid.SampledFrom([]Outcome{OK, OK, OK, Throttled, Failed, Refused}).Draw(t, "outcome")}
			if in.Outcome == Throttled {
				in.RetryAfter = time.Duration(rapid.Int64Range(-1, 90).Draw(t, "wait")) * time.Second
				if end := now.Add(in.RetryAfter); end.After(cooling) {
					cooling = end
				}
			}
			if left := rapid.Int64Range(-1, 9).Draw(t, "remaining"); left < 3 {
				in.Announced = Announced{PerSecond: float64(left) * 7, Remaining: &left, Reset: now.Add(5 * time.Second)}
			}
			s.Learn(in, at, now, rapid.Float64Range(0, 0.999).Draw(t, "random"))
		}
		hours := map[time.Time]int64{}
		for i := range sent {
			hours[sent[i].Truncate(time.Hour)]++
			for j := i; j < len(sent); j++ {
				span := sent[j].Sub(sent[i]).Seconds()
				if n := float64(j - i + 1); n > float64(l.Burst)+l.PerSecond*span+1e-6 {
					t.Fatalf("%v requests in %.6f s", n, span)
				}
			}
		}
		for hour, n := range hours {
			if l.QuotaPerHour > 0 && n > l.QuotaPerHour {
				t.Fatalf("%d requests in the hour of %v, declared %d", n, hour, l.QuotaPerHour)
			}
		}
	})
}

func TestWarmup(t *testing.T) {
	s := NewState(Limits{PerSecond: 30, Burst: 10, Warmup: 20e9}, 0, 1, t0)
	for at, want := range map[time.Duration]float64{0: 10, 10 * time.Second: 20, 20 * time.Second: 30, time.Hour: 30} {
		if got := s.Rate(t0.Add(at)); math.Abs(got-want) > 1e-6 {
			t.Errorf("after %v: %v a second, want %v", at, got, want)
		}
	}
	if left := s.bucket.Left(t0); left != 1 {
		t.Errorf("starts with %v tokens", left)
	}
	s.Charge(&Ask{}, t0)
	later := t0.Add(time.Hour)
	s.Ready(1, later)
	if got := s.Rate(later); math.Abs(got-10) > 1e-6 || s.bucket.Left(later) > 1 {
		t.Errorf("after a long pause: %v a second, %v tokens", got, s.bucket.Left(later))
	}
}

// Two endpoints, or an old and a new plan: the more polite counts, for a minute.
func TestLowestDeclarationCounts(t *testing.T) {
	fast, slow := Limits{PerSecond: 10, Burst: 5, Concurrency: 4}, Limits{PerSecond: 2, Concurrency: 8, QuotaPerDay: 100}
	s := NewState(fast, 0, 1, t0)
	s.Declare(slow, t0)
	if l := s.Limits(); l.PerSecond != 2 || l.Burst != 1 || l.Concurrency != 4 || l.QuotaPerDay != 100 {
		t.Errorf("both: %+v", l)
	}
	s.Declare(fast, t0.Add(30*time.Second))
	if l := s.Limits(); l.PerSecond != 2 {
		t.Errorf("half a minute later: %+v", l)
	}
	s.Declare(fast, t0.Add(2*time.Minute))
	if l := s.Limits(); l.PerSecond != 10 || l.QuotaPerDay != 0 {
		t.Errorf("two minutes later: %+v", l)
	}
	priced := fast
	priced.Cost, priced.PricePerRequest, priced.Hours = 3, 1, "09:00-17:00"
	if s.Declare(priced, t0.Add(2*time.Minute)) {
		t.Error("what one request costs changed the limits of all")
	}
}

// A margin of zero that was written stays zero when limits are filled again.
func TestWrittenMarginStays(t *testing.T) {
	l := Limits{QuotaPerHour: 10}.WithDefaults()
	if l.QuotaMargin != 0.1 || (Limits{}).Filled().QuotaMargin != 0.1 {
		t.Error("no margin by default")
	}
	l.QuotaMargin = 0
	if l.Filled().QuotaMargin != 0 {
		t.Error("a written zero became the default")
	}
}

// Quotas of processes that share them add up to what may be used.
func TestQuotaShares(t *testing.T) {
	for n := 1; n < 8; n++ {
		var sum float64
		for rank := range n {
			sum += listAllowances(Limits{QuotaPerDay: 100, QuotaMargin: 0.1}, rank, n)[0].usable
		}
		if sum != 90 {
			t.Errorf("%d processes may use %v of 90", n, sum)
		}
	}
}

func TestVerdictBecomesAFault(t *testing.T) {
	v := Verdict{Decision: Wait, Until: t0.Add(time.Hour), Reason: Cooling}
	if v.Within(2*time.Hour, t0).Decision != Wait || v.Within(0, t0).Decision != Wait || v.Within(time.Minute, t0).Decision != Reject {
		t.Error("the deadline does not decide")
	}
	if f := v.Fault("k", t0); f.Wait != time.Hour || !f.Unsent || f.Level != "L1" {
		t.Errorf("%+v", f)
	}
	if f := (Verdict{Decision: Reject}).Fault("k", t0); f.Wait != 0 {
		t.Errorf("nobody knows when: %v", f.Wait)
	}
}

// The rate comes back from the end of a cool-down on, and who waits for a token
// at the floor looks again with every step.
func TestRecoveryStartsAfterTheCoolDown(t *testing.T) {
	s := NewState(Limits{PerSecond: 10, Recover: 1, RecoverEvery: 1e9}, 0, 1, t0)
	for range 10 {
		at := s.demotion.at.Add(time.Nanosecond)
		s.Learn(Signal{Outcome: Throttled}, at, at, 0)
	}
	now := s.demotion.at
	s.Learn(Signal{Outcome: OK, RetryAfter: 100 * time.Second}, now, now, 0)
	end := now.Add(105 * time.Second)
	for after, want := range map[time.Duration]float64{-time.Second: 0.1, 999 * time.Millisecond: 0.1, time.Second: 1.1, 20 * time.Second: 10} {
		if got := s.Rate(end.Add(after)); math.Abs(got-want) > 1e-9 {
			t.Errorf("%v after the end: %v a second, want %v", after, got, want)
		}
	}
	s.Charge(&Ask{}, end)
	if wait := s.Ready(1, end).Sub(end); wait != time.Second {
		t.Errorf("looks again after %v, the next step is after 1s", wait)
	}
}
