package extract

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/patra-ingest/patra/internal/core/document"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/tmpl"
)

// Expand says where the records of an item stand in it.
type Expand struct {
	Path     document.Path       `json:"path" required:"true" doc:"the records of an item: names and [*], the last step [*], such as $.menus[*].routes[*]; every other path of a record then starts at one of them"`
	Carry    map[string]Selector `json:"carry,omitempty" doc:"what a record takes along of its item, a path or a template: ivr: $.id is ${carried('ivr')} in templates of the record"`
	Optional bool                `json:"optional,omitempty" doc:"an item in which a name of the path is missing has no records; otherwise it is quarantined, because the name may have changed"`
}

// parts finds the records of an item.
type parts struct {
	split    *document.Splitter
	carry    []carried
	optional bool
}

// carried is a value that records take along of their item.
type carried struct {
	name string
	valueSlot
}

// reshapes reports whether records are made of items in another way than one of each, as it stands.
func (c Config) reshapes() bool { return c.Expand != nil || c.Table != nil }

// carriedNames lists what a template reads of what parts carry.
func (s Selector) carriedNames() (names []string) {
	for _, name := range s.Given() {
		if carried, is := strings.CutPrefix(name, tmpl.CarriedPrefix); is {
			names = append(names, carried)
		}
	}
	return names
}

// CheckExpand says what is wrong with how records are made of parts of items.
func (c Config) CheckExpand() (why, hint string) {
	for _, s := range c.pageSelectors() {
		if len(s.carriedNames()) > 0 {
			return "carried() is of a record, and total, nextToken, nextUrl, hasMore and the rules of an answer are about a page", "read it there with jsonPath"
		}
	}
	for _, s := range c.itemSelectors() {
		for _, name := range s.carriedNames() {
			if c.Expand == nil {
				return fmt.Sprintf("carried('%s') reads what parts of an item carry, and items are not taken apart", name), "declare response.expand, or read the item with jsonPath"
			}
			if _, known := c.Expand.Carry[name]; !known {
				return fmt.Sprintf("carried('%s') is not among response.expand.carry", name), "add it there, with its path from the item"
			}
		}
	}
	if c.Expand == nil {
		return "", ""
	}
	if c.Table != nil {
		return "rows of a table hold values, and expand looks for records in them", "keep one of table and expand"
	}
	if c.Format == document.FormatCSV || c.Format == document.FormatText {
		return "items of " + string(c.Format) + " are texts side by side and have no parts", "drop expand"
	}
	if c.Expand.Path.IsZero() {
		return "does not name the path of the records in an item", "write it as in expand: {path: \"$.routes[*]\"}"
	}
	if _, err := document.NewSplitter(c.Expand.Path); err != nil {
		return err.Error(), "where parts have to be left out use response.where, which counts them"
	}
	for _, name := range slices.Sorted(maps.Keys(c.Expand.Carry)) {
		s := c.Expand.Carry[name]
		if !s.Singular() {
			return fmt.Sprintf("carry %s: %s may select several values", name, s), "write the way from the item to the one value, or choose one by a template"
		}
		for _, given := range s.Given() {
			if given != tmpl.KeyName {
				return fmt.Sprintf("carry %s: %s is not of the item", name, given), "templates of the record may read it themselves"
			}
		}
	}
	return "", ""
}

// newParts prepares how items are taken apart; nil if they are not. Carried values are read into
// slots of the item.
func newParts(c Config, item *slots) (*parts, error) {
	if c.Expand == nil {
		return nil, nil
	}
	split, err := document.NewSplitter(c.Expand.Path)
	if err != nil {
		return nil, fmt.Errorf("response.expand: %w", err)
	}
	p := &parts{split: split, optional: c.Expand.Optional}
	for _, name := range slices.Sorted(maps.Keys(c.Expand.Carry)) {
		p.carry = append(p.carry, carried{name, item.addSelector(c.Expand.Carry[name])})
	}
	return p, nil
}

// takeParts reads the records of an item. The item is all of them or none: where one step of the path
// is not in it, or something that is carried cannot be read, it is one reject.
func (x *taking) takeParts(item document.Item) error {
	given := *x.given
	given.Key = item.Key
	along, refused := x.carryAlong(facts{item.Values, &given})
	var found []document.Item
	if refused == nil {
		found, refused = x.splitItem(item)
	}
	if refused != nil {
		x.takeEntry(x.entryOf(x.given, item, nil), refused)
		x.page.Places = append(x.page.Places, x.page.Keys[len(x.page.Keys)-1])
		return nil
	}
	if x.taken += len(found); x.taken > document.DefaultMaxItems {
		return fmt.Errorf("more than %d parts in the items of one answer", document.DefaultMaxItems)
	}
	x.taken -= len(found)
	var place strings.Builder
	for _, part := range found {
		if x.config.SkipNull && isNullItem(part) {
			continue
		}
		x.takeEntry(x.entryOf(x.given, part, along), nil)
		key := x.page.Keys[len(x.page.Keys)-1]
		place.Write(key[:])
	}
	if place.Len() == 0 { // it came, and nothing of it is a record
		x.page.Seen++
		x.page.Excluded++
		x.taken++
		place.Write(item.Raw)
	}
	x.page.Places = append(x.page.Places, record.KeyOf(place.String()))
	return nil
}

// carryAlong reads what the records of an item take along.
func (x *taking) carryAlong(values facts) (map[string]any, *refusal) {
	out := make(map[string]any, len(x.parts.carry))
	for _, c := range x.parts.carry {
		value, err := c.anyIn(values)
		if err != nil {
			return nil, refuseItem(record.MappingFailed, c.Selector, "carry %s: %v", c.name, err)
		}
		if value != nil {
			out[c.name] = value
		}
	}
	return out, nil
}

// splitItem finds the records of an item.
func (x *taking) splitItem(item document.Item) (found []document.Item, refused *refusal) {
	same := len(item.Raw) > 0 && len(item.JSON) == len(item.Raw) && &item.JSON[0] == &item.Raw[0]
	err := x.parts.split.Split(item.JSON, func(text []byte, at int, key *string) error {
		part := document.Item{Raw: text, JSON: text, Offset: item.Offset, Key: key}
		if same {
			part.Offset += int64(at)
		}
		var err error
		part.Values, err = x.record.ReadValues(text, part.Offset)
		found = append(found, part)
		return err
	})
	switch {
	case errors.Is(err, document.ErrNoStep) && x.parts.optional:
		return nil, nil
	case errors.Is(err, document.ErrNoStep):
		return nil, refuseItem(record.MissingField, x.config.Expand.Path, "expand: %v; if such items have no records, say response.expand.optional: true", err)
	case err != nil:
		return nil, refuseItem(record.BadItem, x.config.Expand.Path, "expand: %v", err)
	}
	return found, nil
}

// findRepeated refuses a record whose id another one of the page has, with another content. Names of
// parts are often unique within their item only: then many would become one, and nobody would
// notice. The same record twice is a duplicate, as always.
func (x *taking) findRepeated(in record.Incoming) *record.Reject {
	if x.parts == nil && !x.config.ID.readsKey() {
		return nil
	}
	if x.first == nil {
		x.first = map[string]int{}
	}
	at, known := x.first[in.ProviderID]
	if !known {
		x.first[in.ProviderID] = len(x.incoming)
		return nil
	}
	if x.incoming[at].ContentHash == in.ContentHash {
		return nil
	}
	refused := refuseItem(record.RepeatedID, x.config.ID, "another record of the answer has this id and another content: make the id of more, such as ${carried('parent')}-${jsonPath('$.id')}")
	return x.asked.rejectOf(in.ProviderID, refused, document.Item{Raw: in.Payload})
}
