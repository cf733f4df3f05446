package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
)

// Harvests by cron are seen: each leaves a file about its source, whole and readable for a
// collector, also if it fails; and patra metrics tells of all.
func TestMetricsWithoutAProcessThatServes(t *testing.T) {
	d := newDesk(t)
	source, _ := d.simulated("")
	d.rows(source)
	folder := filepath.Join(d.dir, "textfile")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "crossref.prom")
	d.expect(term.ExitOK, "harvest", "crossref", "--from", "2025-03-01", "--to", "2025-03-03", "--metrics-file", file)
	text := d.read(file)
	d.holds(text, `patra_ingest_batches_total{endpoint="works",op="HARVEST",outcome="stored",source="crossref"}`)
	d.holds(text, `patra_ingest_cursor_lag_seconds{endpoint="works",ns="1",op="HARVEST",source="crossref"}`)
	if strings.Contains(text, "go_goroutines") || strings.Contains(text, "build_info") {
		t.Error("a file of a harvest holds what the file of another holds too")
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("a collector cannot read it: %v, %v", info, err)
	}

	d.expect(term.ExitUsage, "harvest", "crossref", "--metrics-file", filepath.Join(d.dir, "none", "crossref.prom"))
	failed := filepath.Join(folder, "failed.prom")
	d.run("harvest", "crossref", "--from", "2025-03-01", "--to", "2025-03-03", "--set", "request.path=/nothing-here", "--metrics-file", failed)
	d.holds(d.read(failed), `patra_ingest_batches_total{endpoint="works",op="HARVEST",outcome="failed",source="crossref"} `)
	d.holds(d.read(failed), `patra_ingest_http_requests_total{class="4xx",endpoint="works",op="HARVEST",source="crossref"} `)

	all := filepath.Join(folder, "patra.prom")
	d.expect(term.ExitOK, "metrics", "--file", all)
	printed := d.expect(term.ExitOK, "metrics").out
	for _, said := range []string{printed, d.read(all)} {
		d.holds(said, `patra_ingest_tasks_queued{endpoint="works",op="HARVEST",source="crossref"} `)
		d.holds(said, "patra_ingest_build_info{")
	}
	if strings.Contains(printed, "go_goroutines") {
		t.Error("the runtime of a command that ends is nobody's business")
	}

	// Backfills and updates too. Of several files in one folder none says what another says,
	// or their reader takes none of them.
	campaign, again := filepath.Join(folder, "backfill.prom"), filepath.Join(folder, "update.prom")
	d.expect(term.ExitOK, "backfill", "crossref", "--from", "2025-02-20", "--to", "2025-02-22", "--metrics-file", campaign)
	d.holds(d.read(campaign), `patra_ingest_batches_total{endpoint="works",op="BACKFILL",outcome="stored",source="crossref"}`)
	d.expect(term.ExitOK, "update", "crossref", "--from", "2025-03-01", "--to", "2025-03-02", "--metrics-file", again)
	d.holds(d.read(again), `patra_ingest_http_requests_total{class="2xx",endpoint="works",op="UPDATE",source="crossref"}`)
	for _, command := range [][]string{{"backfill", "crossref", "--from", "2025-02-20"}, {"update", "crossref", "--from", "2025-03-01", "--to", "2025-03-02"}} {
		d.expect(term.ExitUsage, append(command, "--metrics-file", filepath.Join(d.dir, "none", "crossref.prom"))...)
	}
	seen := map[string]bool{}
	for _, path := range []string{file, campaign, again} {
		for line := range strings.Lines(d.read(path)) {
			series, _, _ := strings.Cut(line, "} ")
			if !strings.HasPrefix(line, "#") && seen[series] {
				t.Errorf("two files have %s", line)
			}
			seen[series] = true
		}
	}
	left, err := os.ReadDir(folder)
	if err != nil || len(left) != 5 {
		t.Errorf("parts of files are left: %v, %v", left, err)
	}
}

func TestServeListensOnlyWhereItMay(t *testing.T) {
	d := emptyDesk(t)
	for address, says := range map[string]string{"0.0.0.0:9464": "needs TLS and a token", "9464": "use HOST:PORT"} {
		d.holds(d.expect(term.ExitUsage, "serve", "--listen", address).err, says)
	}
	d.noFile()
}

// Where a service listens may stand in patra.yaml; a flag wins.
func TestServeListensWherePatraYAMLSays(t *testing.T) {
	d := newDesk(t)
	d.empty()
	const shown = "metrics and health are shown"
	d.installs("listen: {address: '127.0.0.1:0', metricsEvery: PT2S}\n")
	d.serves(shown)
	d.serves(shown, "--metrics-every", "1s")
	if said := d.serves("serving", "--listen", ""); strings.Contains(said, shown) {
		t.Errorf("it listens:\n%s", said)
	}
	d.installs("listen: {address: '0.0.0.0:9464'}\n")
	d.holds(d.expect(term.ExitUsage, "serve").err, "listen of ", "needs TLS and a token")
}

func (d *desk) read(path string) string {
	d.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		d.Fatal(err)
	}
	return string(text)
}
