package extract

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/patra-ingest/patra/internal/core/document"
	"github.com/patra-ingest/patra/internal/core/tmpl"
)

// readsKey reports whether the template reads the name of the member that an item is.
func (s Selector) readsKey() bool { return slices.Contains(s.Given(), tmpl.KeyName) }

// readsKey reports whether a template of an item reads the name of the member that the item is.
func (c Config) readsKey() bool { return slices.ContainsFunc(c.itemSelectors(), Selector.readsKey) }

// CheckKey says what is wrong with templates that read the name of the member an item is: items
// must be members, and a page is none.
func (c Config) CheckKey() (why, hint string) {
	switch {
	case slices.ContainsFunc(c.pageSelectors(), Selector.readsKey):
		return "${key} is of an item, and total, nextToken, nextUrl, hasMore and the rules of an answer are about a page", "read it there with jsonPath"
	case !c.readsKey():
		return "", ""
	case c.Format != "" && c.Format != document.FormatJSON:
		return "${key} is the name of a member of an object of JSON, and the format is " + string(c.Format), "read the id from the item"
	case c.Expand == nil && (c.Single || !c.Items.SelectsMembers()):
		return "${key} is the name of a member, and " + c.Items.String() + " does not select the members of an object", "name the object and all of its members: $.entities.*"
	case c.Table != nil:
		return "${key} is the name of a member, and a row of a table is a list", "read the id from a column"
	}
	return "", ""
}

// ofItem reports whether a name of Given is about the item itself, and so in every answer it comes in.
func ofItem(name string) bool {
	return name == tmpl.KeyName || strings.HasPrefix(name, tmpl.CarriedPrefix)
}

// appendCanonical appends what the hash of an item is made of: its canonical form, the name of
// the member that it is, where records are made of that, and what it carries of a whole.
func (r *Reader) appendCanonical(out []byte, item entry) ([]byte, error) {
	out, err := r.canonical.Append(out, item.JSON)
	if err == nil && r.hashesKey(item) {
		out, err = jsontext.AppendQuote(out, *item.Key)
	}
	if err == nil && len(item.carried) > 0 {
		out, err = appendMembers(out, item.carried)
	}
	return out, err
}

func (r *Reader) hashesKey(item entry) bool { return r.item.keyed && item.Key != nil }

// isHashedAlone reports whether the hash of an item is made of its canonical form and nothing else.
func (r *Reader) isHashedAlone(item entry) bool { return !r.hashesKey(item) && len(item.carried) == 0 }
