package extract

import (
	"slices"

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
	case c.Single || !c.Items.SelectsMembers():
		return "${key} is the name of a member, and " + c.Items.String() + " does not select the members of an object", "name the object and all of its members: $.entities.*"
	}
	return "", ""
}

// appendCanonical appends what the hash of an item is made of: its canonical form, and the name of
// the member that it is, where records are made of that.
func (r *Reader) appendCanonical(out []byte, item document.Item) ([]byte, error) {
	out, err := r.canonical.Append(out, item.JSON)
	if err != nil || !r.item.keyed || item.Key == nil {
		return out, err
	}
	return jsontext.AppendQuote(out, *item.Key)
}
