package cli

import (
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/view"
)

// Whoever looks at a source sees what starts it next, or that it is paused.
func TestSourceTellsItsNextTick(t *testing.T) {
	d := newDesk(t)
	d.empty()
	d.expect(term.ExitOK, "source", "apply", d.crossrefFile("mine.yaml", "rate:", "schedule: {every: PT6H}\nrate:"), "--reason", "test")
	d.holds(d.expect(term.ExitOK, "source", "show", "crossref").out, "schedules", "HARVEST", "every PT6H", "NEXT TICK")
	var sources []view.Source
	of := func() (out view.Source) {
		d.decode(d.expect(term.ExitOK, "source", "list", "-o", "json").out, &sources)
		for _, s := range sources {
			if s.Code == "crossref" {
				out = s
			} else if !s.NextTick.IsZero() || s.Paused {
				t.Errorf("%+v", s)
			}
		}
		return out
	}
	if s := of(); s.NextTick.IsZero() || s.Paused {
		t.Errorf("%+v", s)
	}
	d.holds(d.expect(term.ExitOK, "source", "list").out, "NEXT TICK")
	d.expect(term.ExitOK, "source", "pause", "crossref", "--reason", "x")
	if s := of(); !s.Paused {
		t.Errorf("%+v", s)
	}
	d.holds(d.expect(term.ExitOK, "source", "list").out, "paused")
}
