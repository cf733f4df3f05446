package cli

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/daemon"
)

// example is a command of a page and what it prints.
type example struct {
	args []string
	out  string
}

var argument = regexp.MustCompile(`"[^"]*"|\S+`)

// examples are the commands in console boxes of a page, in order.
func examples(t *testing.T, path string) (out []example) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	inside := false
	for line := range strings.Lines(string(text)) {
		switch {
		case strings.HasPrefix(line, "```"):
			inside = strings.HasPrefix(line, "```console")
		case !inside:
		case strings.HasPrefix(line, "$ patra "):
			var args []string
			for _, word := range argument.FindAllString(strings.TrimSpace(line[len("$ patra "):]), -1) {
				args = append(args, strings.Trim(word, `"`))
			}
			out = append(out, example{args: args})
		case len(out) > 0:
			out[len(out)-1].out += line
		}
	}
	return out
}

// The page shows what the program prints, wall-clock instants apart.
func TestBackfillPageIsTrue(t *testing.T) {
	h := newHistory(t)
	h.applied()
	clock := regexp.MustCompile(`20(2[6-9]|[3-9]\d)-\d\d-\d\dT\d\d:\d\d:\d\dZ`)
	tell := func(text string) string { return clock.ReplaceAllString(text, "<then>") }
	all := examples(t, "../../docs/backfill.md")
	if len(all) < 6 {
		t.Fatalf("only %d examples were found", len(all))
	}
	for _, e := range all {
		got := h.expect(term.ExitOK, append(e.args, "-q")...).out
		if want := tell(e.out); !strings.HasPrefix(tell(got), want) || want == "" {
			t.Errorf("patra %s prints\n%s\nthe page says\n%s", strings.Join(e.args, " "), tell(got), want)
		}
	}
}

// applied makes the desk's crossref that of the simulated upstream.
func (h *history) applied() {
	h.Helper()
	src, err := daemon.Bundled("crossref")
	if err != nil {
		h.Fatal(err)
	}
	src.HTTP.BaseURL, src.HTTP.AllowPrivate = h.server.URL(), true
	src.Rate.PerSecond, src.Rate.Burst, src.Rate.Concurrency = 1000, 10, 4
	app, err := daemon.Open(h.Context(), daemon.Config{Database: "sqlite:" + h.file})
	if err != nil {
		h.Fatal(err)
	}
	defer app.Close()
	if _, err := app.Definitions.Apply(h.Context(), src, registry.ApplyOptions{}); err != nil {
		h.Fatal(err)
	}
}
