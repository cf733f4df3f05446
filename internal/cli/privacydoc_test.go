package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/audit"
	"github.com/patra-ingest/patra/internal/core/privacy"
)

// The page shows marks as they are made, commands that work, and what they print.
func TestPrivacyPageIsTrue(t *testing.T) {
	const path = "../../docs/privacy.md"
	marks := 0
	for line := range strings.Lines(boxes(t, path, "text")[0]) {
		from, to, is := strings.Cut(strings.TrimSpace(line), " → ")
		if !is {
			continue
		}
		marks++
		if got := privacy.Mask(from); got != to {
			t.Errorf("%s becomes %s, the page says %s", from, got, to)
		}
	}
	all, scripts := examples(t, path), boxes(t, path, "sh")
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	d := harvested(t)
	t.Chdir(d.dir)
	t.Setenv("PATRA_ADDRESS", "sqlite:"+d.file)
	d.write("address.txt", "sqlite:"+d.file+"\n")
	d.expect(term.ExitOK, "source", "pause", "crossref", "--actor", "root", "--reason", "they asked us to")
	d.expect(term.ExitOK, "source", "resume", "crossref", "--actor", "root", "--reason", "they thanked")
	for _, e := range all {
		if got := d.expect(term.ExitOK, append(e.args, "-q")...).out; !shows(e.out, got) {
			t.Errorf("patra %s prints\n%s\nthe page says\n%s", strings.Join(e.args, " "), got, e.out)
		}
	}
	commands := 0
	for line := range strings.Lines(strings.Join(scripts, "\n")) {
		args := strings.Fields(line)
		if len(args) == 0 || args[0] != "patra" {
			continue
		}
		commands++
		if got := d.run(append(args[1:], "-q")...); got.code != term.ExitOK && got.code != term.ExitFindings {
			t.Errorf("%s: exit %d: %s", line, got.code, got.err)
		}
	}
	if marks < 7 || len(all) < 2 || commands < 4 {
		t.Errorf("%d marks, %d examples, %d commands", marks, len(all), commands)
	}
	for _, p := range []audit.Problem{audit.Edited, audit.Missing, audit.Lost} {
		if !strings.Contains(string(page), "| `"+string(p)+"` |") {
			t.Errorf("the page does not tell what %s is", p)
		}
	}
}
