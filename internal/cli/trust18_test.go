package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/source"
	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/cli/work"
)

func readDoc(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{"..", ".."}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The README shows what validate says about three slips in the skeleton, with its
// lines.
func TestTrust18ReadmeShowsWhatValidateSays(t *testing.T) {
	readme := readDoc(t, "README.md")
	d := newDesk(t)
	t.Chdir(d.dir)
	_, box, found := strings.Cut(readme, "$ patra source validate mine.yaml\n")
	box, _, ended := strings.Cut(box, "```")
	if !found || !ended {
		t.Fatal("the README shows no validate")
	}
	text := d.changed(source.SkeletonLike("", "mine", "mine.yaml"), "precision: DAY", "precision: WEEK")
	text = d.changed(d.changed(text, "type: TOKEN\n", "type: TOKE\n"), "nextToken: ", "nextTokn: ")
	d.write("mine.yaml", text)
	if got := d.expect(term.ExitUsage, "source", "validate", "mine.yaml").err; got != box {
		t.Errorf("validate says\n%sthe README\n%s", got, box)
	}
}

// What somebody finds in a task, a wait or the status at night is explained.
func TestTrust18TheListForTheNight(t *testing.T) {
	_, list, _ := strings.Cut(readDoc(t, "docs", "operations.md"), "## At 3 a.m.")
	list, _, _ = strings.Cut(list, "\n## ")
	for _, code := range []string{"REFUSED", "NETWORK", "SCHEMA_CHANGE", "QUOTA", "LATE_ARRIVALS", "FAILING", "UNAUTHORIZED", "BAD_BODY", "SHORT_COUNT", "BUDGET", "RENDER", "STORE_FULL", "STORE_BUSY"} {
		_, about, found := strings.Cut(list, "- **"+code)
		if !found {
			_, about, found = strings.Cut(list, code)
		}
		about, _, _ = strings.Cut(about, "\n- **")
		if !found || len(about) < 100 {
			t.Errorf("%s is not explained: %q", code, about)
		}
	}
}

// What the pages say of stopping is what the help of serve says, which its own test
// holds.
func TestTrust18StoppingServe(t *testing.T) {
	help := work.NewServe(&term.Env{}).Long
	page := readDoc(t, "docs", "operations.md")
	if !strings.Contains(help, "SIGTERM stops it in an orderly way with exit code 0, Ctrl-C with 130") {
		t.Errorf("the help of serve: %s", help)
	}
	if !strings.Contains(page, "SIGTERM ends it in order with exit code 0") || strings.Contains(page, "SuccessExitStatus") {
		t.Error("the page about operations says otherwise")
	}
}

func TestTrust18VariablesHaveTheirSection(t *testing.T) {
	_, section, _ := strings.Cut(readDoc(t, "docs", "registry.md"), "\n## Variables of templates\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for _, name := range []string{"filter.from", "window.to", "page.token", "page.offset", "ids", "contact.email", "quoted", "items"} {
		if !strings.Contains(section, "${"+name+"}") {
			t.Errorf("%s is not listed", name)
		}
	}
}
