package executor

import (
	"fmt"
	"testing"

	"github.com/patra-ingest/patra/internal/core/spec"
)

// I14: of many snapshots few are kept, and those in use are among them.
func TestFewProgramsAreKept(t *testing.T) {
	var p programs
	daily := &spec.Program{}
	p.keepProgram("daily", daily)
	for i := range 1000 {
		p.keepProgram(fmt.Sprint("old ", i), &spec.Program{})
		if got, ok := p.getProgram("daily"); !ok || got != daily {
			t.Fatalf("what is in use was forgotten after %d others", i)
		}
		if len(p.known) > mostPrograms || cap(p.known) > 4*mostPrograms {
			t.Fatalf("%d programs are kept", len(p.known))
		}
	}
	for name, want := range map[string]bool{"old 0": false, "old 900": false, "old 999": true, "old 950": true} {
		if _, ok := p.getProgram(name); ok != want {
			t.Errorf("%s is kept: %v", name, ok)
		}
	}
	p.keepProgram("daily", &spec.Program{})
	if got, _ := p.getProgram("daily"); got == daily || len(p.known) > mostPrograms {
		t.Error("the one that was compiled last is not the one that is kept")
	}
}
