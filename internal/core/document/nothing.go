package document

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/theory/jsonpath/spec"
)

// A page without items is an empty page only if the place of the items is there
// and shows that nothing is in it. Otherwise items may have been there under
// another name, and taking that for the end of a list would leave a hole (D§5.15).

// settleXML decides what no items in a document of XML means.
func (r *Reader) settleXML(page *Page, parent Value) {
	if len(page.Items) == 0 {
		page.Lacks = r.lacksXML(parent)
		page.HasItems = page.Lacks == "" && parent.Present()
	}
}

// lacksXML returns why an element without items in it is not an empty list: it
// must be there, and may have attributes, but nothing that the items path does not
// name. Items that a filter left out are named by it.
func (r *Reader) lacksXML(parent Value) string {
	switch parent.Kind() {
	case Absent:
		return ""
	case String:
		if string(parent.raw) == `""` {
			return ""
		}
		return "text where items should be"
	case Object:
	default:
		return "several elements where one should hold the items"
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(parent.raw, &members); err != nil {
		return "an element that cannot be read where items should be"
	}
	var others []string
	for name, value := range members {
		switch {
		case name == textMember && string(value) != `""`:
			return "text where items should be"
		case name == textMember, strings.HasPrefix(name, "@"), slices.Contains(r.itemNames, name):
		default:
			others = append(others, name)
		}
	}
	if len(others) == 0 {
		return ""
	}
	slices.Sort(others)
	return fmt.Sprintf("no items, but other elements in their place (%s)", shortenText(strings.Join(others, ", ")))
}

// namesOf returns the names of the elements that the items path looks for in a
// parent, and of which none may be an item. Where it goes deeper and then asks for
// a name, elements without that name are as good as others.
func namesOf(items Path, parent int) (out []string) {
	segments := items.listSegments()
	left := len(segments) - parent
	if left < 1 || left > 1 && namesOnly(segments[len(segments)-1]) {
		return nil
	}
	for _, selector := range segments[parent].Selectors() {
		if name, ok := selector.(spec.Name); ok {
			out = append(out, string(name))
		}
	}
	return out
}

// lacksJSON returns why a value in which an items path found nothing is not an
// empty list. A filter may leave everything out, and so may a wildcard at the end
// whose lists are all empty; but a name that is nowhere may have been another
// name.
func (q *itemQuery) lacksJSON(raw []byte) string {
	if q.filters || !q.named || strings.TrimSpace(string(raw[1:len(raw)-1])) == "" {
		return ""
	}
	return "nothing of what the items path names"
}

// numbered are the columns that rows without a header have.
var numbered = regexp.MustCompile(`^c[1-9][0-9]*$`)

// lacksColumn returns why a header without rows is not an empty list.
func (rs *rows) lacksColumn(header []string) string {
	for _, name := range rs.reader.columns {
		if !slices.Contains(header, name) && (!rs.reader.csv.NoHeader || numbered.MatchString(name)) {
			return fmt.Sprintf("no column %q", name)
		}
	}
	return ""
}

// columnsOf returns the columns that item paths name.
func columnsOf(paths []Path) (out []string) {
	for _, path := range paths {
		segments := path.listSegments()
		if len(segments) == 0 || !isName(segments[0]) {
			continue
		}
		if name := string(segments[0].Selectors()[0].(spec.Name)); !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}
