package registry

import (
	"maps"
	"slices"
	"strings"
)

// Row is one row of a reg_* table without its dates and ids. Every column the
// table has for us is in Columns, nil where nothing is declared.
type Row struct {
	Table     string
	Endpoint  string // "" for every endpoint
	Operation string // ALL, HARVEST, BACKFILL or UPDATE
	Key       string // of tables with a KeyColumn
	Columns   map[string]any
}

// SourceTable holds what a file says about the source as a whole: one row per
// version of the source.
const SourceTable = tableSource

// RateTable holds the rate sections.
const RateTable = tableRate

// AllOperations is the operation_type of a row that is for every operation.
const AllOperations = "ALL"

const extraColumn = "extra_json"

// scope is a level of a source as the tables know it.
type scope struct{ endpoint, operation string }

func (sc scope) isSource() bool { return sc == scope{"", AllOperations} }

// plainColumns lists those of the tables without a key.
func (sc scope) plainColumns() []column {
	if sc.isSource() {
		return layout().source
	}
	return layout().narrow
}

// Rows lists what src says, sorted by endpoint, operation, table and key. Values
// are string, int64, float64, bool or nil; JSON is canonical text.
func Rows(src *Source) []Row {
	scopes, leaves := scopesOf(src.allLeaves())
	var out []Row
	for _, sc := range scopes {
		out = append(out, rowsAt(sc, leaves[sc])...)
	}
	return out
}

// scopesOf sorts leaves by level and cuts their paths.
func scopesOf(all leafSet) ([]scope, map[scope][]Leaf) {
	leaves := map[scope][]Leaf{}
	for _, l := range all.sortLeaves() {
		sc := scope{operation: AllOperations}
		if l.Path[0] == "endpoints" {
			sc.endpoint, l.Path = l.Path[1], l.Path[2:]
		}
		if l.Path[0] == "operations" {
			sc.operation, l.Path = l.Path[1], l.Path[2:]
		}
		leaves[sc] = append(leaves[sc], l)
	}
	scopes := slices.SortedFunc(maps.Keys(leaves), func(a, b scope) int {
		return strings.Compare(a.endpoint+"\x00"+a.operation, b.endpoint+"\x00"+b.operation)
	})
	return scopes, leaves
}

func rowsAt(sc scope, leaves []Leaf) []Row {
	found := map[string][]Row{}
	keep := func(w writer, key string) {
		for table, columns := range w.rows {
			found[table] = append(found[table], Row{table, sc.endpoint, sc.operation, key, columns})
		}
	}
	for _, e := range keyedParts() {
		var picked map[string][]Leaf
		picked, leaves = e.pickLeaves(leaves)
		for _, key := range slices.Sorted(maps.Keys(picked)) {
			keep(writeLeaves(e.entryColumns(), picked[key], func(Leaf) string { return e.extraColumn() }), key)
		}
	}
	keep(writeLeaves(sc.plainColumns(), leaves, func(l Leaf) string { return extraTable(l.Path[0], sc) }), "")
	var out []Row
	for _, table := range listTables() {
		out = append(out, found[table]...)
	}
	return out
}

// writer fills the rows of one level or one entry, one per table.
type writer struct {
	rows   map[string]map[string]any
	extras map[string]map[string]any // nested by key
}

// writeLeaves puts each leaf into its column, else into the extra_json of its home.
func writeLeaves(columns []column, leaves []Leaf, home func(Leaf) string) writer {
	w := writer{rows: map[string]map[string]any{}, extras: map[string]map[string]any{}}
	for _, c := range columns {
		leaves = w.takeLeaves(c, leaves)
	}
	for _, l := range leaves {
		w.addExtra(home(l), l)
	}
	for table, extra := range w.extras {
		w.rows[table][extraColumn] = canonicalJSON(extra)
	}
	return w
}

// startRow starts a row with every column it may have, so that a value that was
// removed is written as null.
func (w writer) startRow(table string) map[string]any {
	if w.rows[table] == nil {
		row := map[string]any{}
		for _, name := range layout().names[table] {
			row[name] = nil
		}
		w.rows[table] = row
	}
	return w.rows[table]
}

// takeLeaves stores the leaves a column holds and returns the others.
func (w writer) takeLeaves(c column, leaves []Leaf) []Leaf {
	path := c.keyPath()
	below := map[string]any{}
	var rest []Leaf
	for _, l := range leaves {
		switch {
		case slices.Equal(l.Path, path):
			if !c.putValue(l.Value, w.startRow(c.table)) {
				w.addExtra(c.table, l)
			}
		case len(l.Path) == len(path)+1 && slices.Equal(l.Path[:len(path)], path):
			below[l.Path[len(path)]] = plainValue(l.Value) // one key of a map
		default:
			rest = append(rest, l)
		}
	}
	if len(below) > 0 {
		w.startRow(c.table)[c.name] = canonicalJSON(below)
	}
	return rest
}

func (w writer) addExtra(table string, l Leaf) {
	w.startRow(table)
	if w.extras[table] == nil {
		w.extras[table] = map[string]any{}
	}
	at := w.extras[table]
	for _, key := range l.Path[:len(l.Path)-1] {
		next, ok := at[key].(map[string]any)
		if !ok {
			next = map[string]any{}
			at[key] = next
		}
		at = next
	}
	at[l.Path[len(l.Path)-1]] = plainValue(l.Value)
}

// RowColumns lists the columns Rows fills in a table, sorted. The key is not
// among them.
func RowColumns(table string) []string {
	return slices.Clone(layout().names[table])
}

// RowTables lists the tables Rows fills.
func RowTables() []string { return listTables() }
