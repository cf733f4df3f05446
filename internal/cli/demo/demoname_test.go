package demo

import (
	"testing"
)

// What the demo tells to type works as it stands, also for a program that is not in the
// search path.
func TestTrust17TheDemoNamesTheProgramAsItWasStarted(t *testing.T) {
	for _, c := range []struct{ executable, started, want string }{
		{"/home/me/patra/bin/patra", "bin/patra", "bin/patra"},
		{"/usr/local/bin/patra", "patra", "patra"},
		{"/usr/local/bin/patra", "/usr/local/bin/patra", "/usr/local/bin/patra"},
		{"/home/me/.cache/go-build/ab/patra", "/home/me/.cache/go-build/ab/patra", "go run ./cmd/patra"},
		{"", "patra", "go run ./cmd/patra"},
	} {
		if got := typedName(c.executable, c.started); got != c.want {
			t.Errorf("%s started as %s: %q, want %q", c.executable, c.started, got, c.want)
		}
	}
}
