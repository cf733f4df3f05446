package cli

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
)

const dumpSource = `source: dump
name: Dump
http: {baseUrl: %q, allowHttp: true, allowPrivate: true}
rate: {perSecond: 1000, burst: 100}
retry: {maxAttempts: 1, taskAttempts: 1, initialDelay: PT0.01S}
schedule: {every: PT6H}
endpoints:
  works:
    role: FILE
    files: {listing: index, every: PT1H, packed: GZIP}
    response: {format: JSONL, items: $, id: $.id, updatedAt: $.changed, fields: {title: $.title}}
  index:
    role: LISTING
    request: {path: /index}
    paging: {type: ONE}
    response: {items: $.files, id: $.name, updatedAt: $.date, fields: {address: $.url, lines: $.lines}}
`

// dumpServer serves a listing and packed files of ten works each.
type dumpServer struct {
	mu    sync.Mutex
	names []string
	short string // the file that has a line less than is announced
	asked []string
}

func (s *dumpServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, r.URL.Path)
	if r.URL.Path == "/index" {
		var out []string
		for _, name := range s.names {
			out = append(out, fmt.Sprintf(`{"name":%q,"url":"/files/%s","date":"2025-03-01T00:00:00Z","lines":10}`, name, name))
		}
		fmt.Fprintf(w, `{"files":[%s]}`, strings.Join(out, ","))
		return
	}
	name := strings.TrimPrefix(r.URL.Path, "/files/")
	var body bytes.Buffer
	z := gzip.NewWriter(&body)
	for n := range 10 {
		if name != s.short || n < 9 {
			fmt.Fprintf(z, `{"id":"%s-%d","title":"Work","changed":"2025-02-01T00:00:00Z"}`+"\n", name, n)
		}
	}
	_ = z.Close()          // memory takes everything
	_, _ = body.WriteTo(w) // a client that went away is its own problem
}

func (s *dumpServer) set(change func()) (asked []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked, s.asked = s.asked, nil
	change()
	return asked
}

// A source of files is tried, planned, forecast, scheduled and shown like every other one: a try asks for the listing and no
// file, a plan that is only shown asks nobody, and a file that is not whole is a finding until it is.
func TestSourceOfFilesOnTheCommandLine(t *testing.T) {
	d, up := newDesk(t), &dumpServer{names: []string{"a.jsonl.gz", "b.jsonl.gz"}}
	server := httptest.NewServer(up)
	t.Cleanup(server.Close)
	file := d.write("dump.yaml", fmt.Sprintf(dumpSource, server.URL))
	d.empty()
	d.holds(d.expect(term.ExitOK, "source", "test", file).out, "a.jsonl.gz", "/files/a.jsonl.gz")
	if asked := up.set(func() {}); len(asked) != 1 || asked[0] != "/index" {
		t.Errorf("a try asked for %q", asked)
	}
	d.expect(term.ExitOK, "source", "apply", file, "--reason", "test")
	d.holds(d.expect(term.ExitOK, "source", "show", "dump").out, "every PT6H", "NEXT TICK")
	d.holds(d.expect(term.ExitOK, "plan", "dump", "--dry-run").out, "1 slice over", "requests  at least 1 (the listing, and one more for each file", "duration")
	d.holds(d.expect(term.ExitOK, "harvest", "dump", "--dry-run").out, "1 slice over")
	if asked := up.set(func() {}); len(asked) != 0 {
		t.Errorf("a plan that is only shown asked for %q", asked)
	}
	counted := d.run("plan", "dump", "--dry-run", "--count")
	if asked := up.set(func() {}); counted.code != term.ExitOK || strings.Contains(counted.out, "items") || len(asked) > 1 {
		t.Errorf("files are taken for records: %+v, asked for %q", counted, asked)
	}
	d.expect(term.ExitOK, "harvest", "dump")
	d.holds(d.expect(term.ExitOK, "data", "count", "dump").out, "20")
	d.holds(d.expect(term.ExitOK, "coverage", "files", "dump").out, "a.jsonl.gz", "READ")
	d.holds(d.run("status").out, "dump/works")
	if out := d.run("status", "dump"); strings.Contains(out.out, "gap") && !strings.Contains(out.out, "GAPS") {
		t.Errorf("gaps after a whole harvest:\n%s", out.out)
	}
	if asked := up.set(func() { up.names, up.short = append(up.names, "c.jsonl.gz", "d.jsonl.gz"), "c.jsonl.gz" }); len(asked) != 3 {
		t.Errorf("a harvest asked for %q", asked)
	}
	d.expect(term.ExitPartial, "harvest", "dump")
	d.holds(d.expect(term.ExitFindings, "coverage", "gaps", "dump").out, "works", "failed once")
	d.holds(d.expect(term.ExitFindings, "status").out, "dump/works: gap", "file c.jsonl.gz has 9 items", "patra", "--retry")
	d.holds(d.expect(term.ExitOK, "coverage", "files", "dump").out, "c.jsonl.gz", "OWED")
	up.set(func() { up.short = "" })
	d.expect(term.ExitOK, "harvest", "dump", "--retry")
	d.holds(d.expect(term.ExitOK, "data", "count", "dump").out, "40")
	d.expect(term.ExitOK, "coverage", "gaps", "dump")
}
