package cli

import (
	"bytes"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/testkit/mariadb"
)

// Whoever names a database that is not there is told that, and what to type; neither
// the source nor anything busy is to blame.
func TestTrust12AMissingDatabaseIsNamed(t *testing.T) {
	d := newDesk(t)
	server := mariadb.DSN(t)
	other := regexp.MustCompile(`/[^/?]*(\?|$)`).ReplaceAllString(server, "/patra_nowhere$1")
	for _, c := range []struct {
		database, source string
		code             int
		says             []string
	}{
		{"sqlite:" + filepath.Join(d.dir, "none.db"), "mine", term.ExitNotFound, []string{filepath.Join(d.dir, "none.db") + " does not exist", "--db"}},
		{"sqlite:" + filepath.Join(d.dir, "no", "such", "patra.db"), "crossref", term.ExitUsage, []string{"there is no folder " + filepath.Join(d.dir, "no", "such"), "mkdir -p", "--db"}},
		{"mysql://patra@127.0.0.1:1/patra", "crossref", term.ExitFailure, []string{"database patra at 127.0.0.1:1", "cannot be reached", "connection refused", "is the server running", "--db"}},
		{"mysql://patra@nowhere.patra.invalid/patra?tls=off", "crossref", term.ExitFailure, []string{"cannot be reached", "nowhere.patra.invalid", "--db"}},
		{other, "crossref", term.ExitFailure, []string{"patra_nowhere", "there is no such database", "patra db migrate", "--db"}},
	} {
		var out, err bytes.Buffer
		code := Main(t.Context(), []string{"harvest", c.source, "--db", c.database}, &out, &err)
		if code != c.code || strings.Contains(err.String(), "busy") {
			t.Errorf("%s: exit %d, want %d\n%s%s", c.database, code, c.code, out.String(), err.String())
		}
		d.holds(err.String(), c.says...)
	}
}
