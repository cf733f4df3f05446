package gate

import (
	"testing"
	"time"
)

// A person may lift what keeps a key waiting: a pause of the upstream, and a quota
// that a ledger says is used up. The ledger is asked again before anything leaves.
func TestTrust11ReleaseOfAKey(t *testing.T) {
	l := Limits{PerSecond: 10, QuotaPerDay: 10, QuotaMargin: 0.0001}
	s, a := NewState(l, 0, 1, t0), &Ask{Limits: l, Priority: 10}
	s.Counted(t0)
	full := Holding{Blocks: []Block{{Quota: "day", Start: t0.Truncate(24 * time.Hour), Left: time.Hour, Mine: 0, All: 9, Full: true}}, Cool: 10 * time.Minute}
	s.Credit(full, t0, t0)
	now := t0.Add(time.Second)
	if v := s.Judge(a, now); v.Decision != Wait || v.Reason != Quota || !v.Until.Equal(t0.Add(time.Hour)) {
		t.Fatalf("%+v", v)
	}
	s.Release(now)
	if v := s.Judge(a, now); v.Decision != Wait || !v.Until.IsZero() {
		t.Fatalf("before the ledger was asked: %+v", v)
	}
	s.Credit(Holding{Blocks: []Block{{Quota: "day", Start: now, Left: time.Hour, Mine: 5, All: 5}}}, now, now)
	if v := s.Judge(a, now); v.Reason != OverDeadline || !v.Until.Equal(now.Add(100*time.Millisecond)) { // the bucket begins empty
		t.Fatalf("after it: %+v", v)
	}
	if v := s.Judge(a, now.Add(100*time.Millisecond)); v.Decision != Allow {
		t.Fatalf("a moment later: %+v", v)
	}
	if s.Cooling(now) != 0 {
		t.Error("the pause goes on")
	}
}

// A changed file holds at once; without it the older, lower limits hold for a minute.
func TestTrust11RedeclaredLimits(t *testing.T) {
	s := NewState(Limits{PerSecond: 10, QuotaPerHour: 3}, 0, 1, t0)
	s.Declare(Limits{PerSecond: 10}, t0)
	if s.Limits().QuotaPerHour != 3 {
		t.Fatalf("%+v", s.Limits())
	}
	s.Redeclare(Limits{PerSecond: 10}, t0)
	if s.Limits().QuotaPerHour != 0 {
		t.Errorf("%+v", s.Limits())
	}
}

func TestTrust11LimitsOfARun(t *testing.T) {
	now, planned := Limits{PerSecond: 3, QuotaPerDay: 100, Group: "a"}, Limits{PerSecond: 1, QuotaPerDay: 7, Burst: 9, Group: "b"}
	if got := now.With(planned, []string{"perSecond", "group"}); got.PerSecond != 1 || got.QuotaPerDay != 100 || got.Burst != 0 || got.Group != "b" {
		t.Errorf("%+v", got)
	}
}

func TestTrust06KeyOfAGroup(t *testing.T) {
	for group, want := range map[string]string{"": "shelf", "shelf": "shelf", "crossref": "@crossref", "library": "@library"} {
		if got := (Limits{Group: group}).Key("shelf"); got != want {
			t.Errorf("%q: %s, want %s", group, got, want)
		}
	}
}
