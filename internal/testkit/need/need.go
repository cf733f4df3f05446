// Package need says what becomes of a test that lacks something of its machine:
// a server, a program, the right to mount a disk.
//
// It is for tests only. It must never let a run of CI pass without the test: a
// skipped test looks like a passed one in the short output.
package need

import (
	"os"
	"testing"
)

// Missing skips a test, or fails it where CI=true.
func Missing(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf(format+"; CI=true forbids skipping, use make test", args...)
	}
	t.Skipf("\n\n*** SKIPPED, NOT TESTED: "+format+" ***\n", args...)
}
