package cli

import (
	"os"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/retention"
)

// Versions are read as before after they were moved into frames, and the command tells
// how much room that saved.
func TestDBCompact(t *testing.T) {
	d := revised(t)
	read := func(name string) string {
		t.Helper()
		d.expect(term.ExitOK, "data", "export", "lib", "--with-payload", "--out", name)
		text, err := os.ReadFile(name + "/records.jsonl")
		if err != nil {
			t.Fatal(err)
		}
		return string(text) + d.expect(term.ExitOK, "data", "get", "lib", "r004", "-o", "json").out
	}
	before := read("before")
	var done retention.Folded
	d.decode(d.expect(term.ExitOK, "db", "compact", "-o", "json").out, &done)
	if done.Versions != 62 || done.Frames != 1 || done.Before <= 2*done.After || !done.End {
		t.Errorf("%+v", done)
	}
	if after := read("after"); after != before {
		t.Error("what is exported or shown differs")
	}
	d.holds(d.expect(term.ExitOK, "db", "compact").out, "versions moved", "size before", "size after")
	d.expect(term.ExitOK, "db", "check")

	d.many("UPDATE ing_body_frame SET content = zeroblob(length(content))")
	d.holds(d.expect(term.ExitFindings, "db", "check").out, "BODY", "frame ", "does not fit its hash")
	d.holds(d.expect(term.ExitFailure, "data", "get", "lib", "r005").err, "frame ", "patra db check")
}
