package daemon

import (
	"bytes"
	"context"
	"database/sql"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/testkit/simulated"
	"github.com/patra-ingest/patra/internal/upsim"
)

// announced is a log that tells when a process says where it listens.
type announced struct {
	mu      sync.Mutex
	text    bytes.Buffer
	address chan string
}

var listensAt = regexp.MustCompile(`address=(\S+)`)

func (a *announced) Write(line []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if m := listensAt.FindSubmatch(line); m != nil && strings.Contains(string(line), "metrics and health") {
		a.address <- string(m[1])
	}
	return a.text.Write(line)
}

func get(t *testing.T, client *http.Client, address, token string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", address, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// A process that serves is scraped over HTTP: what it did, what rows say, its health, and
// no secret in any of it.
func TestServedMetricsAreScraped(t *testing.T) {
	const token = "canary-token-0815-4711"
	t.Setenv("PATRA_TEST_METRICS_TOKEN", token)
	from, to := time.Date(2025, 3, 3, 0, 0, 0, 0, time.UTC), time.Date(2025, 3, 5, 0, 0, 0, 0, time.UTC)
	data := upsim.NewDataset(upsim.Config{Seed: 7, PerDay: 60, From: from, To: to})
	_, compiled := simulated.Crossref(t, data, "429@2", "contact.email=canary@example.org")
	file := filepath.Join(t.TempDir(), "patra.db")
	log := &announced{address: make(chan string, 1)}
	app, err := Open(t.Context(), Config{
		Database: "sqlite:" + file, Relaxed: true, Log: slog.New(slog.NewTextHandler(log, nil)),
		Metrics: MetricsConfig{On: true, Version: "9.9", Listen: ListenConfig{Address: "127.0.0.1:0", Token: "env:PATRA_TEST_METRICS_TOKEN", Every: time.Hour}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer app.Close()
	if _, err := app.Harvest(t.Context(), compiled, NewRequest(to.Add(2*time.Hour), &from, &to), Watch{}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := app.store.PauseSource(t.Context(), ingest.Scope{Source: "crossref"}, ingest.Act{Actor: "ann", Reason: "a finding"}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	served := make(chan error, 1)
	go func() { served <- app.Serve(ctx, []Role{RoleExecutor}) }()
	base, client := "http://"+<-log.address, &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()

	if status, _ := get(t, client, base+"/metrics", ""); status != http.StatusUnauthorized {
		t.Errorf("without a token: %d", status)
	}
	if status, _ := get(t, client, base+"/metrics", token+"x"); status != http.StatusUnauthorized {
		t.Errorf("with another token: %d", status)
	}
	var text string
	for !strings.Contains(text, "patra_ingest_gauges_timestamp_seconds ") { // the first reading is under way
		var status int
		if status, text = get(t, client, base+"/metrics", token); status != http.StatusOK {
			t.Fatalf("%d: %s", status, text)
		}
	}
	for _, want := range []string{
		`patra_ingest_items_total{action="insert",endpoint="works",op="HARVEST",source="crossref"} 120`,
		`patra_ingest_429_total{endpoint="works",op="HARVEST",source="crossref"} 1`,
		`patra_ingest_retries_total{endpoint="works",op="HARVEST",source="crossref"} 1`,
		`patra_ingest_errors_total{endpoint="works",level="L1",op="HARVEST",source="crossref"} 1`,
		`patra_ingest_cursor_lag_seconds{endpoint="works",ns="1",op="HARVEST",source="crossref"}`,
		`patra_ingest_tasks_queued{endpoint="works",op="HARVEST",source="crossref"} 0`,
		`patra_ingest_findings{code="PAUSED",severity="WARNING"} 1`,
		`patra_ingest_build_info{database="sqlite",goversion=`, "patra_ingest_store_transactions_total", "go_goroutines",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %s in\n%s", want, text)
		}
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if status, said := get(t, client, base+path, ""); status != http.StatusOK {
			t.Errorf("%s: %d %s", path, status, said)
		}
	}
	notReady(t, client, base, file)
	stop()
	if err := <-served; err != context.Canceled {
		t.Errorf("served: %v", err)
	}
	log.mu.Lock()
	defer log.mu.Unlock()
	if found := text + log.text.String(); strings.Contains(found, "canary") {
		t.Error("a secret or the address of a person is shown")
	}
}

// notReady takes away what a process needs, and looks what it says.
func notReady(t *testing.T, client *http.Client, base, file string) {
	t.Helper()
	beside, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(60000)")
	if err != nil {
		t.Fatal(err)
	}
	defer beside.Close()
	if _, err := beside.Exec("DELETE FROM patra_schema_version WHERE version = (SELECT max(version) FROM patra_schema_version)"); err != nil {
		t.Fatal(err)
	}
	if status, said := get(t, client, base+"/readyz", ""); status != http.StatusServiceUnavailable || !strings.Contains(said, "patra db migrate") {
		t.Errorf("a migration is pending: %d %s", status, said)
	}
	if err := os.Rename(file, file+".away"); err != nil {
		t.Fatal(err)
	}
	status, said := get(t, client, base+"/readyz", "")
	if err := os.Rename(file+".away", file); err != nil {
		t.Fatal(err)
	}
	if status != http.StatusServiceUnavailable || !strings.Contains(said, "cannot be read") || strings.Contains(said, file) {
		t.Errorf("the database is away: %d %s", status, said)
	}
}

// Beyond this machine there is no listening without TLS and a token.
func TestListeningBeyondThisMachine(t *testing.T) {
	for _, c := range []struct {
		l    ListenConfig
		says string
	}{
		{ListenConfig{}, ""},
		{ListenConfig{Address: "127.0.0.1:9464"}, ""},
		{ListenConfig{Address: "[::1]:9464"}, ""},
		{ListenConfig{Address: "localhost:9464"}, ""},
		{ListenConfig{Address: ":9464"}, "needs TLS and a token"},
		{ListenConfig{Address: "0.0.0.0:9464"}, "needs TLS and a token"},
		{ListenConfig{Address: "10.0.0.5:9464", Token: "env:X"}, "needs TLS and a token"},
		{ListenConfig{Address: "10.0.0.5:9464", Cert: "c", Key: "k"}, "needs TLS and a token"},
		{ListenConfig{Address: "10.0.0.5:9464", Cert: "c", Key: "k", Token: "env:X"}, ""},
		{ListenConfig{Address: "127.0.0.1:9464", Cert: "c"}, "needs its key"},
		{ListenConfig{Address: "9464"}, "use HOST:PORT"},
		{ListenConfig{Token: "env:X"}, "no address"},
		{ListenConfig{Address: "127.0.0.1:9464", Every: time.Millisecond}, "use at least 1s"},
	} {
		err := c.l.Check()
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%+v: %v", c.l, err)
		}
	}
	t.Setenv("PATRA_TEST_METRICS_TOKEN", "short")
	for text, says := range map[string]string{"canary-4711": "must be a reference", "env:PATRA_TEST_METRICS_TOKEN": "too short"} {
		_, _, err := ListenConfig{Address: "127.0.0.1:0", Token: text}.openListener(t.Context())
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
