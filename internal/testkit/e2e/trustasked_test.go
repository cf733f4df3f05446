package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/upsim"
)

// A window that no harvest reads is refused with the command that does, before
// anything is sent or stored; that command works as it is printed.
func TestTrust14HarvestSaysWhoReadsAWindow(t *testing.T) {
	onEachDatabaseInTurn(t, func(t *testing.T, database string) {
		w := newWorld(t, database, upsim.Config{Seed: 14, PerDay: 20, Flat: true}, upsim.Options{})
		if code, _, errText := w.loud("harvest", "--from", "2025-03-04"); code != 0 || strings.Contains(errText, "--from 2025") {
			t.Fatalf("the first harvest: exit %d\n%s", code, errText)
		}
		asked := w.server.Requests()
		for name, c := range map[string]struct {
			window []string
			next   string
		}{
			"read":            {[]string{"--from", "2025-03-05", "--to", "2025-03-06"}, "patra update crossref --from 2025-03-05 --to 2025-03-06"},
			"no start":        {[]string{"--to", "2025-03-06"}, "patra update crossref --from 2025-03-04 --to 2025-03-06"},
			"before":          {[]string{"--from", "2025-03-03"}, "patra backfill crossref --from 2025-03-03 --to 2025-03-04"},
			"before and read": {[]string{"--from", "2025-03-03", "--to", "2025-03-06"}, "patra backfill crossref --from 2025-03-03 --to 2025-03-04"},
			"wholly before":   {[]string{"--from", "2025-03-02", "--to", "2025-03-03"}, "patra backfill crossref --from 2025-03-02 --to 2025-03-03"},
		} {
			for _, dry := range [][]string{nil, {"--dry-run"}} {
				code, out, errText := w.loud("harvest", append(c.window, dry...)...)
				if code != 2 || !strings.Contains(errText, "\n  "+c.next+"\n") || out != "" {
					t.Errorf("%s %v: exit %d\n%s%s", name, dry, code, out, errText)
				}
			}
		}
		if n := w.server.Requests(); n != asked {
			t.Errorf("%d requests for what was refused", n-asked)
		}
		// A start inside of what is read, without an end: one line, and the harvest goes on.
		w.now = w.now.Add(time.Minute)
		code, _, errText := w.loud("harvest", "--from", "2025-03-05")
		if code != 0 || strings.Count(errText, "--from 2025-03-05 is read already") != 1 {
			t.Errorf("inside: exit %d\n%s", code, errText)
		}
		// A rehearsal of a backfill tells what of it is there already.
		code, out, errText := w.loud("backfill", "--from", "2025-03-03", "--to", "2025-03-06", "--dry-run")
		if code != 0 || !strings.Contains(out, "% of it was read before") || !strings.Contains(out, "[2025-03-04, 2025-03-06)") || !strings.Contains(errText, "--to 2025-03-04 leaves it out") {
			t.Errorf("backfill --dry-run: exit %d\n%s%s", code, out, errText)
		}
		for _, args := range [][]string{{"update", "--from", "2025-03-05", "--to", "2025-03-06"}, {"backfill", "--from", "2025-03-03", "--to", "2025-03-04"}} {
			if code, out, errText := w.loud(args[0], args[1:]...); code != 0 {
				t.Errorf("%v, as it was proposed: exit %d\n%s%s", args, code, out, errText)
			}
		}
		w.verify()
	})
}

// What runs again and again needs no start: a moving one either does nothing or cuts
// off what is owed.
func TestTrust14CronHarvestsWithoutAStart(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for line := range strings.Lines(string(text)) {
		if !strings.Contains(line, "* * *") || !strings.Contains(line, "patra harvest") {
			continue
		}
		if lines++; strings.Contains(line, "--from") {
			t.Errorf("README: %s", line)
		}
	}
	if lines == 0 || strings.Contains(string(text), "same command from cron") {
		t.Error("README has no line for cron")
	}
}
