package document

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/theory/jsonpath"
	"github.com/theory/jsonpath/spec"
)

// maxPathBytes bounds what the recursive path parser is given.
const maxPathBytes = 1024

// Path is a parsed RFC 9535 path. The zero Path selects nothing and stands for
// "not configured".
type Path struct {
	parsed *parsedPath
}

type parsedPath struct {
	text     string
	query    *spec.PathQuery
	singular bool
}

// PathError says where a path text is wrong. Position counts bytes from 1.
type PathError struct {
	Text     string
	Position int
	Reason   string
}

func (e *PathError) Error() string {
	return fmt.Sprintf("path %q is wrong at position %d: %s", e.Text, e.Position, e.Reason)
}

// ParsePath parses an RFC 9535 path; "$" is the root. Paths whose cost on a
// hostile body is not linear are refused here, so that they fail when the
// configuration is loaded and not on a page.
func ParsePath(text string) (Path, error) {
	if len(text) > maxPathBytes {
		return Path{}, &PathError{text[:64] + "…", maxPathBytes + 1, fmt.Sprintf("longer than %d bytes", maxPathBytes)}
	}
	// The parser would turn a broken byte into U+FFFD and match other names.
	if !utf8.ValidString(text) {
		return Path{}, &PathError{text, firstInvalid(text) + 1, "not valid UTF-8"}
	}
	if !strings.HasPrefix(text, "$") && strings.TrimSpace(text) != "" {
		return Path{}, &PathError{text, 1, "a path begins with $, such as $.items"}
	}
	parsed, err := jsonpath.Parse(text)
	if err != nil {
		return Path{}, newPathError(text, err)
	}
	query := parsed.Query()
	if query.Singular() == nil {
		if err := refuseCostly(text); err != nil {
			return Path{}, err
		}
		if query, err = parseQuery(text); err != nil {
			return Path{}, newPathError(text, err)
		}
	}
	return Path{&parsedPath{text: text, query: query, singular: query.Singular() != nil}}, nil
}

// String returns the path as it was written, or "" for the zero Path.
func (p Path) String() string {
	if p.parsed == nil {
		return ""
	}
	return p.parsed.text
}

// Singular reports whether the path can select at most one value.
func (p Path) Singular() bool { return p.parsed != nil && p.parsed.singular }

// IsZero reports whether the path was never parsed.
func (p Path) IsZero() bool { return p.parsed == nil }

// MarshalText returns the path as it was written.
func (p Path) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText parses text. Empty text is an error: a path that is not wanted
// must be left out, not left blank.
func (p *Path) UnmarshalText(text []byte) error {
	parsed, err := ParsePath(string(text))
	if err != nil {
		return err
	}
	*p = parsed
	return nil
}

// SelectsMembers reports whether the path ends in a wildcard or a filter, so that what it selects in an
// object are members whose names it does not say.
func (p Path) SelectsMembers() bool {
	segments := p.listSegments()
	if len(segments) == 0 || segments[len(segments)-1].IsDescendant() {
		return false
	}
	for _, selector := range segments[len(segments)-1].Selectors() {
		switch selector.(type) {
		case spec.WildcardSelector, *spec.FilterSelector:
		default:
			return false
		}
	}
	return true
}

func (p Path) listSegments() []*spec.Segment { return p.parsed.query.Segments() }

// newPathError takes the position out of the parser's message, the only place
// where the parser gives it.
func newPathError(text string, err error) *PathError {
	reason := strings.TrimPrefix(err.Error(), jsonpath.ErrPathParse.Error()+": ")
	position := len(text) + 1
	if cut := strings.LastIndex(reason, " at position "); cut >= 0 {
		if n, convErr := strconv.Atoi(reason[cut+len(" at position "):]); convErr == nil {
			reason, position = reason[:cut], n
		}
	}
	return &PathError{Text: text, Position: position, Reason: reason}
}

func firstInvalid(text string) int {
	for i, r := range text {
		if r == utf8.RuneError && !strings.HasPrefix(text[i:], "\uFFFD") {
			return i
		}
	}
	return 0
}
