package gatetest

import (
	"os"
	"slices"
	"testing"
	"time"
)

// Proves reports whether a proof runs (make proof). A proof has a machine for
// itself and may ask for what depends on how fast that is.
func Proves() bool { return os.Getenv("PATRA_PROOF") != "" }

// CheckRate holds a log in real time against I11: no more than burst + rate × time.
//
// The stretch of time begins with the test: a request comes to the log after it was
// let through, however late, so a slow machine can only make such a stretch longer.
// Two requests that were let through in time may come closer together than that,
// because the first was late. So only a proof looks at every stretch, and allows for
// what the machine was late by.
func CheckRate(t testing.TB, began time.Time, came []time.Time, perSecond, burst float64, noise *Noise) {
	t.Helper()
	if len(came) == 0 {
		t.Error("no request came")
		return
	}
	slices.SortFunc(came, time.Time.Compare)
	t.Logf("%d requests in %v, a burst of %.1f; the machine was late by %v at worst",
		len(came), came[len(came)-1].Sub(began).Round(time.Millisecond), highestBurst(came, perSecond), noise.Worst())
	for i, at := range came {
		if n, allowed := float64(i+1), burst+perSecond*at.Sub(began).Seconds(); n > allowed {
			t.Fatalf("%v requests in the first %v, allowed %.1f", n, at.Sub(began), allowed)
		}
	}
	if most := highestBurst(came, perSecond); Proves() && most > burst+perSecond*noise.Worst().Seconds() {
		t.Errorf("a burst of %.1f above the rate, declared are %v", most, burst)
	}
}

// highestBurst is by how many requests a sorted log exceeds the rate in any stretch
// of time.
func highestBurst(came []time.Time, perSecond float64) (most float64) {
	for i := range came {
		for j := i; j < len(came); j++ {
			most = max(most, float64(j-i+1)-perSecond*came[j].Sub(came[i]).Seconds())
		}
	}
	return most
}
