package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/blackbox"
	"github.com/patra-ingest/patra/internal/core/view"
)

// A batch whose plan was archived is done again from the archive, and is exported.
func TestArchivedBatchesAreReplayed(t *testing.T) {
	d := oldHarvest(t)
	t.Setenv("PATRA_RAW_DIR", "")
	var batches []view.Batch
	d.decode(d.expect(term.ExitOK, "batch", "list", "--limit", "100", "-o", "json").out, &batches)
	replay := func(ref string) (r blackbox.Report) {
		t.Helper()
		d.decode(d.writesNothing("batch", "replay", ref, "-o", "json").out, &r)
		if !r.Identical {
			t.Errorf("batch %s: %+v", ref, r)
		}
		return r
	}
	before := map[int64]blackbox.Report{}
	for _, b := range batches {
		before[b.ID] = replay(fmt.Sprint(b.ID))
	}
	d.expect(term.ExitOK, "db", "archive", "--reason", "yearly")
	d.expect(term.ExitOK, "batch", "show", "1")
	var left []view.Batch
	d.decode(d.expect(term.ExitOK, "batch", "list", "--limit", "100", "-o", "json").out, &left)
	if len(before) < 3 || len(left) != 0 {
		t.Fatalf("%d batches, %d were not archived", len(before), len(left))
	}
	for _, b := range batches {
		was := before[b.ID]
		for _, ref := range []string{fmt.Sprint(b.ID), fmt.Sprintf("%d/%d", b.RunID, b.No)} {
			if is := replay(ref); is.Keys != was.Keys || is.Seen != was.Seen || is.BodySHA256 != was.BodySHA256 || is.Next != was.Next || fmt.Sprint(is.Decisions) != fmt.Sprint(was.Decisions) {
				t.Errorf("batch %s is %+v, was %+v", ref, is, was)
			}
		}
	}
	bundle := filepath.Join(d.dir, "evidence.zip")
	d.expect(term.ExitOK, "batch", "export", "1", "--out", bundle, "--reason", "a look")
	d.holds(d.expect(term.ExitOK, "batch", "replay", bundle).out, "identical")
	d.holds(d.expect(term.ExitNotFound, "run", "diff", "1", "2").err, "run 1", "it is archived, in ", "patra db archive show run/1")
	d.holds(d.expect(term.ExitNotFound, "batch", "replay", "4711").err, "batch 4711")
	d.expect(term.ExitNotFound, "batch", "replay", "1/4711")

	if err := os.Rename(d.file+".archive", d.file+".elsewhere"); err != nil {
		t.Fatal(err)
	}
	d.holds(d.run("batch", "replay", "1").err, "archive")
	d.holds(d.expect(term.ExitOK, "batch", "replay", "1", "--archive-dir", d.file+".elsewhere").out, "identical")
}
