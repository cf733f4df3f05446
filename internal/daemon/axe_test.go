package daemon

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/patra-ingest/patra/internal/testkit/need"
)

// axe is what looks for barriers. It is fetched for the proof alone and shipped with nothing.
const axe = "axe-core@4.10.3"

// fetchAxe gets it from npm into a folder of the test.
func fetchAxe(t *testing.T) string {
	t.Helper()
	npm, err := exec.LookPath("npm")
	if err != nil {
		need.Missing(t, "npm is not installed (Debian: apt install npm)")
	}
	dir := t.TempDir()
	said, err := exec.CommandContext(t.Context(), npm, "install", "--prefix", dir, "--no-audit", "--no-fund", "--ignore-scripts", axe).CombinedOutput()
	if err != nil {
		t.Fatalf("npm install %s: %v\n%s", axe, err, said)
	}
	text, err := os.ReadFile(filepath.Join(dir, "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestProofAxeFindsNoBarrier lets axe-core look at every page, in the light and in the dark, by the
// rules of WCAG 2.1 A and AA.
func TestProofAxeFindsNoBarrier(t *testing.T) {
	if os.Getenv("PATRA_PROOF") == "" {
		t.Skip("a proof: set PATRA_PROOF=1")
	}
	script := fetchAxe(t)
	p := newPrograms(t, "sqlite:"+t.TempDir()+"/patra.db")
	if status, body := p.call(http.MethodPost, "/v1/sources/crossref/trigger", `{"reason":"x","operation":"BACKFILL","from":"2024-01-01T00:00:00Z","to":"2024-01-02T00:00:00Z","offline":true}`, admin); status != http.StatusOK {
		t.Fatalf("trigger: %d %s", status, body)
	}
	b := p.showPages(t)
	looked := 0
	for _, theme := range []string{"light", "dark"} {
		for _, path := range p.pagesOf() {
			b.Visit(path)
			b.Value("(document.documentElement.dataset.theme = '" + theme + "')")
			b.Value("(() => {" + script + "; window.axeFound = null; axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa']}).then((r) => { window.axeFound = JSON.stringify({rules: r.passes.length, found: r.violations.map((v) => ({id: v.id, help: v.help, nodes: v.nodes.slice(0, 3).map((n) => n.html.slice(0, 200) + ' ' + n.failureSummary)}))}); }); return 1; })()")
			b.AwaitChange("window.axeFound")
			var got struct {
				Rules int
				Found []struct {
					ID, Help string
					Nodes    []string
				}
			}
			if err := json.Unmarshal([]byte(b.Value("window.axeFound")), &got); err != nil {
				t.Fatal(err)
			}
			for _, v := range got.Found {
				t.Errorf("%s, %s: %s: %s\n%q", theme, path, v.ID, v.Help, v.Nodes)
			}
			if got.Rules < 5 {
				t.Errorf("%s, %s: only %d rules looked at it", theme, path, got.Rules)
			}
			looked++
		}
	}
	t.Logf("%s looked at %d pages", axe, looked)
}
