package registry

import (
	"slices"
	"strings"
)

// Row is one row of a reg_* table without its dates and keys. Every column the
// table has for us is in Columns, nil where nothing is declared.
type Row struct {
	Table     string
	Endpoint  string // "" for every endpoint
	Operation string // ALL, HARVEST, BACKFILL or UPDATE
	Columns   map[string]any
}

// AllOperations is the operation_type of a row that is for every operation.
const AllOperations = "ALL"

const extraColumn = "extra_json"

// scope is a level of a source as the tables know it.
type scope struct{ endpoint, operation string }

// Rows lists what src says, sorted by endpoint, operation and table. Values are
// string, int64, float64, bool or nil; JSON is canonical text.
func Rows(src *Source) []Row {
	scopes, leaves := scopesOf(src.leaves())
	var out []Row
	for _, sc := range scopes {
		out = append(out, rowsAt(sc, leaves[sc])...)
	}
	return out
}

// scopesOf sorts leaves by level and cuts their paths.
func scopesOf(all leafSet) ([]scope, map[scope][]Leaf) {
	leaves := map[scope][]Leaf{}
	var scopes []scope
	for _, l := range all.sorted() {
		sc := scope{operation: AllOperations}
		if l.Path[0] == "endpoints" {
			sc.endpoint, l.Path = l.Path[1], l.Path[2:]
			if l.Path[0] == "operations" {
				sc.operation, l.Path = l.Path[1], l.Path[2:]
			}
		}
		if _, known := leaves[sc]; !known {
			scopes = append(scopes, sc)
		}
		leaves[sc] = append(leaves[sc], l)
	}
	slices.SortFunc(scopes, func(a, b scope) int {
		return strings.Compare(a.endpoint+"\x00"+a.operation, b.endpoint+"\x00"+b.operation)
	})
	return scopes, leaves
}

func rowsAt(sc scope, leaves []Leaf) []Row {
	w := writer{columns: columnsAt(sc.endpoint == ""), rows: map[string]map[string]any{}, extras: map[string]map[string]any{}}
	for _, c := range w.columns {
		leaves = w.take(c, leaves)
	}
	for _, l := range leaves {
		w.extra(extraTable(l.Path[0], sc.endpoint == ""), l)
	}
	var out []Row
	for _, table := range tables() {
		columns, used := w.rows[table]
		if !used {
			continue
		}
		if extra := w.extras[table]; extra != nil {
			columns[extraColumn] = canonicalJSON(extra)
		}
		out = append(out, Row{table, sc.endpoint, sc.operation, columns})
	}
	return out
}

type writer struct {
	columns []column
	rows    map[string]map[string]any
	extras  map[string]map[string]any // nested by key
}

// row starts a row with every column it may have, so that a value that was
// removed is written as null.
func (w writer) row(table string) map[string]any {
	if w.rows[table] == nil {
		row := map[string]any{}
		for _, name := range RowColumns(table) {
			row[name] = nil
		}
		w.rows[table] = row
	}
	return w.rows[table]
}

// take stores the leaves a column holds and returns the others.
func (w writer) take(c column, leaves []Leaf) []Leaf {
	path := Path(strings.Split(c.path, "."))
	below := map[string]any{}
	var rest []Leaf
	for _, l := range leaves {
		switch {
		case slices.Equal(l.Path, path):
			if !c.put(l.Value, w.row(c.table)) {
				w.extra(c.table, l)
			}
		case len(l.Path) == len(path)+1 && slices.Equal(l.Path[:len(path)], path):
			below[l.Path[len(path)]] = plain(l.Value) // one key of a map
		default:
			rest = append(rest, l)
		}
	}
	if len(below) > 0 {
		w.row(c.table)[c.name] = canonicalJSON(below)
	}
	return rest
}

func (w writer) extra(table string, l Leaf) {
	w.row(table)
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
	at[l.Path[len(l.Path)-1]] = plain(l.Value)
}
