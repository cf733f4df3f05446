package extract

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/patra-ingest/patra/internal/core/document"
	"github.com/patra-ingest/patra/internal/core/record"
)

// Reader reads pages of one endpoint. It is safe for concurrent use.
type Reader struct {
	config    Config
	document  *document.Reader
	canonical *document.Canonicalizer
	dates     *Dates
	page      pagePlaces
	item      itemPlaces

	needsTotal bool
	alone      *alone
	parts      *parts           // of items that hold several records; nil: each is one
	table      *table           // of items that are rows; nil: they are objects
	record     *document.Reader // of what items are taken apart into; nil if they are not
}

type (
	pagePlaces struct {
		total, token, url, hasMore valueSlot
		emptyWhen, errorWhen       []valueSlot
		retryWhen, giveUpWhen      []valueSlot
		mustHave                   []valueSlot
	}
	itemPlaces struct {
		id                               identity
		updated, filtered, version, gone valueSlot
		merged, where, goneIDs           valueSlot
		fields                           []field
		parts                            []partSlot
		wholes                           bool // a template reads the hash of the whole item
		keyed                            bool // a template reads the name of the member that the item is
	}
)

// Compile checks the paths and builds a reader.
func Compile(c Config) (*Reader, error) {
	if c.ID.IsZero() || c.Items.IsZero() {
		return nil, errors.New("response.items and response.id are needed")
	}
	for _, name := range c.Required {
		if _, ok := c.Fields[name]; !ok {
			return nil, fmt.Errorf("response.required: %q is not among response.fields", name)
		}
	}
	if err := c.checkAllowed(); err != nil {
		return nil, err
	}
	if c.GoneIDs.IsTemplate() {
		return nil, errors.New("response.goneIds: is a path that selects ids, not a template")
	}
	if c.FillOnly && len(c.Fields) == 0 {
		return nil, errors.New("response.fillOnly: there are no response.fields to fill")
	}
	if c.Format != document.FormatCSV && (c.Delimiter != "" || c.Comment != "" || c.NoHeader || c.NoFinalNewline) {
		return nil, errors.New("response.delimiter, comment, noHeader and noFinalNewline are for response.format CSV only")
	}
	if c.Format != document.FormatText && (c.Line != "" || c.Skip != "" || c.Last != "") {
		return nil, errors.New("response.line, skip and last are for response.format TEXT only")
	}
	if c.Format != document.FormatXML && c.Entities != "" {
		return nil, errors.New("response.entities is for response.format XML only")
	}
	for _, check := range []struct {
		key  string
		find func() (why, hint string)
	}{{"items", c.CheckKey}, {"expand", c.CheckExpand}, {"table", c.CheckTable}} {
		if why, _ := check.find(); why != "" {
			return nil, fmt.Errorf("response.%s: %s", check.key, why)
		}
	}
	r := &Reader{config: c, alone: &alone{}}
	var page, item slots
	r.page = placesOfPage(c, &page)
	var err error
	if r.item, err = placesOfItem(c, &item); err != nil {
		return nil, err
	}
	var ofRecord slots
	if c.reshapes() { // paths of a record start at what an item is taken apart into
		ofRecord, item = item, nil
		if r.record, err = document.Compile(document.Shape{Page: ofRecord}); err != nil {
			return nil, fmt.Errorf("response: %w", err)
		}
	}
	if r.parts, err = newParts(c, &item); err != nil {
		return nil, err
	}
	if r.table, err = newTable(c, &page); err != nil {
		return nil, err
	}
	if r.dates, err = NewDates(c.Zone, c.DateFormats); err != nil {
		return nil, err
	}
	if r.canonical, err = document.NewCanonicalizer(c.Volatile); err != nil {
		return nil, fmt.Errorf("response.volatile: %w", err)
	}
	shape := shapeOf(c, page, item, ofRecord)
	if !c.reshapes() { // otherwise a record is another text than its item
		shape.Canonical, shape.Sum = r.canonical, func(canonical []byte) document.Sum { return document.Sum(record.DigestOf(canonical)) }
	}
	if r.document, err = document.Compile(shape); err != nil {
		return nil, fmt.Errorf("response: %w", err)
	}
	return r, nil
}

// InsistOnTotal gives a reader for walks that end only with the announced total
// (paging.expectTotal): one that cannot be read is an error, or the walk would
// never end. A page may still announce none.
func (r *Reader) InsistOnTotal() *Reader {
	strict := *r
	strict.needsTotal = true
	return &strict
}

func placesOfPage(c Config, s *slots) pagePlaces {
	p := pagePlaces{total: s.addSelector(c.Total), token: s.addSelector(c.NextToken), url: s.addSelector(c.NextURL), hasMore: s.addSelector(c.HasMore)}
	p.emptyWhen, p.errorWhen = s.addAll(c.EmptyWhen), s.addAll(c.ErrorWhen)
	p.retryWhen, p.giveUpWhen = s.addAll(c.RetryWhen), s.addAll(c.GiveUpWhen)
	for _, path := range c.MustHave {
		p.mustHave = append(p.mustHave, s.addSelector(PathSelector(path)))
	}
	return p
}

func placesOfItem(c Config, s *slots) (itemPlaces, error) {
	p := itemPlaces{id: identityOf(s.addSelector(c.ID)), updated: s.addSelector(c.UpdatedAt), filtered: s.addSelector(c.Filtered), version: s.addSelector(c.Version), gone: s.addSelector(c.Gone.Selector), merged: s.addSelector(c.MergedInto), where: s.addSelector(c.Where.Selector), goneIDs: s.addSelector(c.GoneIDs)}
	for _, name := range slices.Sorted(maps.Keys(c.Fields)) {
		key, err := json.Marshal(name)
		if err != nil {
			return p, fmt.Errorf("response.fields: name %q: %w", name, err)
		}
		if c.Fields[name].IsZero() {
			return p, fmt.Errorf("response.fields: %q is empty", name)
		}
		p.fields = append(p.fields, field{valueSlot: s.addSelector(c.Fields[name]), name: name, key: key, required: slices.Contains(c.Required, name), allowed: c.Allowed[name]})
	}
	for _, selector := range c.itemSelectors() {
		p.wholes = p.wholes || slices.Contains(selector.Given(), "hash")
	}
	p.keyed, p.parts = c.readsKey(), placesOfParts(c.Parts, s)
	return p, nil
}

func shapeOf(c Config, page, item, ofRecord slots) document.Shape {
	drop := c.Volatile
	if c.Expand != nil { // in XML these say which elements of an item are lists
		drop = []document.Path{c.Expand.Path}
		for _, path := range append(ofRecord[:len(ofRecord):len(ofRecord)], c.Volatile...) {
			drop = append(drop, c.Expand.Path.Below(path))
		}
	}
	return document.Shape{
		Format: c.Format, Single: c.Single, Lists: c.Single && c.ID.IsTemplate() && len(c.ID.parsed.template.Paths()) == 0, Items: c.Items, Page: page, Item: item, Drop: drop, HTMLNames: c.Entities == EntitiesHTML,
		CSV:  document.CSV{Delimiter: c.Delimiter, Comment: c.Comment, NoHeader: c.NoHeader, NoFinalNewline: c.NoFinalNewline},
		Text: document.Text{Line: c.Line, Skip: c.Skip, Last: c.Last},
	}
}

// Dates reads dates as this endpoint's items have them.
func (r *Reader) Dates() *Dates { return r.dates }
