package cli

import (
	"fmt"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/integrity"
	"github.com/patra-ingest/patra/internal/core/view"
)

// longLetters is a harvested library whose answers are large enough for frames.
func longLetters(t *testing.T, flags ...string) (d *desk, up *letters, apply func(fields string)) {
	t.Helper()
	up = &letters{}
	for i := range 60 {
		up.all = append(up.all, letter{fmt.Sprintf("r%03d", i), fmt.Sprintf("2025-03-%02dT10:00:00Z", 1+i%5), fmt.Sprint("Letter ", i, strings.Repeat(fmt.Sprint(" and ", i), 2000)), "Annals"})
	}
	server := httptest.NewServer(up)
	t.Cleanup(server.Close)
	d = newDesk(t)
	d.empty()
	apply = func(fields string) {
		d.expect(0, "source", "apply", d.write("lib.yaml", fmt.Sprintf(lettersFile, server.URL, fields)), "--reason", "test")
	}
	apply("")
	t.Setenv("PATRA_RAW_DIR", "")
	d.expect(0, append([]string{"harvest", "lib", "--from", "2025-03-01", "--to", "2025-03-06", "--workers", "1"}, flags...)...)
	up.change(func(all []letter) []letter { return all })
	return d, up, apply
}

// keptFiles counts the answers that are kept as files.
func (d *desk) keptFiles() (n int) {
	d.Helper()
	folders, err := os.ReadDir(d.file + ".raw")
	if err != nil && !os.IsNotExist(err) {
		d.Fatal(err)
	}
	for _, folder := range folders {
		if !folder.IsDir() || folder.Name() == "tmp" {
			continue
		}
		files, err := os.ReadDir(d.file + ".raw/" + folder.Name())
		if err != nil {
			d.Fatal(err)
		}
		n += len(files)
	}
	return n
}

// leanBatch is the first batch whose answer is kept without its items.
func (d *desk) leanBatch() string {
	d.Helper()
	all := d.column(d.db(), "SELECT batch_id FROM ing_lean_answer ORDER BY batch_id")
	if len(all) == 0 {
		d.Fatal("no answer is kept without its items")
	}
	return all[0]
}

// An answer whose items its batch stored is kept without them. It can be read, replayed and mapped anew as a whole
// one can, without the folder of answers, and no file is written for it.
func TestAnswersWithoutTheirItems(t *testing.T) {
	d, up, apply := longLetters(t)
	if n := d.keptFiles(); n != 5 {
		t.Errorf("%d answers are kept whole, and only those of the five searches have no records", n)
	}
	id := d.leanBatch()
	shown := d.expect(term.ExitOK, "batch", "show", id)
	d.holds(shown.out, "its items are stored with their records")
	var detail view.BatchDetail
	d.decode(d.expect(term.ExitOK, "batch", "show", id, "-o", "json").out, &detail)
	raw := d.writesNothing("batch", "raw", id)
	if !detail.RawLean || int64(len(raw.out)) != detail.AnswerBytes() || !strings.Contains(raw.out, "Letter 0 and 0") || detail.RawStored == 0 || detail.RawStored > 2000 {
		t.Errorf("%d bytes of %d, stored in %d", len(raw.out), detail.AnswerBytes(), detail.RawStored)
	}
	d.holds(d.expect(term.ExitOK, "batch", "replay", id).out, "identical")
	apply(", venue: $.venue")
	// Also by a process that keeps no answers itself.
	s := summaryOf(t, d.expect(0, "update", "lib", "--expr-changed", "--no-raw", "-o", "json"))
	if s.Stats.Refresh.Remapped != 60 || s.Stats.Requests != 0 || up.requests() != 0 {
		t.Errorf("%+v, %d requests", s.Stats, up.requests())
	}
	if again := d.expect(term.ExitOK, "batch", "raw", id); again.out != raw.out {
		t.Error("the answer differs after its records have newer versions")
	}
	d.expect(term.ExitOK, "db", "check")
	d.many("DELETE FROM ing_body_frame WHERE frame_id = (SELECT MIN(frame_id) FROM ing_body_frame)")
	const why = "one of these versions was removed"
	d.holds(d.expect(term.ExitOK, "batch", "show", id).out, "is not there any more", why)
	d.holds(d.expect(term.ExitNotFound, "batch", "raw", id).err, why)
	d.holds(d.expect(term.ExitNotFound, "batch", "replay", id).err, why)
}

// A damaged frame is healed from whole answers. Answers without their items cannot heal it, and the command says what would.
func TestHealingNeedsWholeAnswers(t *testing.T) {
	for _, whole := range []bool{true, false} {
		t.Run(fmt.Sprint("whole: ", whole), func(t *testing.T) {
			var flags []string
			if whole {
				flags = []string{"--raw-whole"}
			}
			d, _, _ := longLetters(t, flags...)
			id := "0"
			if !whole {
				id = d.leanBatch()
			}
			d.many("UPDATE ing_body_frame SET content = zeroblob(length(content)) WHERE frame_id = (SELECT MIN(frame_id) FROM ing_body_frame)")
			d.expect(term.ExitFindings, "db", "check")
			code, want := term.ExitFindings, integrity.Left
			if whole {
				code, want = term.ExitOK, integrity.Healed
			}
			var list struct{ Items []integrity.Treated }
			d.decode(d.expect(code, "db", "heal", "--reason", "a disk", "-o", "json").out, &list)
			if len(list.Items) != 1 || list.Items[0].Remedy != want || (list.Items[0].Not == "") != whole {
				t.Fatalf("%+v", list)
			}
			if whole {
				d.expect(term.ExitOK, "db", "check")
				return
			}
			d.holds(list.Items[0].Not, "kept without its items", "--raw-whole")
			d.holds(d.expect(term.ExitFailure, "batch", "raw", id).err, "damaged")
		})
	}
}
