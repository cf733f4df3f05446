package extract

import (
	"maps"
	"reflect"
	"slices"

	"github.com/patra-ingest/patra/internal/core/document"
	"github.com/patra-ingest/patra/internal/core/tmpl"
	"github.com/patra-ingest/patra/internal/core/zone"
)

// Config is the `response` section of an endpoint: where things are in a page.
// Paths are RFC 9535 JSONPath in every format; those of an item start at the item.
type Config struct {
	Format         document.Format `json:"format,omitempty" enum:"JSON,XML,JSONL,CSV,TEXT" doc:"what a body is written in (default JSON); TEXT: lines, such as an index page of a web server"`
	Delimiter      string          `json:"delimiter,omitempty" doc:"CSV: the character between two columns (default a comma)"`
	Comment        string          `json:"comment,omitempty" doc:"CSV: lines that start with this character are skipped"`
	NoHeader       bool            `json:"noHeader,omitempty" doc:"CSV: the first row is an item; columns are $.c1, $.c2 …"`
	NoFinalNewline bool            `json:"noFinalNewline,omitempty" doc:"CSV: the last row may end without a line break; a cut answer may then go unnoticed"`
	Line           string          `json:"line,omitempty" doc:"TEXT: regular expression (RE2) with named groups; a line in which it is found is an item, and each group a value of it: (?P<name>…) is $.name"`
	Skip           string          `json:"skip,omitempty" doc:"TEXT: regular expression of lines that are no items; a line that is neither is a bad item, so nothing is left out quietly. Its named groups are values of every item below the line, such as the folder that a title names"`
	Last           string          `json:"last,omitempty" doc:"TEXT: regular expression of the last line; an answer that ends otherwise is cut"`

	Entities string `json:"entities,omitempty" enum:"XML,HTML" doc:"XML: HTML where characters have the names of HTML, such as &uuml;, which a DTD of the source declares; it is never fetched. Otherwise a name that is none of the five of XML fails the answer (default XML)"`

	Items    document.Path `json:"items" required:"true" doc:"the items: an array, a path that selects them ($.entities.* for the members of an object, whose names are ${key}), a repeated element of XML, $ for JSONL, CSV and TEXT"`
	Single   bool          `json:"single,omitempty" doc:"items names one item, not an array of them"`
	SkipNull bool          `json:"skipNull,omitempty" doc:"a null among the items counts as no item; otherwise it is quarantined"`
	Where    Predicate     `json:"where,omitzero" doc:"false for an item that does not belong to the dataset; paging still counts it, and then it counts as excluded"`
	Expand   *Expand       `json:"expand,omitempty" doc:"where the records stand in an item that holds several, and what they take along from it"`
	Table    *Table        `json:"table,omitempty" doc:"JSON: items are lists of values, one for each column: where the names of the columns stand"`
	ID       Selector      `json:"id" required:"true" doc:"identity of an item, a path or a template; an item without one is quarantined"`
	Replaces string        `json:"replaces,omitempty" enum:"NOTHING,LIST,WINDOW" doc:"what a repeated reading replaces. WINDOW: what was stored of the same unit of the filter (filter.bounds: UNIT) and does not come again is gone; snapshot says how many readings must agree. It is required if the id is a hash of the whole item (${hash()}), because a changed item is then another record: WINDOW; LIST, because the list is read whole and what vanished from it is gone (snapshot); or NOTHING, because items never change"`
	IDCase   string        `json:"idCase,omitempty" enum:"KEEP,LOWER" doc:"LOWER where the source's ids are case-insensitive (default KEEP)"`

	UpdatedAt   Selector  `json:"updatedAt,omitzero" doc:"instant of the item's last change; without it the later answer wins"`
	Filtered    Selector  `json:"filtered,omitzero" doc:"the date the filter selects by. Items outside the request are kept and counted; if patra filters the list (filter.bounds), those outside the window are dropped"`
	Zone        zone.Zone `json:"zone,omitempty" doc:"zone of dates that name none: UTC, an offset such as +08:00, or a name such as Europe/London (default filter.zone)"`
	DateFormats []string  `json:"dateFormats,omitempty" doc:"further shapes of dates, tried first, such as dd.MM.yyyy HH:mm"`
	Version     Selector  `json:"version,omitzero" doc:"the source's own version number, breaks ties of updatedAt"`
	Gone        Predicate `json:"gone,omitzero" doc:"true for an item that announces a deletion"`
	GoneIDs     Selector  `json:"goneIds,omitzero" doc:"files: path to the ids of gone records in an item that names many of them and is not a record itself, such as a list of deletions at the end of a file; see files.maxGone"`
	MergedInto  Selector  `json:"mergedInto,omitzero" doc:"id of the record that took the place of this one; an item that has it is a deletion, and the two are linked"`

	Total     Selector `json:"total,omitzero" doc:"number of items the whole query has"`
	NextToken Selector `json:"nextToken,omitzero" doc:"token of the next page"`
	NextURL   Selector `json:"nextUrl,omitzero" doc:"address of the next page, absolute or relative"`
	HasMore   Selector `json:"hasMore,omitzero" doc:"explicit flag that more pages follow"`

	EmptyWhen   []Predicate `json:"emptyWhen,omitempty" doc:"true for an answer that says in its own way that nothing was found; then items may be missing, or the one object that is the whole answer (items: $, single) may have no id. Without this, only an empty array, an XML element with nothing in it and a CSV header with every column that a path names are an empty page"`
	EmptyStatus []int       `json:"emptyStatus,omitempty" doc:"HTTP statuses, such as 404, that a search answers with where it found nothing; believed only if emptyWhen holds of the body, and never the end of a list by itself. 204 is always an empty page"`
	ErrorWhen   []Predicate `json:"errorWhen,omitempty" doc:"true for an error that comes as a good answer; checked after emptyWhen"`
	// RetryWhen and GiveUpWhen are asked before emptyWhen: an answer that is an
	// error by them and empty as well must not pass for an empty page.
	RetryWhen  []Predicate     `json:"retryWhen,omitempty" doc:"true for an answer, of whatever status, that is worth another try; wins over the lists of statuses in retry"`
	GiveUpWhen []Predicate     `json:"giveUpWhen,omitempty" doc:"true for an answer, of whatever status, that no further try will fix; wins over retryWhen"`
	MustHave   []document.Path `json:"mustHave,omitempty" doc:"paths every good answer has; without them a 200 is an error"`

	Volatile []document.Path     `json:"volatile,omitempty" doc:"parts of an item that change without the record changing; left out of the content hash"`
	Fields   map[string]Selector `json:"fields,omitempty" doc:"output fields of the mapped record"`
	Required []string            `json:"required,omitempty" doc:"output fields an item must have"`
	Allowed  map[string][]string `json:"allowed,omitempty" doc:"the values that an output field may have, such as type: [article, book]; an item with another one is quarantined. Of a list every value counts; a field without a value is for required"`
	FillOnly bool                `json:"fillOnly,omitempty" doc:"an item fills only the empty output fields of a stored record and changes no other; for UPDATE, so below operations"`
	// MaxRejectRate guards against a changed schema: more rejects than this share fail the slice. A
	// written zero is stored as one.
	MaxRejectRate float64 `json:"maxRejectRate" zero:"ok" doc:"share of rejected items, 0 to 1, above which the slice fails (default 0.5; 0: the first one fails it)"`
	// Parts are where items name the part of the list that they belong to. They are declared with the partitions.
	Parts map[string]Part `json:"-"`
}

// EntitiesHTML lets characters of XML have the names that HTML gives them.
const EntitiesHTML = "HTML"

// WithDefaults fills what the source left open.
func (c Config) WithDefaults() Config {
	if c.Format == "" {
		c.Format = document.FormatJSON
	}
	if c.IDCase == "" {
		c.IDCase = "KEEP"
	}
	if c.Zone == "" {
		c.Zone = zone.UTC
	}
	if c.MaxRejectRate == 0 {
		c.MaxRejectRate = 0.5
	}
	return c
}

// itemSelectors lists the selectors of a record: of an item, or of a part of it.
func (c Config) itemSelectors() []Selector {
	out := []Selector{c.Where.Selector, c.ID, c.UpdatedAt, c.Filtered, c.Version, c.Gone.Selector, c.GoneIDs, c.MergedInto}
	for _, name := range slices.Sorted(maps.Keys(c.Fields)) {
		out = append(out, c.Fields[name])
	}
	return out
}

// ReadsRequest lists what records are made of besides their items, such as "window.from" or the
// name of a header. Without it they cannot be made anew from a kept answer. What an endpoint is
// asked for by id, and when it answered, is kept with every record.
func (c Config) ReadsRequest() (names []string) {
	for _, selector := range c.itemSelectors() {
		for _, name := range selector.Given() {
			if !slices.Contains([]string{"ids", "hash", "fetched"}, name) && !ofItem(name) && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// Headers lists the headers of an answer that templates read.
func (c Config) Headers() (names []string) {
	for _, selector := range append(c.pageSelectors(), c.itemSelectors()...) {
		for _, name := range selector.Given() {
			if !slices.Contains(tmpl.GivenNames(), name) && !ofItem(name) && !tmpl.NamesSector(name) && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// pageSelectors lists the selectors of a page.
func (c Config) pageSelectors() []Selector {
	out := []Selector{c.Total, c.NextToken, c.NextURL, c.HasMore}
	for _, list := range [][]Predicate{c.EmptyWhen, c.ErrorWhen, c.RetryWhen, c.GiveUpWhen} {
		for _, p := range list {
			out = append(out, p.Selector)
		}
	}
	return out
}

// recordKeys are the keys that make a record of an item. The others say how an answer is told
// from an error, and where its items stand: that may differ from one endpoint to the next.
var recordKeys = []struct {
	name string
	of   func(Config) any
}{
	{"where", func(c Config) any { return c.Where }},
	{"expand", func(c Config) any { return c.Expand }},
	{"table", func(c Config) any { return c.Table }},
	{"id", func(c Config) any { return c.ID }},
	{"idCase", func(c Config) any { return c.IDCase }},
	{"updatedAt", func(c Config) any { return c.UpdatedAt }},
	{"zone", func(c Config) any { return c.Zone }},
	{"dateFormats", func(c Config) any { return c.DateFormats }},
	{"version", func(c Config) any { return c.Version }},
	{"volatile", func(c Config) any { return c.Volatile }},
	{"fields", func(c Config) any { return c.Fields }},
	{"required", func(c Config) any { return c.Required }},
	{"allowed", func(c Config) any { return c.Allowed }},
	{"fillOnly", func(c Config) any { return c.FillOnly }},
}

// MakesRecords reports whether a key of the section makes a record of an item.
func MakesRecords(key string) bool {
	for _, k := range recordKeys {
		if k.name == key {
			return true
		}
	}
	return false
}

// DifferentRecords lists the keys that make another record of the same item in another
// section.
func (c Config) DifferentRecords(other Config) (keys []string) {
	for _, k := range recordKeys {
		if !reflect.DeepEqual(k.of(c), k.of(other)) {
			keys = append(keys, k.name)
		}
	}
	return keys
}
