package term

import (
	"runtime/debug"
	"testing"
)

func TestTheHeapGrowsAsFarAsACommandSays(t *testing.T) {
	current := func() int {
		percent := debug.SetGCPercent(100)
		debug.SetGCPercent(percent)
		return percent
	}
	t.Setenv("GOGC", "")
	before := current()
	undo := LetHeapGrow(before + 77)
	if got := current(); got != before+77 {
		t.Errorf("it may grow by %d %%", got)
	}
	if undo(); current() != before {
		t.Errorf("afterwards it may grow by %d %%, before by %d %%", current(), before)
	}
	t.Setenv("GOGC", "50")
	undo = LetHeapGrow(before + 77)
	if got := current(); got != before {
		t.Errorf("GOGC is set, and it may grow by %d %%", got)
	}
	if undo(); current() != before {
		t.Errorf("GOGC is set, and afterwards it may grow by %d %%", current())
	}
}
