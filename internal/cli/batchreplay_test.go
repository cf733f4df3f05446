package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/view"
)

func TestReplayIsRefusedPlainly(t *testing.T) {
	d := harvested(t)
	t.Setenv("PATRA_RAW_DIR", "")
	for _, args := range [][]string{
		{"batch", "replay", "two"}, {"batch", "replay", "1/x"}, {"batch", "replay", "0/1"}, {"batch", "replay", "1", "--from", "memory"},
		{"batch", "replay", "1", "--spec", "tomorrow"}, {"batch", "replay", "1", "--set", "paging.size=7"}, {"batch", "replay", "1", "--refresh-expired"},
		{"batch", "replay", "1", "--seal", "abc"}, {"batch", "export", "1"}, {"batch", "export", "1", "--reason", "x", "--expires", "0d"},
		{"batch", "export", "1", "--reason", "x", "--expires", "soon"}, {"run", "diff", "1", "b"},
	} {
		d.expect(term.ExitUsage, args...)
	}
	for _, args := range [][]string{
		{"batch", "replay", "4711"}, {"batch", "replay", "1/4711"}, {"batch", "replay", "none.zip"}, {"batch", "export", "4711", "--reason", "x"}, {"run", "diff", "1", "4711"},
	} {
		d.expect(term.ExitNotFound, args...)
	}
	d.holds(d.expect(term.ExitUsage, "batch", "replay", d.write("b.zip", "no zip"), "--from", "upstream").err, "never asked")
	d.holds(d.expect(term.ExitConflict, "batch", "replay", filepath.Join(d.dir, "b.zip")).err, "not as it was exported")
	d.holds(d.expect(term.ExitNotFound, "batch", "replay", "1", "--raw-dir", filepath.Join(d.dir, "empty")).err, "any more", "until")
}

// A dry run writes neither a file nor a row.
func TestExportIsRehearsed(t *testing.T) {
	d := harvested(t)
	file := filepath.Join(d.dir, "evidence.zip")
	got := d.writesNothing("batch", "export", "1", "--out", file, "--reason", "a look", "--dry-run")
	d.holds(got.out, "evidence.zip", "seal", "batch.json", "snapshot.json")
	if _, err := os.Stat(file); err == nil {
		t.Error("a dry run wrote the file")
	}
	d.expect(term.ExitOK, "batch", "export", "1", "--out", file, "--reason", "a look")
	d.expect(term.ExitConflict, "batch", "export", "1", "--out", file, "--reason", "a look")
}

// Without bodies two runs are compared by their numbers, and it is said why.
func TestRunDiffOfNumbers(t *testing.T) {
	d := harvested(t)
	got := d.run("run", "diff", "1", "2", "--raw-dir", filepath.Join(d.dir, "empty"))
	if got.code != term.ExitFindings || !strings.Contains(got.err, "numbers only") {
		t.Errorf("%d: %s%s", got.code, got.out, got.err)
	}
	d.holds(got.out, "SEEN A", "SEEN B")
	same := d.writesNothing("run", "diff", "1", "1", "--raw-dir", filepath.Join(d.dir, "empty"))
	if same.code != term.ExitFindings || !strings.Contains(same.err, "it is not known whether") {
		t.Errorf("%d: %s", same.code, same.err)
	}
}

// What updates did is done again too: records mapped anew from the answers to other
// batches, and records asked for by id, of which one is gone.
func TestUpdatesAreReplayed(t *testing.T) {
	d, up, apply := library(t)
	t.Setenv("PATRA_RAW_DIR", "")
	apply(", venue: $.venue")
	d.expect(term.ExitOK, "update", "lib", "--expr-changed")
	up.change(func(all []letter) []letter {
		return slices.DeleteFunc(all, func(l letter) bool { return l.ID == "r003" })
	})
	d.expect(term.ExitOK, "update", "lib", "--ids", d.write("ids.txt", "r003\nr004\n"), "--reason", "notice")
	var batches []view.Batch
	d.decode(d.expect(term.ExitOK, "batch", "list", "--limit", "100", "-o", "json").out, &batches)
	remapped, asked := 0, up.requests()
	for _, b := range batches {
		got := d.writesNothing("batch", "replay", fmt.Sprint(b.ID))
		if got.code != term.ExitOK {
			t.Errorf("batch %d (%s): exit %d\n%s%s", b.ID, b.Operation, got.code, got.out, got.err)
		}
		if strings.Contains(got.err, "no request was sent") {
			remapped++
		}
	}
	if remapped == 0 || up.requests() != asked {
		t.Errorf("%d of %d batches were mapped anew, %d requests", remapped, len(batches), up.requests()-asked)
	}
}
