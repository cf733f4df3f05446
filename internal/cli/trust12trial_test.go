package cli

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
)

// A trial of a file whose path selects nothing ends as a harvest would: the file is to
// be mended, and the path is named.
func TestTrust12ATrialOfAWrongPathIsForTheFile(t *testing.T) {
	d := newDesk(t)
	file := d.mineAt(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"works":[],"total":3}`) })
	r := d.expect(term.ExitUsage, "source", "test", file)
	d.holds(r.err, "is $.items the right path?")
	if strings.Contains(r.err, "--help") {
		t.Errorf("the command was right, and help on it is offered:\n%s", r.err)
	}
}
