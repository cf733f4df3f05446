package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/upsim"
)

// built runs the program as a process of its own, as a person would.
func (w *world) built(args ...string) (code int, stdout, stderr string) {
	w.t.Helper()
	self, err := os.Executable()
	if err != nil {
		w.t.Fatal(err)
	}
	cmd := exec.Command(self, append(args, "--db", w.database)...)
	cmd.Env = append(os.Environ(), childEnv+"=1")
	var out, errText bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errText
	_ = cmd.Run() // the code tells
	return cmd.ProcessState.ExitCode(), out.String(), errText.String()
}

// at leads the bundled source elsewhere.
func (w *world) at(address string) {
	for i, s := range w.settings {
		if strings.HasPrefix(s, "http.baseUrl=") {
			w.settings[i] = "http.baseUrl=" + address
		}
	}
}

// toldWhy is what a harvest says of itself to programs.
type toldWhy struct {
	Stats    struct{ Requests, Retries int }
	Slices   map[string]int
	Failures []struct {
		Status, Code, Error string
		Slices              int
	}
	Stopped *struct{ Code, Cause, Next string }
}

// badUpstream answers every request alike and counts them.
type badUpstream struct {
	*httptest.Server
	hits atomic.Int64
}

func newBadUpstream(t *testing.T, status int, body string) *badUpstream {
	t.Helper()
	b := &badUpstream{}
	b.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		b.hits.Add(1)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(b.Close)
	return b
}

// closedPort is an address where nobody listens, nor will while the test runs.
const closedPort = "http://127.0.0.1:1"

// Whoever starts a harvest is told why it failed: the reason with how often, the code
// of its cause, the next command, and as many requests as were sent. Nobody goes on
// asking for what will fail again (D§5.29).
func TestTrust12AHarvestSaysWhyItFailed(t *testing.T) {
	for _, tc := range []struct {
		name    string
		status  int // zero: nobody answers
		body    string
		address string
		exit    int
		code    string
		says    []string
		paused  bool
	}{
		{name: "no DNS", address: "http://nowhere.patra.invalid", exit: 7, code: "NETWORK", says: []string{"nowhere.patra.invalid", "patra source test crossref"}},
		{name: "refused", exit: 7, code: "NETWORK", says: []string{"connection refused", "patra source test crossref"}},
		{name: "wrong path", status: 404, body: "<h1>Resource not found.</h1>", exit: 2, code: "BAD_REQUEST", paused: true,
			says: []string{"HTTP 404", "GET /works", "Resource not found.", "patra source resume crossref/works"}},
		{name: "wrong parameter", status: 400, body: `{"message": [{"type": "parameter-not-allowed", "value": "filter"}]}`, exit: 2, code: "BAD_REQUEST", paused: true,
			says: []string{"HTTP 400", "names the parameter filter", "parameter-not-allowed", "patra source resume crossref/works"}},
		{name: "moved items", status: 200, body: `{"status": "ok", "message": {"total-results": 7, "works": []}}`, exit: 2, code: "SCHEMA_CHANGE", paused: true,
			says: []string{"$.message.items", "patra source resume crossref/works"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			onEachDatabaseInTurn(t, func(t *testing.T, database string) {
				w := newWorld(t, database, upsim.Config{Seed: 7, PerDay: 3, Flat: true}, upsim.Options{})
				up := newBadUpstream(t, tc.status, tc.body)
				address := tc.address
				switch {
				case tc.status != 0:
					address = up.URL
				case address == "":
					address = closedPort
				}
				w.at(address)
				w.settings = append(w.settings, "retry.maxAttempts=2", "slicing.step=P1D")
				code, out, errText := w.built(append(w.harvestArgs("--workers", "2"), "-v")...)
				var got toldWhy
				if err := json.Unmarshal([]byte(out), &got); err != nil {
					t.Fatalf("exit %d: %v\n%s%s", code, err, out, errText)
				}
				if code != tc.exit || got.Stopped == nil || got.Stopped.Code != tc.code || len(got.Failures) == 0 || got.Slices["SUCCEEDED"] > 0 {
					t.Errorf("exit %d, want %d and %s\n%s%s", code, tc.exit, tc.code, out, errText)
				}
				for _, text := range tc.says {
					if !strings.Contains(errText, text) {
						t.Errorf("no %q in\n%s", text, errText)
					}
				}
				if hits := int(up.hits.Load()); got.Stats.Requests != hits || got.Stats.Retries > hits {
					t.Errorf("%d requests, %d retries are told; %d were sent", got.Stats.Requests, got.Stats.Retries, hits)
				}
				if n := strings.Count(errText, `msg="try failed"`); n < 3 || n > 12 {
					t.Errorf("%d tries are told, want one line for each of a few:\n%s", n, errText)
				}
				before := up.hits.Load()
				again := 6
				if !tc.paused { // nobody waits for the circuit to hear the same
					again = tc.exit
				}
				if code, _, errText := w.built(w.harvestArgs()...); code != again || up.hits.Load() != before {
					t.Errorf("the next harvest: exit %d, want %d; %d requests\n%s", code, again, up.hits.Load()-before, errText)
				}
			})
		})
	}
}

// For people the same stands in the summary: each reason once, with how often.
func TestTrust12TheSummaryTellsTheReason(t *testing.T) {
	w := newWorld(t, "sqlite:"+filepath.Join(t.TempDir(), "patra.db"), upsim.Config{Seed: 7, PerDay: 3, Flat: true}, upsim.Options{})
	up := newBadUpstream(t, 404, "no such thing")
	w.at(up.URL)
	w.settings = append(w.settings, "slicing.step=P1D")
	args := []string{"harvest", "crossref", "--from", weekFrom.Format(time.RFC3339), "--now", w.now.Format(time.RFC3339), "--workers", "1"}
	for _, s := range w.settings {
		args = append(args, "--set", s)
	}
	code, out, errText := w.built(args...)
	if code != 2 || !strings.Contains(out, "why ") || !strings.Contains(out, "3 slices failed: BAD_REQUEST (HTTP 404)") || !strings.Contains(out, "requests   3,") {
		t.Errorf("exit %d\n%s%s", code, out, errText)
	}
	if strings.Contains(errText, "--help") {
		t.Errorf("the command was right, and help on it is offered:\n%s", errText)
	}
}

// A run of one slice that fails has the code of its cause too, though nothing was
// stopped; one that covered something has 3.
func TestTrust12OneSliceHasTheCodeOfItsCause(t *testing.T) {
	w := newWorld(t, "sqlite:"+filepath.Join(t.TempDir(), "patra.db"), upsim.Config{Seed: 7, PerDay: 3, Flat: true}, upsim.Options{})
	up := newBadUpstream(t, 404, "no such thing")
	w.at(up.URL)
	code, out, errText := w.built(w.harvestArgs("--from", "2025-03-05", "--to", "2025-03-06", "--set", "slicing.step=P1D")...)
	if code != 2 || !strings.Contains(out, `"BAD_REQUEST"`) || !strings.Contains(errText, "HTTP 404") || up.hits.Load() != 1 {
		t.Errorf("exit %d after %d requests\n%s%s", code, up.hits.Load(), out, errText)
	}
}

// A wrong key stops the source, and the run ends with the code of credentials.
func TestTrust12AWrongKeyEndsWithTheCodeOfCredentials(t *testing.T) {
	onEachDatabaseInTurn(t, func(t *testing.T, database string) {
		f := authForm(t, "key-header")
		s := &subject{world: newWorld(t, database, daily(), upsim.Options{}), source: "form-key-header", lag: 10 * time.Minute}
		front := &door{}
		front.serves(t, s, f)
		t.Setenv("FORM_SECRET", "wrong-kanari")
		code, out, errText := s.built(s.args()...)
		var got toldWhy
		if err := json.Unmarshal([]byte(out), &got); err != nil {
			t.Fatalf("exit %d: %v\n%s%s", code, err, out, errText)
		}
		if code != 4 || got.Stopped == nil || got.Stopped.Code != "UNAUTHORIZED" || got.Stats.Requests != front.server.Load().Requests() {
			t.Errorf("exit %d\n%s%s", code, out, errText)
		}
		for _, text := range []string{"HTTP 401", "env:FORM_SECRET", "patra source resume form-key-header"} {
			if !strings.Contains(errText, text) {
				t.Errorf("no %q in\n%s", text, errText)
			}
		}
		if strings.Contains(out+errText, "kanari") {
			t.Errorf("the key is shown:\n%s%s", out, errText)
		}
	})
}

// listening is the output of a process, and tells when a text has come.
type listening struct {
	mu    sync.Mutex
	text  bytes.Buffer
	want  string
	heard chan struct{}
}

func (l *listening) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, err := l.text.Write(p)
	if l.want != "" && strings.Contains(l.text.String(), l.want) {
		close(l.heard)
		l.want = ""
	}
	return n, err
}

func (l *listening) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// A harvest that stands still says what its requests meet, also while no run has ended:
// a policy of many tries takes minutes.
func TestTrust12AStandstillTellsTheTries(t *testing.T) {
	w := newWorld(t, "sqlite:"+filepath.Join(t.TempDir(), "patra.db"), upsim.Config{Seed: 7, PerDay: 3, Flat: true}, upsim.Options{})
	up := newBadUpstream(t, 503, "we are closed")
	w.at(up.URL)
	args := []string{"harvest", "crossref", "--from", "2025-03-05", "--to", "2025-03-06", "--now", w.now.Format(time.RFC3339), "--db", w.database}
	for _, s := range append(w.settings, "retry.maxAttempts=1000000", "retry.initialDelay=PT0.2S", "retry.maxDelay=PT0.2S") {
		args = append(args, "--set", s)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), childEnv+"=1")
	said := &listening{want: "no page for 10s", heard: make(chan struct{})}
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	select {
	case <-said.heard:
	case <-ended:
		t.Fatalf("it ended without a word: %s", said)
	}
	_ = cmd.Process.Signal(os.Interrupt)
	<-ended
	var tries int
	_, rest, _ := strings.Cut(said.String(), "no page for 10s: ")
	if _, err := fmt.Sscanf(rest, "%d tries failed", &tries); err != nil || tries < 5 || !strings.Contains(rest, "the last with SERVER_ERROR (HTTP 503)") {
		t.Errorf("%d tries:\n%s", tries, said)
	}
	if code := cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("exit %d", code)
	}
}
