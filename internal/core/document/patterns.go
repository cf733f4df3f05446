package document

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"sync"

	"github.com/theory/jsonpath"
	"github.com/theory/jsonpath/registry"
	"github.com/theory/jsonpath/spec"
)

// Bounds of a regular expression in a filter: RE2 is linear, and these bound the
// factor (A19).
const (
	maxPatternBytes = 200
	maxPatternSteps = 1000
)

// ours are the functions that take the place of match and search. Those of the
// library fail on a member that is not there, and take a pattern that does not
// compile for one that never fits: every page would lose items without a word.
var ours = map[string]string{"match(": "matches(", "search(": "searches("}

// parseQuery parses a path that the library's own parser has found right.
func parseQuery(text string) (*spec.PathQuery, error) {
	functions := registry.New()
	for name, whole := range map[string]bool{"matches": true, "searches": false} {
		patterns := &patternSet{whole: whole}
		if err := functions.Register(name, spec.FuncLogical, patterns.checkPattern, patterns.matchPattern); err != nil {
			return nil, err
		}
	}
	parsed, err := jsonpath.NewParser(jsonpath.WithRegistry(functions)).Parse(withOurs(text))
	if err != nil {
		return nil, errors.New(strings.NewReplacer("matches()", "match()", "searches()", "search()").Replace(err.Error()))
	}
	return parsed.Query(), nil
}

// withOurs renames the calls, and nothing that stands in quotes.
func withOurs(text string) string {
	bare := blankLiterals(text)
	for name, own := range ours {
		for at := strings.LastIndex(bare, name); at >= 0; at = strings.LastIndex(bare[:at], name) {
			text, bare = text[:at]+own+text[at+len(name):], bare[:at]+own+bare[at+len(name):]
		}
	}
	return text
}

// patternSet holds the patterns of one path, compiled once.
type patternSet struct {
	whole    bool // the pattern must fit the whole text
	compiled sync.Map
}

func (p *patternSet) checkPattern(args []spec.FuncExprArg) error {
	if len(args) != 2 {
		return fmt.Errorf("expected 2 arguments but found %d", len(args))
	}
	literal, ok := args[1].(*spec.LiteralArg)
	if !ok {
		return errors.New("the pattern must be a text in quotes: one that comes from the page could be anything")
	}
	pattern, ok := literal.Value().(string)
	if !ok {
		return errors.New("the pattern must be a text in quotes")
	}
	fitting, err := compilePattern(pattern, p.whole)
	if err != nil {
		return err
	}
	p.compiled.Store(pattern, fitting)
	return nil
}

// matchPattern returns false for a value that is not text, as the standard says.
func (p *patternSet) matchPattern(args []spec.PathValue) spec.PathValue {
	text, ok := textArgument(args[0])
	pattern, known := textArgument(args[1])
	fitting, found := p.compiled.Load(pattern)
	return spec.Logical(ok && known && found && fitting.(*regexp.Regexp).MatchString(text))
}

func textArgument(arg spec.PathValue) (string, bool) {
	value := spec.ValueFrom(arg)
	if value == nil {
		return "", false
	}
	text, ok := value.Value().(string)
	return text, ok
}

func compilePattern(pattern string, whole bool) (*regexp.Regexp, error) {
	if len(pattern) > maxPatternBytes {
		return nil, fmt.Errorf("the pattern is longer than %d bytes", maxPatternBytes)
	}
	if whole {
		pattern = `\A(?:` + pattern + `)\z`
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl|syntax.DotNL)
	if err != nil {
		return nil, fmt.Errorf("the pattern does not compile: %w", err)
	}
	withoutBreaks(parsed)
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, fmt.Errorf("the pattern does not compile: %w", err)
	}
	if len(program.Inst) > maxPatternSteps {
		return nil, errors.New("the pattern is too costly: use smaller repeat counts")
	}
	return regexp.Compile(parsed.String())
}

// withoutBreaks makes a dot stand for no line break (RFC 9485).
func withoutBreaks(r *syntax.Regexp) {
	if r.Op == syntax.OpAnyChar {
		r.Op, r.Rune = syntax.OpCharClass, []rune{0, '\n' - 1, '\n' + 1, '\r' - 1, '\r' + 1, 0x10ffff}
		return
	}
	for _, sub := range r.Sub {
		withoutBreaks(sub)
	}
}
