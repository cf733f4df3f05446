package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/retention"
	"github.com/patra-ingest/patra/internal/core/view"
)

// oldHarvest is a desk whose harvest was complete, published and ended a year ago.
func oldHarvest(t *testing.T) *desk {
	t.Helper()
	d := newDesk(t)
	t.Setenv("PATRA_ARCHIVE_DIR", "")
	if err := harvest(t.Context(), d.file, "", march(1), march(5), march(20)); err != nil {
		t.Fatal(err)
	}
	const year = "365 * 24 * 3600 * 1000000"
	d.many("UPDATE ing_cursor_event SET created_at = created_at - " + year)
	d.many("UPDATE ing_plan SET updated_at = updated_at - " + year)
	d.many("UPDATE ing_outbox_message SET status_code = 'PUBLISHED', published_at = created_at - " + year + ", created_at = created_at - " + year)
	return d
}

// many goes round the store and changes any number of rows.
func (d *desk) many(query string) {
	d.Helper()
	db := d.db()
	defer db.Close()
	if _, err := db.ExecContext(d.Context(), query); err != nil {
		d.Fatal(err)
	}
}

func (d *desk) archives() (out []retention.Archive) {
	d.Helper()
	d.decode(d.expect(term.ExitOK, "db", "archive", "list", "-o", "json").out, &out)
	return out
}

func TestArchive(t *testing.T) {
	d := oldHarvest(t)
	before := d.expect(term.ExitOK, "cursor", "list").out
	shown := d.expect(term.ExitOK, "batch", "show", "2").out
	dry := d.writesNothing("db", "archive", "--dry-run")
	d.holds(dry.out, "events moved          4", "ledgers shortened     1", "plans moved           1", "rows of plans moved  37")
	d.holds(dry.err, "nothing was written")
	d.noFolder(d.file + ".archive")

	done := d.expect(term.ExitOK, "db", "archive", "--reason", "yearly")
	d.holds(done.err, d.file+".archive")
	if got, want := strings.ReplaceAll(done.out, "files                 2", "files                 0"), dry.out; got != want {
		t.Errorf("done\n%s, told\n%s", got, want)
	}
	if got := d.expect(term.ExitOK, "cursor", "list").out; got != before {
		t.Errorf("the watermark was\n%s, is\n%s", before, got)
	}
	archives := d.archives()
	if len(archives) != 2 || archives[0].Kind != retention.Events || archives[1].Kind != retention.Plans || archives[0].Status != retention.Done {
		t.Fatalf("%+v", archives)
	}
	d.holds(d.expect(term.ExitOK, "db", "archive", "list").out, archives[0].Name, archives[1].Name)
	d.expect(term.ExitOK, "cursor", "verify")
	d.holds(d.expect(term.ExitOK, "cursor", "verify", "--archive", d.file+".archive").out, "ok")
	d.holds(d.expect(term.ExitOK, "db", "archive", "check").out, "ok")

	if got := d.expect(term.ExitOK, "batch", "show", "2"); got.out != shown || !strings.Contains(got.err, "batch 2 is archived, in "+archives[1].Name) {
		t.Errorf("an archived batch is shown as\n%s%s", got.out, got.err)
	}
	d.expect(term.ExitNotFound, "batch", "show", "4711")
	d.holds(d.expect(term.ExitOK, "db", "archive", "find", "batch/2").out, "ing_task_run_batch", "ing_batch_evidence", archives[1].Name)
	d.holds(d.expect(term.ExitOK, "db", "archive", "find", "cursor/1").out, "ing_cursor_event", archives[0].Name)
	d.holds(d.expect(term.ExitOK, "db", "archive", "show", "plan/1").out, `"plan_key":"`, `"slice_spec":`)
	d.holds(d.expect(term.ExitNotFound, "db", "archive", "find", "batch/4711").err, "batch/4711 is in no archive")
	d.holds(d.expect(term.ExitUsage, "db", "archive", "find", "record/1").err, "expected plan/N")
	d.holds(d.expect(term.ExitUsage, "db", "archive", "lst").err, "lst")
	d.holds(d.expect(term.ExitOK, "db", "archive").out, "events moved         0")
}

// An archived batch is shown though another file, which may have it too, is missing.
func TestABatchBesideAMissingArchive(t *testing.T) {
	d := oldHarvest(t)
	d.expect(term.ExitOK, "db", "archive")
	archives := d.archives()
	d.many(`UPDATE ing_archive SET lineage = '{"batch":[1,9]}' WHERE kind_code = 'EVENTS'`)
	if err := os.Remove(filepath.Join(d.file+".archive", archives[0].Name)); err != nil {
		t.Fatal(err)
	}
	d.holds(d.expect(term.ExitOK, "batch", "show", "2").err, "batch 2 is archived, in "+archives[1].Name)
	if got := d.run("db", "archive", "find", "batch/2"); got.code == term.ExitOK || !strings.Contains(got.err, archives[0].Name) {
		t.Errorf("a look at all files: exit code %d\n%s%s", got.code, got.out, got.err)
	}
}

// Databases that share a folder of archives do not write over each other's files.
func TestTwoDatabasesShareAnArchiveFolder(t *testing.T) {
	d, other := oldHarvest(t), oldHarvest(t)
	shared := filepath.Join(d.dir, "shared")
	t.Setenv("PATRA_ARCHIVE_DIR", shared)
	for _, each := range []*desk{d, other} {
		each.expect(term.ExitOK, "db", "archive", "--reason", "yearly")
	}
	for _, each := range []*desk{d, other} {
		each.expect(term.ExitOK, "db", "archive", "check")
		each.holds(each.expect(term.ExitOK, "batch", "show", "2").err, "batch 2 is archived")
		each.expect(term.ExitOK, "cursor", "verify", "--archive", shared)
	}
	if entries, err := os.ReadDir(shared); err != nil || len(entries) != 4 {
		t.Errorf("%v, %v", entries, err)
	}
}

// noFolder proves that a folder was not made.
func (d *desk) noFolder(dir string) {
	d.Helper()
	if _, err := os.Stat(dir); err == nil {
		d.Errorf("%s was made", dir)
	}
}

func TestArchiveDamageIsAFinding(t *testing.T) {
	d := oldHarvest(t)
	d.expect(term.ExitOK, "db", "archive")
	archives := d.archives()
	path := filepath.Join(d.file+".archive", archives[0].Name)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)/2] ^= 1
	d.write(filepath.Join("patra.db.archive", archives[0].Name), string(text))
	d.holds(d.expect(term.ExitFindings, "db", "archive", "check").err, "1 findings", "was changed")
	d.holds(d.expect(term.ExitFindings, "cursor", "verify", "--archive", d.file+".archive").err, "was changed")
	d.expect(term.ExitOK, "cursor", "verify") // the snapshot is whole
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	d.holds(d.expect(term.ExitFindings, "db", "archive", "check").err, "is missing")

	d.many("UPDATE ing_cursor_event SET record_remarks = REPLACE(record_remarks, '2025-03-05', '2025-03-06') WHERE kind_code = 'SNAPSHOT'")
	d.holds(d.expect(term.ExitFindings, "cursor", "verify").err, "signature", "was changed")
	var verdicts []view.Verdict
	d.decode(d.expect(term.ExitFindings, "cursor", "verify", "-o", "json").out, &verdicts)
	if len(verdicts) != 1 || len(verdicts[0].Problems) == 0 {
		t.Errorf("%+v", verdicts)
	}
}

func TestPrune(t *testing.T) {
	d := oldHarvest(t)
	d.many("UPDATE ing_outbox_message SET status_code = 'PENDING', published_at = NULL WHERE id <= 2")
	d.holds(d.writesNothing("db", "prune", "--outbox-keep", "7d", "--versions-keep", "90d", "--dry-run").out, "messages removed")
	var done retention.Pruned
	d.decode(d.expect(term.ExitOK, "db", "prune", "--outbox-keep", "7d", "--versions-keep", "90d", "-o", "json").out, &done)
	if done.Messages == 0 || done.DryRun {
		t.Errorf("%+v", done)
	}
	d.many("UPDATE ing_upkeep_mark SET position = 0")
	d.holds(d.expect(term.ExitOK, "db", "prune", "--outbox-keep", "7d").out, "messages removed   0")
}

func TestKeepingIsChecked(t *testing.T) {
	d := harvested(t)
	for _, args := range [][]string{
		{"db", "archive", "--keep", "1h"}, {"db", "archive", "--keep", "long"}, {"db", "prune"}, {"db", "prune", "--versions-keep", "1h"},
		{"db", "prune", "--outbox-keep", "x"}, {"db", "prune", "--versions-keep", "9d", "--versions-min", "0"},
		{"serve", "--archive-keep", "1h"}, {"serve", "--versions-keep", "x"},
	} {
		if got := d.expect(term.ExitUsage, args...); !strings.Contains(got.err, "--") {
			t.Errorf("%v: %s", args, got.err)
		}
	}
	t.Setenv("PATRA_ARCHIVE_KEEP", "1h")
	d.holds(d.expect(term.ExitUsage, "serve").err, "PATRA_ARCHIVE_KEEP")
	missing := emptyDesk(t)
	missing.holds(missing.expect(term.ExitNotFound, "db", "archive").err, "patra harvest")
	missing.noFile()
}
