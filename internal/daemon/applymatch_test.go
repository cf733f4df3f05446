package daemon

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/access"
)

// TestR11AStaleTagAppliesNothing applies a source file over HTTP with the tag of a version that is
// no longer in force, with one of no version, and with none: each is answered 412, and the source, its
// versions and the audit log are as they were. With the tag of now it is applied.
func TestR11AStaleTagAppliesNothing(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) {
		p := newPrograms(t, database)
		token := p.newToken("admin", access.Admin, time.Hour)
		apply := func(body, tag string) (status int, text string) {
			headers := []string{"Authorization", token}
			if tag != "" {
				headers = append(headers, "If-Match", tag)
			}
			w := p.ask(http.MethodPost, "/v1/sources/crossref/apply", p.names.Replace(body), headers...)
			if w.Code != http.StatusOK {
				p.holdProblem("apply", w)
			}
			return w.Code, w.Body.String()
		}
		read := p.ask(http.MethodGet, "/v1/sources/crossref/file", "", "Authorization", token)
		stale := read.Header().Get("ETag")
		if stale == "" || stale != p.match() {
			t.Fatalf("the file has the tag %q, want %q", stale, p.match())
		}
		if status, text := apply(`{"reason":"first","yaml":YAML}`, stale); status != http.StatusOK {
			t.Fatalf("with the tag of now: %d %s", status, text)
		}
		now := p.match()
		if now == stale {
			t.Fatal("nothing was applied")
		}
		versions, acts := p.versionsOf(), p.newestAct()
		for name, tag := range map[string]string{"stale": stale, "without quotes": strings.Trim(stale, `"`), "of no version": `"0000"`, "weak": "W/" + now, "any": "*", "empty": `""`, "missing": ""} {
			for _, dry := range []string{"", `,"dryRun":true`} {
				status, text := apply(`{"reason":"second","yaml":YAML`+dry+`}`, tag)
				_, changed := apply(strings.Replace(`{"reason":"second","yaml":YAML`+dry+`}`, "YAML", p.slower(), 1), tag)
				if status != http.StatusOK { // what is in force already changes nothing, whatever it was made from
					t.Errorf("%s%s: the text of now: %d %s", name, dry, status, text)
				}
				if !strings.Contains(changed, `"status":412`) || !strings.Contains(changed, `"CHANGED"`) {
					t.Errorf("%s%s: %s", name, dry, changed)
				}
			}
		}
		if got := p.match(); got != now {
			t.Errorf("the source is %s, and was %s", got, now)
		}
		if got := p.versionsOf(); got != versions {
			t.Errorf("%d versions, and there were %d", got, versions)
		}
		if got := p.newestAct(); got != acts {
			t.Errorf("%d rows tell of something that was refused", got-acts)
		}
		if status, text := apply(strings.Replace(`{"reason":"third","yaml":YAML}`, "YAML", p.slower(), 1), now); status != http.StatusOK || p.match() == now {
			t.Errorf("with the tag of now: %d %s", status, text)
		}
	})
}

// slower is the file of the stand with another rate, for a body.
func (p *programs) slower() string {
	return strings.Replace(p.names.Replace("YAML"), "perSecond: 999", "perSecond: 998", 1)
}

func (p *programs) versionsOf() int {
	p.Helper()
	versions, err := p.app.Inspect.SourceVersions(p.Context(), "crossref")
	p.must(err)
	return len(versions)
}
