package daemon

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/alert"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/surface/entrance"
	"github.com/patra-ingest/patra/internal/surface/httpapi"
)

// programs is the HTTP interface of a stand whose upstream may be asked, whose bodies are kept,
// and which has something for every route: a gap, rejected items, events that were given up, a
// rate key that waits and a silence.
type programs struct {
	*stand
	db       *sql.DB
	behind   http.Handler // the entrance
	api      *httpapi.Handler
	log      bytes.Buffer // what the process says
	requests atomic.Int64
	export   int64             // that is made
	key      string            // of who acts, for the header
	names    *strings.Replacer // of what a path or a body names
}

func newPrograms(t *testing.T, database string) *programs {
	t.Helper()
	p := &programs{stand: newStandOn(t, database, RawConfig{Dir: filepath.Join(t.TempDir(), "raw")}), db: openBeside(t, database)}
	src, _, err := p.app.Source(t.Context(), "crossref")
	p.must(err)
	host := strings.TrimPrefix(src.HTTP.BaseURL, "http://")
	p.app.config.Installed.Remote = registry.Remote{Private: []string{host}, Plain: []string{host}}
	p.app.config.Log = slog.New(slog.NewTextHandler(&p.log, nil))
	p.app.config.Installed.Exports.Dir = filepath.Join(t.TempDir(), "exports")
	p.app.Exports = newExports(p.app)
	p.export = p.makeExports(p.askExport().ID).ID
	ends := make(chan struct{})
	close(ends) // streams end after what they know
	streams := p.app.NewLive(entrance.Recheck, func() {}, ends)
	p.api = p.app.NewAPI(httpapi.Settings{Version: "test", CallerOf: callerIn, RequestID: func(context.Context) string { return fmt.Sprintf("r%d", p.requests.Add(1)) }, Log: p.app.config.Log}, streams)
	p.behind = entrance.New(entrance.Settings{
		Keys: p.app.store, Sessions: sessionKeeper{p.app.store}, Journal: p.app.store, Log: p.app.config.Log, Hosts: entrance.LocalHosts(), PerSecond: 1e6, Now: p.now,
	}).Wrap(p.app.routes(t.Context(), ends), publicPaths()...)
	p.exec("UPDATE ing_outbox_message SET status_code = 'DEAD' WHERE id <= (SELECT id FROM (SELECT id FROM ing_outbox_message ORDER BY id LIMIT 1 OFFSET 1) second)")
	p.must(p.app.store.NoteCooling(t.Context(), "crossref", 3*time.Hour))
	p.exec(`INSERT INTO ing_alert (rule_name, alert_key, live_1, provenance_code, status_code, alert_json, seen_at, told_count)
  VALUES ('all', ?, 'Y', 'crossref', 'OPEN', '{"subject":{"source":"crossref"}}', 1, 0)`, strings.Repeat("a", 64))
	_, err = p.app.Alerts.Silence(t.Context(), alert.Silence{Code: view.FoundGap, Until: standNow.AddDate(1, 0, 0)}, ingest.Act{Actor: "test", Reason: "x"})
	p.must(err)
	p.exec(`INSERT INTO ing_generation (slice_id, cursor_id, as_of, state_code, is_kept, base_id, id_count, items, last_items, last_kept, vanished, gone, created_at)
  VALUES (-1, (SELECT MIN(id) FROM ing_cursor), ?, 'SHRUNK', 1, 0, 0, 17, 53, 17, 0, 0, 1)`, standNow.AddDate(0, 0, -4).UnixMicro())
	p.findNames()
	return p
}

func (p *programs) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

func (p *programs) exec(query string, args ...any) {
	p.Helper()
	_, err := p.db.ExecContext(p.Context(), query, args...)
	p.must(err)
}

// number reads one number of the database.
func (p *programs) number(query string, args ...any) (n int64) {
	p.Helper()
	p.must(p.db.QueryRowContext(p.Context(), query, args...).Scan(&n))
	return n
}

// findNames finds what the stand has for paths and bodies to name.
func (p *programs) findNames() {
	p.Helper()
	status, file := p.call(http.MethodGet, "/v1/sources/crossref/file", "", admin)
	var of struct{ YAML string }
	if err := json.Unmarshal(file, &of); err != nil || status != http.StatusOK {
		p.Fatalf("%d %v %s", status, err, file)
	}
	text, err := json.Marshal(strings.Replace(of.YAML, "perSecond: 1000", "perSecond: 999", 1))
	p.must(err)
	batch := p.number("SELECT MAX(id) FROM ing_task_run_batch WHERE status_code = 'SUCCEEDED'")
	p.names = strings.NewReplacer("{source}", "crossref", "YAML", string(text),
		"PLAN", fmt.Sprint(p.number("SELECT MAX(id) FROM ing_plan")), "SLICE", fmt.Sprint(p.number("SELECT MAX(id) FROM ing_plan_slice")),
		"BATCH", fmt.Sprint(batch), "RUN", fmt.Sprint(p.number("SELECT run_id FROM ing_task_run_batch WHERE id = ?", batch)),
		"TASK", fmt.Sprint(p.number("SELECT MAX(id) FROM ing_task WHERE status_code = 'FAILED'")), "DONE", fmt.Sprint(p.number("SELECT task_id FROM ing_task_run_batch WHERE id = ?", batch)),
		"CURSOR", fmt.Sprint(p.number("SELECT MIN(id) FROM ing_cursor")),
		"EXPORT", fmt.Sprint(p.export),
		"REJECT", fmt.Sprint(p.number("SELECT MIN(id) FROM ing_quarantine")),
		"DEAD", fmt.Sprint(p.number("SELECT MAX(id) FROM ing_outbox_message WHERE status_code = 'DEAD'")))
}

// version is that of the cursor, for who sets it.
func (p *programs) version() string {
	p.Helper()
	return fmt.Sprint(p.number("SELECT version FROM ing_cursor ORDER BY id LIMIT 1"))
}

// match is the version of the file that is in force, for If-Match.
func (p *programs) match() string {
	p.Helper()
	src, _, err := p.app.Source(p.Context(), "crossref")
	p.must(err)
	return `"` + src.Fingerprint() + `"`
}

// call asks the interface as somebody, without an entrance.
func (p *programs) call(method, path, body string, by access.Caller, headers ...string) (status int, answer []byte) {
	p.Helper()
	r := httptest.NewRequestWithContext(context.WithValue(p.Context(), callerKey{}, by), method, path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	p.api.ServeHTTP(w, r)
	return w.Code, w.Body.Bytes()
}

// eachRoute walks the routes of the description, in no order.
func (p *programs) eachRoute(visit func(method, path string, o *huma.Operation)) {
	for path, item := range p.api.Description.Paths {
		for method, o := range map[string]*huma.Operation{http.MethodGet: item.Get, http.MethodPost: item.Post, http.MethodPut: item.Put, http.MethodPatch: item.Patch, http.MethodDelete: item.Delete} {
			if o != nil {
				visit(method, path, o)
			}
		}
	}
}
