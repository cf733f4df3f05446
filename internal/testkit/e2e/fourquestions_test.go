package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/testkit/browser"
)

const journalFile = `source: %s
name: A journal
http: {baseUrl: "%s", allowHttp: true, allowPrivate: true}
rate: {perSecond: 5000, concurrency: 2}
endpoints:
  papers:
    role: SEARCH
    request: {path: /papers, query: {from: "${filter.from}", until: "${filter.to}"}}
    filter: {field: updated, precision: DAY, from: INCLUSIVE, to: INCLUSIVE}
    paging: {type: ONE}
    response: {items: $.items, id: $.id, updatedAt: $.updated, fields: {title: $.title}}
`

// startJournal serves a paper for each day. While it is in maintenance it answers two days of 2019
// with a page for people.
func startJournal(t *testing.T, maintenance *atomic.Bool) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if from := r.FormValue("from"); maintenance.Load() && (from == "2019-01-17" || from == "2019-02-03") {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<html><body>Closed for maintenance until Monday</body></html>")
			return
		}
		items := []map[string]any{}
		day, err := time.Parse(time.DateOnly, r.FormValue("from"))
		for ; err == nil && day.Format(time.DateOnly) <= r.FormValue("until"); day = day.AddDate(0, 0, 1) {
			items = append(items, map[string]any{"id": day.Format("20060102"), "updated": day.Add(time.Hour), "title": "Paper of " + day.Format(time.DateOnly)})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"items": items})
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// newcomer knows the dashboard by what stands on it: links and buttons, no addresses.
type newcomer struct {
	*browser.Browser
	clicks int
}

func (n *newcomer) click(selector string) {
	n.clicks++
	n.Follow(selector)
}

// took holds how many clicks something took since the last time.
func (n *newcomer) took(t *testing.T, what string, most int) {
	t.Helper()
	t.Logf("%s: %d clicks", what, n.clicks)
	if n.clicks > most {
		t.Errorf("%s took %d clicks, more than %d", what, n.clicks, most)
	}
	n.clicks = 0
}

// A new user with the dashboard alone finds out which sources are behind, since when and why;
// which days of 2019 are missing; and what the upstream answered to the request that failed; and
// mends it with two clicks and a reason.
func TestANewUserAnswersFourQuestions(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, database string) {
		var maintenance atomic.Bool
		maintenance.Store(true)
		address := startJournal(t, &maintenance)
		d := &dashed{subject: &subject{world: &world{t: t, database: database}, source: "journal"}}
		d.must("db", "migrate")
		for _, source := range []string{"journal", "daily"} {
			file := filepath.Join(t.TempDir(), source+".yaml")
			if err := os.WriteFile(file, fmt.Appendf(nil, journalFile, source, address), 0o600); err != nil {
				t.Fatal(err)
			}
			d.must("source", "apply", file, "--reason", "test")
		}
		if code, out, errText := d.patra("harvest", "journal", "--from", "2019-01-01", "--to", "2019-02-10", "-q", "--set", "slicing.step=P1D", "--set", "retry.maxAttempts=1", "--set", "retry.taskAttempts=1"); code == 0 {
			t.Fatalf("no day failed:\n%s%s", out, errText)
		}
		d.must("harvest", "daily", "--from", time.Now().UTC().AddDate(0, 0, -1).Format(time.DateOnly), "-q")
		d.serveDashboard("api,executor")
		n := &newcomer{Browser: d.logIn(t)}

		// Which sources are behind, since when and why.
		n.Has("#sources tr[data-key='source journal/papers']", "gaps", "behind since 2019-01-17", "BAD_BODY", "Closed for main")
		n.Has("#sources tr[data-key='source daily/papers']", "fresh")
		if got := n.Text("#sources tr[data-key='source daily/papers']"); strings.Contains(got, "behind") {
			t.Errorf("who is up to date is called behind: %s", got)
		}
		n.Shoot("behind")
		n.took(t, "which sources are behind, since when and why", 0)

		// Which days of 2019 are missing.
		n.click("#sources a.bad")
		n.Has("h1", "2019", "2d failed")
		n.Has(".troubles", "2019-01-17", "2019-02-03")
		if rows := n.Value("document.querySelectorAll('.troubles tbody tr').length"); rows != "2" {
			t.Errorf("%s stretches are listed, want 2", rows)
		}
		n.Shoot("missing")
		n.took(t, "which days of 2019 are missing", 1)

		// What the upstream answered to the request that failed.
		n.Follow("nav a[href='/']")
		n.click("#sources .reason a")
		n.Has("#evidence", "What was asked", "from=2019-02-03", "What came back", "HTTP 200", "Content-Type: text/html", "Closed for maintenance until Monday")
		n.Shoot("answer")
		n.took(t, "what the upstream answered", 1)

		// Mend it, from the page where it is seen.
		maintenance.Store(false)
		n.click("header a.btn.main")
		n.Has("#content", "2 tasks", "nothing is changed yet")
		n.Type("#reason", "their maintenance is over")
		n.click("form.row button.main")
		n.took(t, "mend it", 2)
		n.Has("h1", "are tried again")
		n.Follow("#content a.btn.main")
		n.AwaitChange(`document.querySelector("h1").innerText.includes("all 40 slices read")`)
		n.Follow("nav a[href='/']")
		n.AwaitChange(`document.querySelector("h1").innerText === "All is well"`)
		n.Shoot("mended")
	})
}
