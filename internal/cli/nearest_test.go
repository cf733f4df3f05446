package cli

import (
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
)

func TestTrust19DidYouMeanACommand(t *testing.T) {
	d := newDesk(t)
	for typed, want := range map[string]string{
		"harvst":         "did you mean `patra harvest`?",
		"task lst":       "did you mean `patra task list`?",
		"coverage gap":   "did you mean `patra coverage gaps`?",
		"gaps":           "did you mean `patra coverage gaps`?",
		"source validat": "did you mean `patra source validate`?",
	} {
		r := d.expect(term.ExitUsage, strings.Fields(typed)...)
		d.holds(r.err, "unknown command", want, "--help`.")
	}
	if r := d.expect(term.ExitUsage, "zzzzzz"); strings.Contains(r.err, "did you mean") {
		t.Errorf("a guess about nothing: %s", r.err)
	}
}
