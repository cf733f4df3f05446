package registry

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A run that lowers the rate lowers it for requests with a key too, and no run raises either.
func TestARunLowersTheRateWithAKey(t *testing.T) {
	name := filepath.Join("testdata", "bad", "check-rate-key-lower.yaml")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	src, _, err := Decode(name, []byte(strings.Replace(string(text), "perSecondWithKey: 2", "perSecondWithKey: 10", 1)))
	if err != nil {
		t.Fatal(err)
	}
	resolve := func(set ...string) *Resolved {
		t.Helper()
		var all []Override
		for _, one := range set {
			o, err := ParseOverride(one)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, o)
		}
		r, err := Resolve(src, "works", "HARVEST", all)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	declared := resolve()
	for set, want := range map[string]float64{"rate.perSecond=1": 1, "rate.perSecondWithKey=5": 5, "rate.concurrency=1": 10} {
		if r := resolve(set); r.Rate.WithKey().PerSecond != want || len(r.Raised(declared)) > 0 {
			t.Errorf("%s: %v a second with a key, want %v; %v", set, r.Rate.WithKey().PerSecond, want, r.Raised(declared))
		}
	}
	for _, set := range []string{"rate.perSecondWithKey=11", "rate.perSecond=4"} {
		if got := resolve(set).Raised(declared); len(got) != 1 || !strings.Contains(got.Err().Error(), "E-RATE-RAISED") {
			t.Errorf("%s: %v", set, got)
		}
	}
}
