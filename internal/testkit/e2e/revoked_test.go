package e2e

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/testkit/mariadb"
	"github.com/patra-ingest/patra/internal/testkit/redis"
	"github.com/patra-ingest/patra/internal/testkit/simulated"
	"github.com/patra-ingest/patra/internal/upsim"
)

// F30: a key is revoked after 50 pages that two processes read. The source stops,
// once and loudly; nobody asks again; with another key and after a resume all is
// read.
func TestRevokedKeyStopsTheSourceOnce(t *testing.T) {
	f := authForm(t, "key-header")
	s := &subject{world: newWorld(t, mariadb.DSN(t), upsim.Config{Seed: 61, PerDay: 150, Flat: true}, upsim.Options{}), source: "form-key-header", lag: 10 * time.Minute}
	front := &door{}
	f.Options.Forms.Auth.RevokeAfter = 50
	front.serves(t, s, f)
	shared := []string{"--workers", "4", "--gate", redis.Start(t).URL()}
	beside, told := s.child(append([]string{"serve", "--roles", "executor"}, shared...)...)
	code, _, text := s.patra(s.args(shared...)...)
	if code == 0 {
		t.Errorf("the harvest of a source that was stopped ends with exit 0: %s", text)
	}
	_ = beside.Process.Signal(os.Interrupt)
	_ = beside.Wait()
	if n := strings.Count(text+told.String(), "source stopped"); n != 1 {
		t.Errorf("%d alarms, want one:\n%s\n%s", n, text, told)
	}
	asked := front.server.Load().Requests()
	if code, _, _ := s.patra(s.args(shared...)...); code == 0 || front.server.Load().Requests() != asked {
		t.Errorf("exit %d, and %d requests of a source that is stopped", code, front.server.Load().Requests()-asked)
	}
	t.Logf("stopped after %d requests", asked)
	f.Options.Forms.Auth.RevokeAfter, f.Options.Forms.Auth.Secret = 0, "another"
	t.Setenv("FORM_SECRET", "another")
	front.opens(t, s, f)
	s.must("source", "resume", s.source, "--reason", "there is a new key")
	s.must("task", "retry", "--source", s.source, "--status", "FAILED", "--yes", "--reason", "there is a new key")
	s.must(s.args(shared...)...)
	s.whole()
}

// door is an address behind which the upstream can be replaced.
type door struct{ server atomic.Pointer[upsim.Server] }

func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) { d.server.Load().ServeHTTP(w, r) }

func (d *door) opens(t *testing.T, s *subject, f simulated.Form) {
	t.Helper()
	server, err := upsim.NewServer(s.data, f.Options)
	if err != nil {
		t.Fatal(err)
	}
	d.server.Store(server)
}

// serves makes the source of a test the one behind the door, with consent to its
// secrets.
func (d *door) serves(t *testing.T, s *subject, f simulated.Form) {
	t.Helper()
	d.opens(t, s, f)
	web := httptest.NewServer(d)
	t.Cleanup(web.Close)
	file := filepath.Join(t.TempDir(), "source.yaml")
	if err := os.WriteFile(file, []byte(f.YAML(web.URL)), 0o600); err != nil {
		t.Fatal(err)
	}
	s.must("source", "apply", file, "--trust")
	s.settings = nil
}

func authForm(t *testing.T, name string) simulated.Form {
	t.Helper()
	for _, f := range simulated.AuthForms() {
		if f.Name == name {
			for key, value := range f.Env {
				t.Setenv(key, value)
			}
			return f
		}
	}
	t.Fatalf("there is no form %s", name)
	return simulated.Form{}
}
