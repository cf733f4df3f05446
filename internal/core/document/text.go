package document

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"unicode/utf8"
)

// Text says what the lines of a text are: an index page of a web server, or a list of
// checksums.
type Text struct {
	Line string // regular expression with named groups; a line that it finds is an item, each group a value of it
	Skip string // regular expression; a line that it finds is none, and its named groups are values of every item below it
	Last string // regular expression that finds the last line, where the text shows its end
}

// textLines are the compiled expressions.
type textLines struct {
	line, skip, last *regexp.Regexp
	names            []string // of the groups, as JSON text with the colon; empty for groups without a name
	above            []string // likewise of skip
}

func (t Text) compile() (*textLines, error) {
	out := &textLines{}
	for _, e := range []struct {
		name, text string
		to         **regexp.Regexp
	}{{"line", t.Line, &out.line}, {"skip", t.Skip, &out.skip}, {"last", t.Last, &out.last}} {
		if e.text == "" {
			continue
		}
		var err error
		if *e.to, err = regexp.Compile(e.text); err != nil {
			return nil, fmt.Errorf("%s: %w", e.name, err)
		}
	}
	if out.line == nil {
		return nil, errors.New("line: TEXT needs a regular expression that finds the lines of items")
	}
	named := 0
	for _, name := range out.line.SubexpNames() {
		if name != "" {
			name, named = string(appendQuoted(nil, name))+":", named+1
		}
		out.names = append(out.names, name)
	}
	if named == 0 {
		return nil, errors.New("line: has no named group such as (?P<name>…), so an item would have no values")
	}
	if out.skip == nil {
		return out, nil
	}
	for _, name := range out.skip.SubexpNames() {
		if name != "" && out.line.SubexpIndex(name) >= 0 {
			return nil, fmt.Errorf("skip: the group %s is also a group of line", name)
		}
		if name != "" {
			name = string(appendQuoted(nil, name)) + ":"
		}
		out.above = append(out.above, name)
	}
	return out, nil
}

// noteAbove keeps what a line says of the items below it, such as the folder that an index page is of.
func (t *textLines) noteAbove(values map[string]string, line []byte) bool {
	if t.skip == nil {
		return false
	}
	found := t.skip.FindSubmatchIndex(line)
	for i, name := range t.above {
		if name != "" && found != nil && found[2*i] >= 0 && utf8.Valid(line) {
			values[name] = string(line[found[2*i]:found[2*i+1]])
		}
	}
	return found != nil
}

// readText takes each line for an item or for none. One that is neither is a bad item: whatever
// the page has that its source file does not know must not be left out quietly.
func (r *Reader) readText(body []byte, lim Limits) (*Page, error) {
	text := bytes.TrimPrefix(body, []byte(utf8Mark))
	base := int64(len(body) - len(text))
	doc := converted{text: []byte{'['}}
	last, above := -1, map[string]string{}
	for at := 0; at < len(text); {
		line, _, _ := bytes.Cut(text[at:], []byte{'\n'})
		start := at
		at += len(line) + 1
		if line = bytes.TrimRight(line, lineSpace); len(bytes.TrimLeft(line, lineSpace)) == 0 {
			continue
		}
		last = start
		found := r.text.line.FindSubmatchIndex(line)
		if found == nil && r.text.noteAbove(above, line) {
			continue
		}
		if len(doc.places) == lim.MaxItems {
			return nil, tooManyItems(int(base)+start, lim)
		}
		doc.text = appendComma(doc.text, len(doc.places))
		p := position{json: len(doc.text), start: start, end: start + len(line)}
		if reason := r.text.writeLine(&doc, line, found, above); reason != "" {
			p.bad = &ItemError{base + int64(start), shortenText(reason)}
		}
		doc.places = append(doc.places, p)
	}
	if r.text.last != nil && (last < 0 || !r.text.last.Match(text[last:])) {
		return nil, &SyntaxError{base + int64(len(text)), "the last line is not the one that ends the text (response.last): the text is cut, or this is another page"}
	}
	doc.text = append(doc.text, ']')
	page, bad := r.readConverted(doc, text, base, lim)
	if bad != nil {
		return nil, bad
	}
	if len(page.Items) == 0 {
		page.HasItems, page.Lacks = false, "no line that response.line finds"
	}
	return page, nil
}

// writeLine writes the groups of a line; the reason is why it is a bad one.
func (t *textLines) writeLine(doc *converted, line []byte, found []int, above map[string]string) (reason string) {
	switch {
	case found == nil:
		doc.text = append(doc.text, "null"...)
		return "the line is neither an item (response.line) nor one that is left out (response.skip)"
	case !utf8.Valid(line):
		doc.text = append(doc.text, "null"...)
		return "not valid UTF-8"
	}
	doc.text = append(doc.text, '{')
	written := 0
	for i, name := range t.names {
		if name == "" || found[2*i] < 0 {
			continue
		}
		doc.text = append(appendComma(doc.text, written), name...)
		doc.text = appendQuoted(doc.text, string(line[found[2*i]:found[2*i+1]]))
		written++
	}
	for _, name := range t.above {
		if value, ok := above[name]; ok {
			doc.text = appendQuoted(append(appendComma(doc.text, written), name...), value)
			written++
		}
	}
	doc.text = append(doc.text, '}')
	return ""
}
