package daemon

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/trust"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/engine/inspect"
	"github.com/patra-ingest/patra/internal/testkit/localstore"
)

// meter is an upstream that gives each of its keys a number of requests, tells what is left, and has three pages of
// four records for every day. Its tokens belong to the key they were given to.
type meter struct {
	*httptest.Server
	mu     sync.Mutex
	left   map[string]int // by key; absent: refused
	served map[string]int
	denied map[string]int // 429
	shown  int            // tokens of another key
	heard  func(served int)
}

const (
	pagesADay   = 3
	poolDays    = 8
	poolRecords = poolDays * pagesADay * 4
)

func newMeter(t *testing.T, left map[string]int) *meter {
	m := &meter{left: left, served: map[string]int{}, denied: map[string]int{}}
	m.Server = httptest.NewServer(http.HandlerFunc(m.answer))
	t.Cleanup(m.Close)
	return m
}

func (m *meter) answer(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := r.Header.Get("X-Key")
	left, known := m.left[key]
	if !known {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, "%s is nobody; ask as one of %v", key, m.left)
		return
	}
	w.Header().Set("X-RateLimit-Limit", "100")
	w.Header().Set("X-RateLimit-Remaining", strconv.Itoa(max(left-1, 0)))
	w.Header().Set("X-RateLimit-Reset", "3600")
	if left == 0 {
		m.denied[key]++
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusTooManyRequests)
		fmt.Fprint(w, key, " has asked enough")
		return
	}
	m.left[key]--
	m.served[key]++
	if m.heard != nil {
		m.heard(m.sum())
	}
	day, page := r.URL.Query().Get("from"), 0
	if token := r.URL.Query().Get("after"); token != "" {
		owner, no, _ := strings.Cut(token, "-")
		page, _ = strconv.Atoi(no)
		if owner != strconv.Itoa(len(key)) {
			m.shown++
		}
	}
	var items []string
	for i := range 4 {
		items = append(items, fmt.Sprintf(`{"id":"%s-%d-%d","updated":"%sT12:00:00Z"}`, day, page, i, day))
	}
	next := ""
	if page < pagesADay-1 {
		next = fmt.Sprintf(`,"next":"%d-%d"`, len(key), page+1)
	}
	fmt.Fprintf(w, `{"total":%d,"works":[%s],"said":%q%s}`, 4*pagesADay, strings.Join(items, ","), fmt.Sprint(m.left), next)
}

func (m *meter) sum() (n int) {
	for _, served := range m.served {
		n += served
	}
	return n
}

// poolSource reads the meter with three keys, each within limits of its own.
func poolSource(t *testing.T, m *meter, more string) (*registry.Source, *spec.Compiled) {
	t.Helper()
	src, _, err := registry.Decode("pooled.yaml", fmt.Appendf(nil, `source: pooled
name: Pooled
http: {baseUrl: %q, allowHttp: true, allowPrivate: true}
credentials:
  library: {type: API_KEY, name: X-Key, value: env:PATRA_TEST_LIBRARY}
  physics: {type: API_KEY, name: X-Key, value: env:PATRA_TEST_PHYSICS}
  guest: {type: API_KEY, name: X-Key, value: env:PATRA_TEST_GUEST}
  keys: {type: POOL, members: [guest, library, physics]}
auth: {credential: keys}
rate: {perSecond: 1000, burst: 50, concurrency: 2, quotaPerDay: 90}
retry: {maxAttempts: 2, initialDelay: PT0.001S, maxDelay: PT0.002S}
slicing: {step: P1D}
endpoints:
  works:
    role: SEARCH
    request: {path: /works, query: {from: "${filter.from}", until: "${filter.to}", after: "${page.token}"}}
    filter: {field: updated}
    paging: {type: TOKEN, size: 4%s}
    response: {items: $.works, id: $.id, updatedAt: $.updated, nextToken: $.next, total: $.total}
`, m.URL, more))
	if err != nil {
		t.Fatal(err)
	}
	compiled, err := Compile(src, "", ingest.Harvest, nil)
	if err != nil {
		t.Fatal(err)
	}
	return src, compiled
}

var poolWindow = window.Window{From: time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC), To: time.Date(2025, 3, 1+poolDays, 0, 0, 0, 0, time.UTC)}

// openPool opens an installation that agreed to send the keys.
func openPool(t *testing.T, database string, c *spec.Compiled) *App {
	t.Helper()
	file := filepath.Join(t.TempDir(), "patra.yaml")
	if err := os.WriteFile(file, []byte("trust: {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	installed, err := ReadInstalled(file)
	if err != nil {
		t.Fatal(err)
	}
	app, err := Open(t.Context(), Config{Database: database, Relaxed: true, Workers: poolWorkers, Installed: installed})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { app.Close() })
	if err := app.Guard().Agree(t.Context(), trust.Of(c.Snapshot), ingest.Act{Actor: "ann", Reason: "ours"}); err != nil {
		t.Fatal(err)
	}
	return app
}

const poolWorkers = 4

func setPoolKeys(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("PATRA_TEST_LIBRARY", "kanari-library")
	t.Setenv("PATRA_TEST_PHYSICS", "kanari-physics-1")
	t.Setenv("PATRA_TEST_GUEST", "kanari-guest")
}

func harvestPool(ctx context.Context, app *App, c *spec.Compiled) error {
	_, err := app.Harvest(ctx, c, NewRequest(poolWindow.To.AddDate(0, 0, 1), &poolWindow.From, &poolWindow.To), Watch{})
	return err
}

func isPoolRead(t *testing.T, app *App, c *spec.Compiled) bool {
	t.Helper()
	return len(coverage.Gaps(readCoverage(t, app, c).Segments, poolWindow)) == 0
}

// A harvest reads everything with keys of which one has little left and one is refused. It is stopped on the way, as by
// a kill, and another process goes on. What each key did is in the ledger under its name, and no key is anywhere.
func TestHarvestWithAPool(t *testing.T) {
	for name, more := range map[string]string{"tokens of all": "", "tokens of their member": ", replayable: false"} {
		t.Run(name, func(t *testing.T) {
			onBothDatabases(t, func(t *testing.T, database string) {
				setPoolKeys(t)
				localstore.GiveTables(t, database)
				m := newMeter(t, map[string]int{"kanari-library": 7, "kanari-physics-1": 80})
				src, c := poolSource(t, m, more)
				first := openPool(t, database, c)
				if _, err := first.store.ApplySource(t.Context(), src, registry.ApplyOptions{}); err != nil {
					t.Fatal(err)
				}
				ctx, stop := context.WithCancel(t.Context())
				m.heard = func(served int) {
					if served == 9 {
						stop()
					}
				}
				if err := harvestPool(ctx, first, c); err == nil {
					t.Fatal("it was not stopped")
				}
				first.Close()
				m.heard = nil
				app := openPool(t, database, c)
				if err := harvestPool(t.Context(), app, c); err != nil {
					t.Fatal(err)
				}
				if !isPoolRead(t, app, c) {
					t.Error("there are gaps")
				}
				db := openBeside(t, database)
				var records int
				if err := db.QueryRow("SELECT COUNT(*) FROM ing_record").Scan(&records); err != nil || records != poolRecords {
					t.Errorf("%d records of %d, %v", records, poolRecords, err)
				}
				if m.served["kanari-library"] > 7 || m.denied["kanari-library"] > 2 || m.served["kanari-physics-1"] == 0 {
					t.Errorf("served %v, denied %v", m.served, m.denied)
				}
				if more != "" && m.shown > 0 {
					t.Errorf("%d tokens were shown by another key than theirs", m.shown)
				}
				holdPoolLedger(t, app, db, m)
				holdNoKey(t, database)
			})
		})
	}
}

// holdPoolLedger holds what is stored of the members to what the upstream counted.
func holdPoolLedger(t *testing.T, app *App, db *sql.DB, m *meter) {
	t.Helper()
	sum := ingest.MemberTally{}
	eachText(t, db, "SELECT stats FROM ing_task_run", func(text string) {
		var stats ingest.RunStats
		if err := json.Unmarshal([]byte(text), &stats); err != nil {
			t.Fatal(err)
		}
		sum = sum.Add(stats.Members)
	})
	for name, key := range map[string]string{"library": "kanari-library", "physics": "kanari-physics-1"} {
		// Requests of planning are in no run. A request that was under way when the first process was stopped may be counted by
		// one side only; there is at most one for each worker.
		if got, most := sum[name].Requests, m.served[key]+m.denied[key]+poolWorkers; got > most || sum[name].Requests == 0 {
			t.Errorf("%s made %d requests by the ledger, %d by the upstream", name, got, most)
		}
	}
	if why := sum["guest"].Refused; !strings.Contains(why, "HTTP 401") || !strings.Contains(why, "check env:PATRA_TEST_GUEST") {
		t.Errorf("guest was refused for %q", why)
	}
	signed := map[string]int{} // what was stopped before it was signed is no batch that came
	eachText(t, db, "SELECT e.request FROM ing_batch_evidence e JOIN ing_task_run_batch b ON b.id = e.batch_id WHERE b.status_code = 'SUCCEEDED'", func(text string) {
		var digest exchange.RequestDigest
		if err := json.Unmarshal([]byte(text), &digest); err != nil {
			t.Fatal(err)
		}
		signed[digest.Credential]++
	})
	if signed[""] > 0 || signed["library"]+signed["physics"] < poolDays*pagesADay {
		t.Errorf("batches were signed by %v", signed)
	}
	keys, err := app.Inspect.RateKeys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, k := range keys { // stored, so they are known though no process reports
		if of, _ := gate.CutMember(k.Key); of == "pooled" {
			found++
		}
		used := 0.0
		for _, q := range k.Quotas {
			used += q.Used
		}
		if k.Key == "pooled" && (!slices.Equal(k.Members, []string{"guest", "library", "physics"}) || k.Limits.QuotaPerDay != 270 || used < float64(m.sum())) ||
			k.Key == "pooled:physics" && (k.Member != "physics" || k.Limits.QuotaPerDay != 90 || used < float64(m.served["kanari-physics-1"])) {
			t.Errorf("%s: %+v, %v used", k.Key, k, used)
		}
	}
	if found != 4 {
		t.Errorf("%d rate keys", found)
	}
	all, err := app.Inspect.Status(t.Context(), inspect.StatusQuery{})
	if err != nil || !slices.ContainsFunc(all.Findings, func(f view.Finding) bool { return f.Code == view.FoundMember && f.Subject.Source == "pooled" }) {
		t.Errorf("nothing is said of guest: %v", err)
	}
}

func eachText(t *testing.T, db *sql.DB, query string, do func(text string)) {
	t.Helper()
	rows, err := db.Query(query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var text sql.NullString
		if err := rows.Scan(&text); err != nil {
			t.Fatal(err)
		}
		if text.Valid {
			do(text.String)
		}
	}
}

// holdNoKey looks for the keys in every table.
func holdNoKey(t *testing.T, database string) {
	t.Helper()
	db := openBeside(t, database)
	list := "SELECT name FROM sqlite_master WHERE type = 'table'"
	if strings.HasPrefix(database, "mysql:") {
		list = "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()"
	}
	var tables []string
	eachText(t, db, list, func(name string) { tables = append(tables, name) })
	for _, table := range tables {
		rows, err := db.Query("SELECT * FROM " + table)
		if err != nil {
			t.Fatal(err)
		}
		columns, _ := rows.Columns()
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(any)
		}
		for rows.Next() {
			if err := rows.Scan(values...); err != nil {
				t.Fatal(err)
			}
			for i, v := range values {
				text := fmt.Sprint(*v.(*any))
				if raw, ok := (*v.(*any)).([]byte); ok {
					text = string(raw)
				}
				if strings.Contains(text, "kanari") {
					t.Errorf("a key is in %s.%s: %.200s", table, columns[i], text)
				}
			}
		}
	}
}

// If every key is refused, the source is stopped, and the reason names each key by its reference. With one that is put
// right the harvest goes on.
func TestHarvestWithAPoolThatIsRefused(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) {
		setPoolKeys(t)
		localstore.GiveTables(t, database)
		m := newMeter(t, map[string]int{})
		_, c := poolSource(t, m, "")
		app := openPool(t, database, c)
		_ = harvestPool(t.Context(), app, c)
		pause, paused, err := app.store.Paused(t.Context(), ingest.Partition{Dataset: c.Snapshot.Dataset(), Operation: ingest.Harvest})
		if err != nil || !paused || !strings.Contains(pause.Reason, "all 3 members of the pool are refused") || !strings.Contains(pause.Reason, "check env:PATRA_TEST_LIBRARY") || !strings.Contains(pause.Reason, "check env:PATRA_TEST_GUEST") {
			t.Fatalf("paused %v, %v: %s", paused, err, pause.Reason)
		}
		if m.sum() != 0 {
			t.Errorf("%v", m.served)
		}
		t.Setenv("PATRA_TEST_PHYSICS", "kanari-new")
		m.left["kanari-new"] = 99
		if err := harvestPool(t.Context(), app, c); err != nil || !isPoolRead(t, app, c) {
			t.Errorf("with another key: %v", err)
		}
		holdNoKey(t, database)
	})
}
