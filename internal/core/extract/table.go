package extract

import (
	"encoding/json"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/patra-ingest/patra/internal/core/document"
	"github.com/patra-ingest/patra/internal/core/record"
)

// Table says where the names of the columns stand, where items are lists of values.
type Table struct {
	Names document.Path `json:"names" required:"true" doc:"the names of the columns: a list of texts ($[0], with items: $[1:]), or a path that selects them ($.columns[*].name); paths of a record then start with such a name"`
}

// table turns rows into objects.
type table struct {
	names valueSlot
	cells *document.Splitter
}

// CheckTable says what is wrong with items that are rows of a table.
func (c Config) CheckTable() (why, hint string) {
	switch {
	case c.Table == nil:
		return "", ""
	case c.Format != "" && c.Format != document.FormatJSON:
		return "rows are lists of JSON, and the format is " + string(c.Format), "CSV has its names in its first row anyway"
	case c.Single:
		return "a table has rows, and response.single takes all of it for one item", "name the rows with response.items, such as $[1:]"
	case c.Table.Names.IsZero():
		return "does not name the path of the names", "write it as in table: {names: \"$[0]\"}"
	}
	return "", ""
}

func newTable(c Config, page *slots) (*table, error) {
	if c.Table == nil {
		return nil, nil
	}
	path, err := document.ParsePath("$[*]")
	if err != nil {
		return nil, err
	}
	cells, err := document.NewSplitter(path)
	return &table{page.addSelector(PathSelector(c.Table.Names)), cells}, err
}

// columnsIn returns the names of the columns. Of two columns with one name nobody could tell which is
// meant, so such an answer is no table.
func (t *table) columnsIn(told facts) (names []string, err error) {
	v := t.names.valueIn(told)
	if !v.Present() {
		return nil, pathError(t.names.String(), "no names of columns at %s (response.table.names)", t.names)
	}
	all := v.All()
	if t.names.Singular() {
		var list []json.RawMessage
		if v.Kind() != document.Array || json.Unmarshal(v.Raw(), &list) != nil {
			return nil, pathError(t.names.String(), "%s at %s, where the names of the columns should be (response.table.names)", v.Kind(), t.names)
		}
		all = nil
		for _, raw := range list {
			var name string
			if json.Unmarshal(raw, &name) != nil || raw[0] != '"' {
				return nil, pathError(t.names.String(), "%s at %s is no name of a column (response.table.names)", showPart(raw, maxShown), t.names)
			}
			names = append(names, name)
		}
	}
	for _, one := range all {
		name, isText := one.Text()
		if !isText || one.Kind() != document.String {
			return nil, pathError(t.names.String(), "%s at %s is no name of a column (response.table.names)", showPart(one.Raw(), maxShown), t.names)
		}
		names = append(names, name)
	}
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return nil, pathError(t.names.String(), "two columns are named %.60q at %s (response.table.names), so it is not known which of them is meant", name, t.names)
		}
	}
	return names, nil
}

// takeRow reads a row of a table as an object with a member for each column.
func (x *taking) takeRow(item document.Item) error {
	object, refused := x.objectOf(item)
	if refused == nil {
		values, err := x.record.ReadValues(object, 0)
		if err != nil {
			refused = refuseItem(record.BadItem, nil, "%v", err)
		}
		item.JSON, item.Values = object, values
	}
	x.takeEntry(x.entryOf(x.given, item, nil), refused)
	return nil
}

func (x *taking) objectOf(item document.Item) ([]byte, *refusal) {
	if item.JSON[0] != '[' {
		return nil, refuseItem(record.BadItem, x.config.Items, "the row is no list of values")
	}
	out, n := []byte{'{'}, 0
	err := x.table.cells.Split(item.JSON, func(cell []byte, _ int, _ *string) (err error) {
		if n++; n > len(x.columns) {
			return nil
		}
		if n > 1 {
			out = append(out, ',')
		}
		if out, err = jsontext.AppendQuote(out, x.columns[n-1]); err != nil {
			return err
		}
		out = append(append(out, ':'), cell...)
		return nil
	})
	switch {
	case err != nil:
		return nil, refuseItem(record.BadItem, x.config.Items, "%v", err)
	case n != len(x.columns):
		return nil, refuseItem(record.BadItem, x.config.Items, "the row has %d values, and the table %d columns", n, len(x.columns))
	}
	return append(out, '}'), nil
}
