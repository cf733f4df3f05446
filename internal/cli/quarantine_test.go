package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/quarantine"
	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/testkit/check"
	"github.com/patra-ingest/patra/internal/testkit/mariadb"
)

// papers is an upstream of 60 papers; every third calls its title a name.
type papers struct {
	mu       sync.Mutex
	all      []map[string]any
	requests int
}

func (p *papers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests++
	found := []map[string]any{} // an empty day is an empty list
	for _, one := range p.all {
		if day := one["updated"].(string)[:10]; r.FormValue("from") <= day && day <= r.FormValue("until") {
			found = append(found, one)
		}
	}
	at, _ := strconv.Atoi(r.FormValue("at"))
	size, _ := strconv.Atoi(r.FormValue("size"))
	_ = json.NewEncoder(w).Encode(map[string]any{"items": found[min(at, len(found)):min(at+size, len(found))], "count": len(found)})
}

func (p *papers) asked() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.requests
}

const papersFile = `source: shelf
name: A shelf of papers
http: {baseUrl: "%s", allowHttp: true, allowPrivate: true}
rate: {perSecond: 5000, concurrency: 2}
endpoints:
  papers:
    role: SEARCH
    request: {path: /papers, query: {from: "${filter.from}", until: "${filter.to}", at: "${page.offset}", size: "${page.size}"}}
    filter: {field: updated, precision: DAY, from: INCLUSIVE, to: INCLUSIVE}
    paging: {type: OFFSET, size: 7, stable: true, expectTotal: true}
    response: {items: $.items, id: $.id, updatedAt: $.updated, total: $.count, fields: {title: "%s"}, required: [title]}
`

const (
	brokenTitle = "$.title"
	mendedTitle = "${coalesce(jsonPath('$.title'), jsonPath('$.name'))}"
)

var minutes = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\dZ`)

// shelf is a database that was harvested with a broken mapping.
type shelf struct {
	*testing.T
	database, dir string
	up            *papers
	address       string
}

func newShelf(t *testing.T, database string) *shelf {
	t.Helper()
	t.Setenv("PATRA_DB", "")
	s := &shelf{T: t, dir: t.TempDir(), database: database, up: &papers{}}
	if database == "" {
		s.database = "sqlite:" + filepath.Join(s.dir, "patra.db")
	}
	for i := range 60 {
		one := map[string]any{"id": fmt.Sprintf("p%03d", i), "updated": fmt.Sprintf("2025-03-%02dT10:00:00Z", 1+i%5)}
		if i%3 == 0 {
			one["name"], one["by"] = fmt.Sprint("Paper ", i), "ann@example.org"
		} else {
			one["title"] = fmt.Sprint("Paper ", i)
		}
		s.up.all = append(s.up.all, one)
	}
	server := httptest.NewServer(s.up)
	t.Cleanup(server.Close)
	s.address = server.URL
	s.expect(term.ExitOK, "db", "migrate")
	s.apply(brokenTitle)
	s.expect(term.ExitPartial, s.harvest()...)
	return s
}

func (s *shelf) harvest() []string {
	return []string{"harvest", "shelf", "--from", "2025-03-01", "--to", "2025-03-06", "--workers", "1"} // one after the other, so that numbers are the same in every run
}

// apply makes the file say where the title is; old and new texts change it further.
func (s *shelf) apply(title string, changes ...string) {
	s.Helper()
	path := filepath.Join(s.dir, "shelf.yaml")
	text := strings.NewReplacer(changes...).Replace(fmt.Sprintf(papersFile, s.address, title))
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
	s.expect(term.ExitOK, "source", "apply", path, "--reason", "test")
}

func (s *shelf) expect(code int, args ...string) result {
	s.Helper()
	var out, err bytes.Buffer
	got := Main(context.Background(), append(args, "--db", s.database), &out, &err)
	if got != code {
		s.Fatalf("patra %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), got, code, out.String(), err.String())
	}
	return result{got, out.String(), err.String()}
}

func (s *shelf) decode(into any, args ...string) {
	s.Helper()
	if err := decodeJSON(s.expect(term.ExitOK, append(args, "-o", "json")...).out, into); err != nil {
		s.Fatal(err)
	}
}

func (s *shelf) groups(args ...string) (out []view.RejectGroup) {
	s.Helper()
	s.decode(&out, append([]string{"quarantine", "groups", "shelf"}, args...)...)
	return out
}

// sound holds the database to the invariants.
func (s *shelf) sound() {
	s.Helper()
	db, err := check.Open(s.database)
	if err != nil {
		s.Fatal(err)
	}
	defer db.Close()
	problems, err := check.All(s.Context(), db)
	if err != nil || len(problems) > 0 {
		s.Errorf("%v: %v", problems, err)
	}
}

// digest is what must not change when something is done twice.
func (s *shelf) digest() string {
	s.Helper()
	db, err := check.Open(s.database)
	if err != nil {
		s.Fatal(err)
	}
	defer db.Close()
	sum, err := check.Digest(s.Context(), db)
	if err != nil {
		s.Fatal(err)
	}
	return sum
}

func (s *shelf) number(query string) (n int) {
	s.Helper()
	db, err := check.Open(s.database)
	if err != nil {
		s.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRow(query).Scan(&n); err != nil {
		s.Fatal(err)
	}
	return n
}

// The way of a new user: a mapping is broken, the group shows it, the file is mended,
// the items are put back, and every event is delivered once.
func TestQuarantineWalk(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { walkQuarantine(t, "") })
	t.Run("mariadb", func(t *testing.T) { walkQuarantine(t, mariadb.DSN(t)) })
}

func walkQuarantine(t *testing.T, database string) {
	s := newShelf(t, database)
	groups := s.groups()
	if len(groups) != 1 || groups[0].Count != 20 || groups[0].Reason != "MISSING_FIELD" || groups[0].Path != "$.title" || groups[0].Status != "OPEN" {
		t.Fatalf("%+v", groups)
	}
	if g := groups[0]; strings.Contains(g.Example, "ann@example.org") || !strings.Contains(g.Example, "Paper 0") || g.FirstSeen.IsZero() || g.LastSeen.IsZero() {
		t.Errorf("%+v", g)
	}
	s.apply(mendedTitle)
	before := s.up.asked()
	if r := s.expect(term.ExitOK, "quarantine", "requeue", "shelf", "--all", "--dry-run"); !strings.Contains(r.out, "20 items") || len(s.groups()) != 1 {
		t.Error(r.out)
	}
	var done quarantine.Requeued
	s.decode(&done, "quarantine", "requeue", "shelf", "--all", "--reason", "mended")
	if done.Changed != 20 || done.Stats.Inserted != 20 || done.Stats.Requests != 0 || s.up.asked() != before || !done.Stats.Balanced() {
		t.Errorf("%+v, %d requests", done, s.up.asked()-before)
	}
	if left := s.groups(); len(left) != 0 {
		t.Errorf("%+v", left)
	}
	if n := s.number("SELECT COUNT(*) FROM ing_record"); n != 60 {
		t.Errorf("%d records", n)
	}
	s.sound()
	sum := s.digest()
	if r := s.expect(term.ExitOK, "quarantine", "requeue", "shelf", "--all"); !strings.Contains(r.out, "nothing to do") {
		t.Error(r.out)
	}
	s.expect(term.ExitOK, "update", "shelf", "--from", "2025-03-01", "--to", "2025-03-06") // reads everything again
	if s.digest() != sum {
		t.Error("doing it again changed something")
	}
	events := filepath.Join(s.dir, "out")
	declaration := filepath.Join(s.dir, "events.yaml")
	if err := os.WriteFile(declaration, []byte("destinations:\n  - name: files\n    jsonl: {dir: "+events+"}\nroutes:\n  - to: files\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.expect(term.ExitOK, "events", "publish", "--events", declaration)
	seen := map[string]int{}
	for _, line := range (&desk{T: t}).lines(events) {
		seen[regexp.MustCompile(`"subject":"[^"]*"`).FindString(line)]++
	}
	if len(seen) != 60 {
		t.Errorf("%d records were told of", len(seen))
	}
	for subject, n := range seen {
		if n != 1 {
			t.Errorf("%s: %d events", subject, n)
		}
	}
	if all := s.groups("--all"); len(all) != 1 || all[0].Status != "RESOLVED" || all[0].Count != 20 {
		t.Errorf("%+v", all)
	}
}
