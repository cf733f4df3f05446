package bench

import (
	"os"
	"testing"
)

// scope is a testing.TB whose cleanups run when its body ends: a round that
// kept its database until the end of the benchmark would fill the disk.
type scope struct {
	testing.TB
	after []func()
}

func inScope(tb testing.TB, body func(tb testing.TB)) {
	s := &scope{TB: tb}
	defer func() {
		for i := range s.after {
			s.after[len(s.after)-1-i]()
		}
	}()
	body(s)
}

func (s *scope) Cleanup(f func()) { s.after = append(s.after, f) }

func (s *scope) TempDir() string {
	dir, err := os.MkdirTemp("", "patra-bench-")
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
