package cli

import (
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/spec"
)

// setting is one merged value and where it came from.
type setting struct {
	Path  string `json:"path"`
	Value string `json:"value"`
	From  string `json:"from"`         // the level alone
	At    string `json:"at,omitempty"` // file and line, or table and column

	origin string // both, for people
}

// configuration is what holds for one operation of one endpoint.
type configuration struct {
	Source      string         `json:"source"`
	Name        string         `json:"name"`
	Origin      string         `json:"origin"`
	Endpoint    string         `json:"endpoint"`
	Operation   string         `json:"operation"`
	Fingerprint string         `json:"specFingerprint"`
	Expression  string         `json:"expression"`
	Selection   string         `json:"selectionHash"`
	Prototype   string         `json:"exprProtoHash"`
	MappingHash string         `json:"mappingHash"`
	Warnings    []spec.Warning `json:"warnings"`
	Settings    []setting      `json:"settings"`
}

func newSourceExplain(e *env) *cobra.Command {
	var a aim
	c := &cobra.Command{
		Use:   "explain SRC[/ENDPOINT]|FILE [PATH]",
		Short: "Show every setting of a source and where it came from",
		Long: `Show every setting that holds for one operation of one endpoint, and where it came
from. The levels, each winning over the one before it: platform (defaults of this
program), provenance (top of the file), endpoint (its request and auth), section
(its other sections), operation, override (--set). PATH shows only what stands
below it.

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
				if a.endpoint != "" && a.endpoint != endpoint {
					return usagef("%s and --endpoint %s name two endpoints", name, a.endpoint)
				}
				name, chosen.endpoint = code, endpoint
			}
			s, err := e.subject(cmd.Context(), name)
			if err != nil {
				return err
			}
			at, err := chosen.at(s)
			if err != nil {
				return err
			}
			return e.explain(at, strings.Join(args[1:], ""))
		},
	}
	a.flags(c)
	return c
}

func (e *env) explain(a aimed, below string) error {
	c, err := configurationOf(a)
	if err != nil {
		return err
	}
	if c.Settings = settingsBelow(c.Settings, below); len(c.Settings) == 0 {
		return notFound("nothing is set at %q: name a section such as window, or a key such as window.size", below)
	}
	if e.output == "json" {
		return e.json(c)
	}
	width := valueWidth(c.Settings)
	err = list(e, c.Settings, newColumns([]string{"path", "value", "from"}, func(s setting) []any {
		return []any{short(s.Path, pathWidth), short(s.Value, width), s.origin}
	}))
	e.hint("%s, fingerprint %s", a, c.Fingerprint)
	e.hint("asks for %s, prototype %s", everythingOr(c.Expression), c.Prototype)
	e.warn(c.Warnings)
	return err
}

func configurationOf(a aimed) (configuration, error) {
	r, compiled := a.resolved, a.compiled
	prototype, err := compiled.Prototype.Hash()
	c := configuration{
		Source: r.Source, Name: a.src.Name, Origin: a.origin, Endpoint: r.Endpoint, Operation: r.Operation,
		Fingerprint: compiled.Fingerprint, Expression: compiled.Prototype.Where.String(), Selection: compiled.Prototype.Selection,
		Prototype: prototype, MappingHash: compiled.MappingHash, Warnings: append([]spec.Warning{}, compiled.Warnings...),
	}
	for _, x := range r.Explain() {
		c.Settings = append(c.Settings, settingOf(x))
	}
	return c, err
}

func settingOf(x registry.Explained) setting {
	place := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(x.Origin, x.Level), " ("), ")")
	return setting{Path: x.Path, Value: x.Value, From: x.Level, At: place, origin: x.Origin}
}

// settingsBelow keeps a section, a key or everything.
func settingsBelow(all []setting, path string) (out []setting) {
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

func valueWidth(all []setting) int {
	path, origin := 0, 0
	for _, s := range all {
		path, origin = max(path, min(utf8.RuneCountInString(s.Path), pathWidth)), max(origin, utf8.RuneCountInString(s.origin))
	}
	return max(leastValue, tableWidth-path-origin-4)
}

func everythingOr(expression string) string {
	if expression == "" {
		return "everything"
	}
	return expression
}
