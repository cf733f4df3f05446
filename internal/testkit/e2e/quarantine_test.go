package e2e

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/patra-ingest/patra/internal/crash"
	"github.com/patra-ingest/patra/internal/testkit/check"
)

const shelfFile = `source: shelf
name: A shelf
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

// shelf serves 60 papers; every third calls its title a name.
func shelf(t *testing.T) string {
	server := httptest.NewServer(http.HandlerFunc(servePapers))
	t.Cleanup(server.Close)
	return server.URL
}

func servePapers(w http.ResponseWriter, r *http.Request) {
	found := []map[string]any{}
	for i := range 60 {
		one := map[string]any{"id": fmt.Sprintf("p%03d", i), "updated": fmt.Sprintf("2025-03-%02dT10:00:00Z", 1+i%5)}
		word := "title"
		if i%3 == 0 {
			word = "name"
		}
		one[word] = fmt.Sprint("Paper ", i)
		if day := one["updated"].(string)[:10]; r.FormValue("from") <= day && day <= r.FormValue("until") {
			found = append(found, one)
		}
	}
	at, _ := strconv.Atoi(r.FormValue("at"))
	size, _ := strconv.Atoi(r.FormValue("size"))
	_ = json.NewEncoder(w).Encode(map[string]any{"items": found[min(at, len(found)):min(at+size, len(found))], "count": len(found)})
}

// A requeue that is killed is a task like any other: saying it again finishes it,
// every record stands once, and every event.
func TestARequeueThatIsKilledIsFinished(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []crash.Point{crash.Records, crash.Committed} {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			database, address := sqliteFile(t), shelf(t)
			file := filepath.Join(t.TempDir(), "shelf.yaml")
			run := func(at string, args ...string) *os.ProcessState {
				cmd := exec.Command(self, append(args, "--db", database, "-q")...)
				cmd.Env = append(os.Environ(), crashEnv+"="+at)
				out, _ := cmd.CombinedOutput()
				t.Logf("patra %v: %v\n%s", args, cmd.ProcessState, out)
				return cmd.ProcessState
			}
			expect := func(code int, args ...string) {
				t.Helper()
				if state := run("", args...); state.ExitCode() != code {
					t.Fatalf("patra %v: %v, want %d", args, state, code)
				}
			}
			apply := func(title string) {
				t.Helper()
				if err := os.WriteFile(file, fmt.Appendf(nil, shelfFile, address, title), 0o600); err != nil {
					t.Fatal(err)
				}
				expect(0, "source", "apply", file, "--reason", "test")
			}
			expect(0, "db", "migrate")
			apply("$.title")
			expect(3, "harvest", "shelf", "--from", "2025-03-01", "--to", "2025-03-06")
			apply("${coalesce(jsonPath('$.title'), jsonPath('$.name'))}")
			state := run(fmt.Sprintf("%s:2:kill", p), "quarantine", "requeue", "shelf", "--all")
			if status := state.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGKILL {
				t.Fatalf("the requeue ended with %v instead of dying", state)
			}
			expect(0, "quarantine", "requeue", "shelf", "--all")
			db, err := check.Open(database)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			holdsOnce(t, db)
		})
	}
}

func holdsOnce(t *testing.T, db *sql.DB) {
	t.Helper()
	problems, err := check.All(t.Context(), db)
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
	for query, want := range map[string]int{
		"SELECT COUNT(*) FROM ing_record WHERE version = 1":                   60,
		"SELECT COUNT(*) FROM ing_outbox_message":                             60,
		"SELECT COUNT(*) FROM ing_quarantine WHERE status_code = 'RESOLVED'":  20,
		"SELECT COUNT(*) FROM ing_quarantine WHERE status_code <> 'RESOLVED'": 0,
		"SELECT COUNT(*) FROM ing_quarantine WHERE judged_batch_id IS NULL":   0,
		"SELECT COUNT(*) FROM ing_audit_log WHERE action LIKE 'quarantine.%'": 1,
	} {
		var n int
		if err := db.QueryRow(query).Scan(&n); err != nil || n != want {
			t.Errorf("%s: %d, want %d (%v)", query, n, want, err)
		}
	}
}
