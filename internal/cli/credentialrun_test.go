package cli

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
)

// doorman stands before an upstream and lets a token in a few times.
type doorman struct {
	mu     sync.Mutex
	uses   int // of one token
	issued int
	left   int
	denied int
}

func (g *doorman) before(t *testing.T, address string) *httptest.Server {
	upstream, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	behind := httputil.NewSingleHostReverseProxy(upstream)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		defer g.mu.Unlock()
		if r.URL.Path == "/token" {
			if _, key, _ := r.BasicAuth(); key != "canary-kanari" {
				w.WriteHeader(http.StatusUnauthorized)
				fmt.Fprintf(w, `{"error": "invalid_client", "error_description": "%s"}`, key)
				return
			}
			g.issued++
			g.left = g.uses
			fmt.Fprintf(w, `{"access_token": "token-kanari-%d", "token_type": "bearer", "expires_in": 3600}`, g.issued)
			return
		}
		token := r.Header.Get("Authorization")
		if token != fmt.Sprintf("Bearer token-kanari-%d", g.issued) || g.left == 0 {
			g.denied++
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, "not with ", token)
			return
		}
		g.left--
		behind.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server
}

// A source behind OAuth 2 is tried and harvested; its tokens end on the way, and
// nothing of them is left in the database (I12).
func TestHarvestWithTokens(t *testing.T) {
	d := newDesk(t)
	d.Setenv("PATRA_TEST_ID", "me")
	d.Setenv("PATRA_TEST_SECRET", "canary-kanari")
	file, up := d.simulated("")
	guard := &doorman{uses: 4}
	server := guard.before(t, up.URL())
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	file = d.write("guarded.yaml", strings.ReplaceAll(string(text), up.URL(), server.URL)+`
credentials:
  client: {type: OAUTH2, tokenUrl: /token, clientId: env:PATRA_TEST_ID, clientSecret: env:PATRA_TEST_SECRET}
auth: {credential: client}
`)
	d.trusts(file)
	r := d.expect(term.ExitOK, "source", "test", file, "--window", firstOfMarch)
	d.holds(r.out, "client (OAUTH2 in HEADER Authorization, from env:PATRA_TEST_ID and env:PATRA_TEST_SECRET, present)", "HTTP 200")

	d.expect(term.ExitOK, "source", "apply", file)
	d.expect(term.ExitOK, "harvest", "crossref", "--from", "2025-03-01", "--to", "2025-03-04")
	if guard.issued < 3 || guard.denied == 0 {
		t.Errorf("%d tokens, %d refusals: the tokens did not end on the way", guard.issued, guard.denied)
	}
	d.clean("kanari")

	d.Setenv("PATRA_TEST_SECRET", "wrong-kanari")
	r = d.run("source", "test", file, "--window", firstOfMarch)
	if r.code != term.ExitAuth {
		t.Errorf("exit code %d", r.code)
	}
	d.holds(r.err, "invalid_client", "env:PATRA_TEST_SECRET")
	if strings.Contains(r.out+r.err, "kanari") {
		t.Errorf("a secret is shown:\n%s%s", r.out, r.err)
	}
}

// clean searches every file that was written for a secret.
func (d *desk) clean(canary string) {
	d.Helper()
	err := filepath.WalkDir(d.dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if bytes.Contains(text, []byte(canary)) {
			d.Errorf("%s holds a secret", entry.Name())
		}
		return err
	})
	if err != nil {
		d.Error(err)
	}
}
