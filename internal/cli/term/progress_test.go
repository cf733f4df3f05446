package term

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/patra-ingest/patra/internal/core/view"
)

// After Ctrl-C nobody knows the last state. What is said next has its own line.
func TestAnInterruptedBarEndsItsLine(t *testing.T) {
	var out bytes.Buffer
	b := NewBar(&Env{Err: &out}, "s")
	b.Live = true
	b.Update(view.Progress{PlanID: 1, Total: 2})
	b.Stop(view.Progress{})
	if got := out.String(); !strings.HasPrefix(got, "\rs [") || !strings.HasSuffix(got, "\n") {
		t.Errorf("%q", got)
	}
	out.Reset()
	if NewBar(&Env{Err: &out}, "s").Stop(view.Progress{}); out.Len() > 0 {
		t.Errorf("nothing was drawn: %q", out.String())
	}
}

// A mail of cron has a line a minute, and the last state.
func TestTrust19ProgressOffATerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		b := NewBar(&Env{Err: &out}, "s")
		p := view.Progress{PlanID: 1, Total: 10}
		for range 150 {
			<-time.After(time.Second)
			p.Stats.Seen++
			b.Update(p)
		}
		p.Done = 10
		b.Stop(p)
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(lines) != 3 || !strings.Contains(lines[2], "10/10 slices") || !strings.Contains(lines[2], "done in 2m29s") {
			t.Errorf("two and a half minutes: %q", lines)
		}
	})
}
