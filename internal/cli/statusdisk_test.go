package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
)

// Bodies near their bound are told, and no more when there is room: it needs no person.
func TestStatusTellsOfRawBodiesNearTheirBound(t *testing.T) {
	d := harvested(t)
	if err := os.MkdirAll(d.file+".raw", 0o700); err != nil {
		t.Fatal(err)
	}
	note := func(text string) {
		if err := os.WriteFile(filepath.Join(d.file+".raw", "swept"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	note("9900000000")
	d.holds(unfolded(d.expect(term.ExitFindings, "status").out), "~ raw bodies: they take 9.9 GB of 10 GB")
	for _, text := range []string{"10", "", "what"} {
		note(text)
		if r := d.expect(term.ExitFindings, "status"); strings.Contains(r.out, "raw bodies") {
			t.Errorf("%q: %s", text, r.out)
		}
	}
}
