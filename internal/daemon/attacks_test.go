package daemon

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/access"
)

// TestA38NeitherMetricsNorProfilesAreServed asks the entrance, as admin, for what has a listener
// of its own or is not there at all.
func TestA38NeitherMetricsNorProfilesAreServed(t *testing.T) {
	p := newPrograms(t, "sqlite:"+t.TempDir()+"/patra.db")
	token := p.newToken("admin", access.Admin, time.Hour)
	for _, path := range []string{"/metrics", "/debug/pprof/", "/debug/pprof/heap", "/debug/vars", "/v1/metrics", "/openapi.yaml", "/.git/config", "/static/../site.go", "/static/%2e%2e/site.go"} {
		w := p.ask(http.MethodGet, path, "", "Authorization", token)
		if w.Code == http.StatusOK || strings.Contains(w.Body.String(), "goroutine") || strings.Contains(w.Body.String(), "patra_") {
			t.Errorf("%s: %d %.200s", path, w.Code, w.Body)
		}
	}
}

// TestA39NothingForgesTheLog asks for names that have lines of a log and codes of a terminal in
// them: each line of the log is still one of ours.
func TestA39NothingForgesTheLog(t *testing.T) {
	p := newPrograms(t, "sqlite:"+t.TempDir()+"/patra.db")
	const forged = "x\ntime=2025-03-11T03:12:00Z level=ERROR msg=\"forged\"\r\n\x1b[2J\x1b]0;gotcha\a"
	admin := p.newToken("admin", access.Admin, time.Hour)
	other := p.newToken("other", access.Admin, time.Hour, "pubmed")
	for _, path := range []string{"/v1/sources/" + url.PathEscape(forged) + "/file", "/v1/plans?source=" + url.QueryEscape(forged), "/" + url.PathEscape(forged), "/sources/" + url.PathEscape(forged)} {
		for _, token := range []string{admin, other, "Bearer " + url.PathEscape(forged)} {
			p.ask(http.MethodGet, path, "", "Authorization", token)
		}
	}
	lines := strings.Split(strings.TrimSpace(p.log.String()), "\n")
	for _, line := range lines {
		if !strings.HasPrefix(line, "time=") || strings.HasPrefix(line, "time=2025-03-11T03:12:00Z") || strings.ContainsAny(line, "\x1b\a\r") {
			t.Errorf("the log has %q", line)
		}
	}
	if len(lines) < 2 {
		t.Error("nothing was logged")
	}
}

// attacksOnHTTP are the attacks that concern who serves, and those of source files that are posted:
// each has a test by its number. The others are made by upstreams, archives and whoever holds the
// database; no bundle (A35) is taken over the network.
var attacksOnHTTP = []string{"A4", "A5", "A14", "A16", "A19", "A20", "A21", "A22", "A33", "A34", "A24", "A25", "A26", "A27", "A28", "A29", "A30", "A31", "A32", "A38", "A39"}

// requirements are all that SECURITY asks of who serves: R1 to R15.
const requirements = 15

// TestEveryAttackOnHTTPHasItsTest holds that attacks and requirements are named by the tests that
// show them: who changes a rule finds by its number what must be seen to fail first.
func TestEveryAttackOnHTTPHasItsTest(t *testing.T) {
	var all strings.Builder
	for _, room := range []string{".", "../surface/httpapi", "../surface/entrance", "../surface/webui"} {
		files, err := filepath.Glob(filepath.Join(room, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(text)
		}
	}
	wanted := slices.Clone(attacksOnHTTP)
	for n := range requirements {
		wanted = append(wanted, fmt.Sprintf("R%d", n+1))
	}
	for _, number := range wanted {
		if !regexp.MustCompile(`(?m)^func Test([AR]\d+)*` + number + `([AR]\d|[A-Z][A-Za-z])`).MatchString(all.String()) {
			t.Errorf("no test is named by %s", number)
		}
	}
}
