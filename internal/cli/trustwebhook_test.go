package cli

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
)

// hookFile declares one webhook for all events.
func (d *desk) hookFile(webhook string) string {
	d.Helper()
	return d.write("events.yaml", "destinations:\n  - name: hook\n    webhook: {"+webhook+"}\nroutes:\n  - to: hook\n")
}

// What whoever declares a webhook meets: a secret that is too short, an address
// that is private, words of the receiver that stay with it.
func TestTrust04Webhooks(t *testing.T) {
	d := harvested(t)
	asked, signatures := 0, ""
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked, signatures = asked+1, r.Header.Get("Webhook-Signature")
	}))
	defer server.Close()
	t.Setenv("HOOK_SECRET", "canary-4711-secret-of-24-bytes")
	t.Setenv("HOOK_SECRET_OLD", "canary-4711-secret-before-that")
	t.Setenv("HOOK_SHORT", "canary-4711")
	t.Setenv("HTTP_PROXY", server.URL)
	for name, c := range map[string]struct {
		webhook string
		code    int
		says    []string
	}{
		"private, not allowed": {"url: '" + server.URL + "/canary', secret: 'env:HOOK_SECRET'", term.ExitUsage, []string{"this machine or its network", "allowPrivate: true"}},
		"private by number":    {"url: 'https://192.168.7.7/canary', secret: 'env:HOOK_SECRET'", term.ExitUsage, []string{"this machine or its network", "allowPrivate: true"}},
		"a short secret":       {"url: '" + server.URL + "/canary', secret: 'env:HOOK_SHORT', allowPrivate: true", term.ExitFailure, []string{"env:HOOK_SHORT", "11 bytes", "fewer than 24", "openssl rand"}},
		"no old secret":        {"url: '" + server.URL + "/canary', secret: 'env:HOOK_SECRET', oldSecret: 'env:NO_SUCH_SECRET', allowPrivate: true", term.ExitFailure, []string{"env:NO_SUCH_SECRET"}},
		"one secret twice":     {"url: '" + server.URL + "/canary', secret: 'env:HOOK_SECRET', oldSecret: 'env:HOOK_SECRET', allowPrivate: true", term.ExitUsage, []string{"oldSecret is the same reference as secret"}},
		"nobody knows it":      {"url: 'https://canary-4711.invalid/canary', secret: 'env:HOOK_SECRET'", term.ExitFailure, []string{"no answer", "DNS"}},
	} {
		file := d.hookFile(c.webhook)
		if c.code != term.ExitUsage {
			d.expect(term.ExitOK, "events", "trust", "--events", file, "--yes")
		}
		r := d.run("events", "test", "hook", "--events", file)
		if r.code != c.code && !(c.code == term.ExitFailure && r.code != term.ExitOK) {
			t.Errorf("%s: exit %d, want %d", name, r.code, c.code)
		}
		d.holds(r.err, c.says...)
		if strings.Contains(r.out+r.err, "canary") || asked > 0 {
			t.Errorf("%s: %s%s; the receiver was asked %d times", name, r.out, r.err, asked)
		}
	}
	file := d.hookFile("url: '" + server.URL + "/canary', secret: 'env:HOOK_SECRET', oldSecret: 'env:HOOK_SECRET_OLD', allowPrivate: true")
	d.expect(term.ExitOK, "events", "trust", "--events", file, "--yes")
	d.expect(term.ExitOK, "events", "test", "hook", "--events", file)
	if asked != 1 || strings.Count(signatures, "v1,") != 2 {
		t.Errorf("asked %d times, signed %q", asked, signatures)
	}
}
