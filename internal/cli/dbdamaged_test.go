package cli

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
)

// Whatever a command was doing when it met a damaged page, it says what to do next, and
// does not say that it was called wrongly.
func TestADamagedFileIsToldOfByEveryCommand(t *testing.T) {
	whole := filledFile(t)
	d := newDesk(t)
	d.write(filepath.Base(d.file), string(whole))
	db := d.db()
	pages := d.column(db, "SELECT rootpage FROM sqlite_master WHERE name IN ('reg_provenance', 'ing_cursor', 'ing_coverage', 'ing_cursor_event', 'ing_plan', 'ing_task', 'ing_task_run_batch', 'ing_record')")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	commands := [][]string{
		{"status"}, {"source", "list"}, {"cursor", "list"}, {"coverage", "gaps", "crossref"}, {"plan", "list"}, {"task", "list"}, {"batch", "show", "1"},
		{"quarantine", "groups"}, {"plan", "crossref", "--dry-run", "--offline"}, {"data", "list", "crossref"}, {"db", "size"},
	}
	damaged := map[string]bool{} // commands that met a damaged page
	for _, text := range pages {
		page, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		file := append([]byte(nil), whole...)
		for i := range 100 {
			file[(page-1)*filePage+i] = 0xff
		}
		d.damagedFile(file)
		for _, args := range commands {
			r := d.run(args...)
			if !strings.Contains(r.err, "malformed") {
				continue
			}
			name := strings.Join(args, " ")
			damaged[name] = true
			if r.code == term.ExitUsage || r.code == term.ExitNotFound || !strings.Contains(r.err, "patra db check") || strings.Contains(r.err, "--help") {
				t.Errorf("page %d: patra %s ended with %d:\n%s", page, name, r.code, r.err)
			}
		}
	}
	if len(damaged) < len(commands)/2 {
		t.Errorf("only %d of %d commands met a damaged page: %v", len(damaged), len(commands), damaged)
	}
}
