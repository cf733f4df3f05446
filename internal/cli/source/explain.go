package source

import (
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/subject"
	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/engine/inspect"
)

func newSourceExplain(e *term.Env) *cobra.Command {
	var a subject.Selection
	c := &cobra.Command{
		Use:   "explain SRC[/ENDPOINT]|FILE [PATH]",
		Short: "Show every setting of a source and where it came from",
		Long: `Show every setting that holds for one operation of one endpoint, and where it came
from. The levels, each winning over the one before it: platform (defaults of this
program), provenance (top of the file), endpoint (its request and auth), section
(its other sections), operation, override (--set). PATH shows only what stands
below it. The section findings comes from patra.yaml: the limits beyond which
something is a finding, for all sources of this machine.

The fingerprint names the whole configuration; the prototype names what is asked
for: another prototype is another watermark.`,
		Example: `  patra source explain crossref
  patra source explain crossref/works --op HARVEST
  patra source explain crossref window --op BACKFILL
  patra source explain crossref --set rate.perSecond=1 -o json`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, chosen := args[0], a
			if code, endpoint, found := strings.Cut(name, "/"); found && !strings.ContainsRune(name, '.') {
				if a.Endpoint != "" && a.Endpoint != endpoint {
					return term.Usagef("%s and --endpoint %s name two endpoints", name, a.Endpoint)
				}
				name, chosen.Endpoint = code, endpoint
			}
			s, err := subject.Find(cmd.Context(), e, name)
			if err != nil {
				return err
			}
			at, err := chosen.Compile(s)
			if err != nil {
				return err
			}
			return showExplained(e, at, strings.Join(args[1:], ""))
		},
	}
	a.Flags(c)
	return c
}

func showExplained(e *term.Env, a subject.Selected, below string) error {
	c, err := inspect.NewSettings(a.Parsed, a.Origin, a.Resolved, a.Compiled)
	if err != nil {
		return err
	}
	c.Settings = inspect.AddLimits(c.Settings, inspect.Limits(e.Installed.Findings, e.Installed.File))
	if c.Settings = settingsBelow(c.Settings, below); len(c.Settings) == 0 {
		return term.NotFoundf("nothing is set at %q: name a section such as window, or a key such as window.size", below)
	}
	if e.Output == "json" {
		return e.JSON(c)
	}
	width := valueWidth(c.Settings)
	err = term.PrintList(e, c.Settings, term.NewColumns([]string{"path", "value", "from"}, func(s view.Setting) []any {
		return []any{wording.Shorten(s.Path, pathWidth), wording.Shorten(s.Value, width), s.Origin}
	}))
	e.Hint("%s, fingerprint %s", a, c.Fingerprint)
	e.Hint("asks for %s, prototype %s", everythingOr(c.Expression), c.Prototype)
	subject.Warn(e, c.Warnings)
	return err
}

// settingsBelow keeps a section, a key or everything.
func settingsBelow(all []view.Setting, path string) (out []view.Setting) {
	for _, s := range all {
		if rest, ok := strings.CutPrefix(s.Path, path); ok && (path == "" || rest == "" || rest[0] == '.' || rest[0] == '[') {
			out = append(out, s)
		}
	}
	return out
}

// Widths of the table: what a terminal of 120 columns leaves to values.
const (
	tableWidth = 120
	pathWidth  = 50
	leastValue = 14
)

func valueWidth(all []view.Setting) int {
	path, origin := 0, 0
	for _, s := range all {
		path, origin = max(path, min(utf8.RuneCountInString(s.Path), pathWidth)), max(origin, utf8.RuneCountInString(s.Origin))
	}
	return max(leastValue, tableWidth-path-origin-4)
}

func everythingOr(expression string) string {
	if expression == "" {
		return "everything"
	}
	return expression
}
