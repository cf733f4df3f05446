package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/testkit/mariadb"
)

const wholeListSource = `source: lists
name: Lists
http: {baseUrl: %q, allowHttp: true, allowPrivate: true}
rate: {perSecond: 1000, burst: 100}
retry: {maxAttempts: 1, taskAttempts: 1, initialDelay: PT0.01S}
schedule: {every: PT6H}
endpoints:
  journals:
    role: SEARCH
    request: {path: /journals, query: {after: "${page.token}", limit: "${page.size}"}}
    filter: {bounds: NONE}
    paging: {type: TOKEN, size: 10}
    snapshot: {every: P1D, confirm: 1}
    response: {items: $.journals, id: $.issn, total: $.count, nextToken: $.next, fields: {title: $.issn}}
`

// journalList serves a list without dates, ten journals a page.
type journalList struct {
	mu       sync.Mutex
	journals int
	asked    int
}

func (s *journalList) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	var first int
	_, _ = fmt.Sscan(r.FormValue("after"), &first) // none: the first page
	page, next := []any{}, ""
	for n := first; n < min(first+10, s.journals); n++ {
		page = append(page, map[string]string{"issn": fmt.Sprint("j", n)})
	}
	if first+10 < s.journals {
		next = fmt.Sprint(first + 10)
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"journals": page, "count": s.journals, "next": next})
}

// hold sets how many journals there are, and returns how often the list was asked for since the last time.
func (s *journalList) hold(journals int) (asked int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked, s.journals, s.asked = s.asked, journals, 0
	return asked
}

// A list without dates is tried, planned, forecast, drawn and shown like every other one: a plan that is only shown asks
// nobody, a list that has shrunk is a gap and a finding, and whoever accepts it sees before what will change.
func TestListWithoutDatesOnTheCommandLine(t *testing.T) {
	for name, database := range map[string]func(*desk) string{
		"sqlite":  func(d *desk) string { return "sqlite:" + d.file },
		"mariadb": func(d *desk) string { return mariadb.DSN(d.T) },
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			walkWholeList(d, database(d))
		})
	}
}

func walkWholeList(d *desk, database string) {
	up := &journalList{journals: 57}
	server := httptest.NewServer(up)
	d.Cleanup(server.Close)
	file := d.write("lists.yaml", fmt.Sprintf(wholeListSource, server.URL))
	run := func(code int, args ...string) string {
		d.Helper()
		r := d.expectAt(database, code, args...)
		return r.out + r.err
	}
	run(term.ExitOK, "db", "migrate")
	d.holds(run(term.ExitOK, "source", "test", file), "j0", "10 mapped")
	if asked := up.hold(57); asked != 1 {
		d.Errorf("a try sent %d requests", asked)
	}
	run(term.ExitOK, "source", "apply", file, "--reason", "test")
	d.holds(run(term.ExitOK, "source", "show", "lists"), "every PT6H", "NEXT TICK")
	d.holds(run(term.ExitOK, "plan", "lists", "--dry-run"), "1 slice over", "requests  at least 1", "duration")
	if asked := up.hold(57); asked != 0 {
		d.Errorf("a plan that is only shown sent %d requests", asked)
	}
	d.holds(run(term.ExitOK, "plan", "lists", "--dry-run", "--count"), "requests  6", "items     57 (counted by the upstream)")
	up.hold(57)
	run(term.ExitOK, "harvest", "lists")
	if asked := up.hold(57); asked != 6 {
		d.Errorf("a harvest of 57 sent %d requests", asked)
	}
	d.holds(run(term.ExitOK, "data", "count", "lists"), "57")
	d.holds(run(term.ExitOK, "coverage", "gaps", "lists"), "no gaps")
	d.holds(run(term.ExitOK, "coverage", "show", "lists"), "█")
	// Nothing is known of its next reading but the last one.
	d.holds(run(term.ExitOK, "plan", "lists", "--dry-run"), "requests  6", "items     57 (from earlier slices)")
	d.holds(run(term.ExitOK, "harvest", "lists"), "57 unchanged")

	up.hold(20)
	flat := func(text string) string { return strings.Join(strings.Fields(text), " ") } // where lines are wrapped depends on the instants in them
	d.holds(flat(run(term.ExitPartial, "harvest", "lists")), "patra coverage accept")
	d.holds(run(term.ExitFindings, "coverage", "gaps", "lists"), "journals")
	d.holds(run(term.ExitOK, "coverage", "show", "lists"), "✗")
	d.holds(flat(run(term.ExitFindings, "status")), "lists/journals", "patra coverage accept lists")
	d.holds(run(term.ExitOK, "coverage", "readings", "lists"), "SHRUNK", "20 of 57", "COMPLETE")
	accept := []string{"coverage", "accept", "lists/journals", "--reason", "dropped"}
	d.holds(run(term.ExitOK, append(accept, "--dry-run")...), "20 of the 57 before came again")
	run(term.ExitFindings, "coverage", "gaps", "lists")
	run(term.ExitOK, append(accept, "--yes")...)
	d.holds(run(term.ExitOK, "coverage", "gaps", "lists"), "no gaps")
	d.holds(run(term.ExitOK, "coverage", "show", "lists"), "w")
	d.holds(run(term.ExitOK, "coverage", "readings", "lists"), "ACCEPTED")
	d.holds(run(term.ExitOK, "audit", "list"), "dropped")
	d.holds(run(term.ExitNotFound, append(accept, "--yes")...), "no reading of cursor 1 waits to be accepted")
	run(term.ExitOK, "harvest", "lists")
	d.holds(run(term.ExitOK, "data", "count", "lists"), "57") // 37 of 57 are more than may be gone at once
}
