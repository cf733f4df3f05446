package cli

import (
	"os"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/integrity"
)

// A damaged frame is healed from the answers that are kept, and reads as before; without
// them it stays as it is, and the command says so.
func TestDBHeal(t *testing.T) {
	d := revised(t)
	d.expect(term.ExitOK, "db", "compact")
	read := func(name string) string {
		t.Helper()
		d.expect(term.ExitOK, "data", "export", "lib", "--with-payload", "--out", name)
		text, err := os.ReadFile(name + "/records.jsonl")
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	before := read("before")
	heal := func(code int, args ...string) (done integrity.Treatment) {
		t.Helper()
		var list struct{ Items []integrity.Treated }
		d.decode(d.expect(code, append([]string{"db", "heal", "-o", "json"}, args...)...).out, &list)
		done.Frames = list.Items
		return done
	}
	if done := heal(term.ExitOK); len(done.Frames) != 0 {
		t.Errorf("a whole database: %+v", done)
	}
	d.many("UPDATE ing_body_frame SET content = zeroblob(length(content))")
	if done := heal(term.ExitOK, "--dry-run"); len(done.Frames) != 1 || done.Frames[0].Remedy != integrity.Healed {
		t.Errorf("it would %+v", done)
	}
	d.expect(term.ExitFindings, "db", "check")
	if done := heal(term.ExitOK, "--reason", "a disk"); len(done.Frames) != 1 || done.Frames[0].Remedy != integrity.Healed || done.Frames[0].Versions != 62 {
		t.Errorf("it did %+v", done)
	}
	d.expect(term.ExitOK, "db", "check")
	if read("after") != before {
		t.Error("what is exported differs")
	}
	d.holds(d.expect(term.ExitOK, "audit", "list").out, "db.heal", "a disk")

	d.many("UPDATE ing_body_frame SET content = zeroblob(length(content))")
	d.many("UPDATE ing_batch_evidence SET blob_ref = NULL")
	if done := heal(term.ExitFindings); done.Frames[0].Remedy != integrity.Left || done.Frames[0].Not == "" || done.Frames[0].Current == 0 {
		t.Errorf("without answers: %+v", done)
	}
	if done := heal(term.ExitFindings, "--ask-again", "--reason", "no copy"); done.Frames[0].Remedy != integrity.AskAgain || done.Frames[0].Sources[0] != "lib" {
		t.Errorf("to be asked again: %+v", done)
	}
}
