package registry

import (
	"maps"
	"slices"
	"strings"
)

// FromRows is the inverse of Rows. It is as strict as Decode: a damaged row is
// a problem that names table and column.
func FromRows(rows []Row) (*Source, error) {
	root := &node{what: keys, at: Position{File: tableProvenance}}
	var problems Problems
	for _, row := range rows {
		problems = append(problems, readRow(root, row)...)
	}
	if len(problems) > 0 {
		return nil, problems.sorted()
	}
	src, _, err := decodeNode(root)
	return src, err
}

func readRow(root *node, row Row) Problems {
	at := Position{File: row.Table}
	level := root
	if row.Endpoint != "" {
		level = level.below("endpoints", at).below(row.Endpoint, at)
		if row.Operation != AllOperations {
			level = level.below("operations", at).below(row.Operation, at)
		}
	}
	problems := strangers(row)
	for _, c := range columnsAt(row.Endpoint == "") {
		if c.table != row.Table || row.Columns[c.name] == nil {
			continue
		}
		at := Position{File: row.Table + "." + c.name}
		value, err := c.take(row.Columns, at)
		if err != nil {
			problems = append(problems, problemAt(at, c.path, err.Error(), ""))
			continue
		}
		level.set(strings.Split(c.path, "."), value)
	}
	at.File += "." + extraColumn
	return append(problems, readExtra(level, row.Columns[extraColumn], at)...)
}

// strangers refuses values nobody would read: a setting in a column that has no
// meaning at this level must not look as if it held.
func strangers(row Row) Problems {
	known := map[string]bool{extraColumn: true}
	for _, c := range columnsAt(row.Endpoint == "") {
		if c.table == row.Table {
			known[c.name] = true
			known[c.unit()] = c.as == asSpan
		}
	}
	var out Problems
	for _, name := range slices.Sorted(maps.Keys(row.Columns)) {
		if row.Columns[name] != nil && !known[name] {
			out = append(out, problemAt(Position{File: row.Table + "." + name}, "", "this column is not read here", "set it to null"))
		}
	}
	return out
}

func readExtra(level *node, extra any, at Position) Problems {
	if bytes, ok := extra.([]byte); ok {
		extra = string(bytes)
	}
	if extra == nil {
		return nil
	}
	text, _ := extra.(string)
	n, err := parseJSON(at, text)
	if err != nil {
		return Problems{problemAt(at, "", err.Error(), "")}
	}
	if n.what != keys {
		return Problems{problemAt(at, "", "expected a JSON object, found "+n.found(), "")}
	}
	level.merge(n)
	return nil
}

// below is the mapping under a key, made if it is missing.
func (n *node) below(key string, at Position) *node {
	for _, e := range n.entries {
		if e.key == key {
			return e.value
		}
	}
	child := &node{what: keys, at: at}
	n.entries = append(n.entries, entry{key, at, child})
	return child
}

func (n *node) set(path Path, value *node) {
	for _, key := range path[:len(path)-1] {
		n = n.below(key, value.at)
	}
	n.entries = append(n.entries, entry{path[len(path)-1], value.at, value})
}

// merge adds the keys of other; where both are mappings it goes down. A value
// that stands twice stays twice and is reported by the binder.
func (n *node) merge(other *node) {
	for _, e := range other.entries {
		mine := slices.IndexFunc(n.entries, func(m entry) bool { return m.key == e.key })
		if mine >= 0 && n.entries[mine].value.what == keys && e.value.what == keys {
			n.entries[mine].value.merge(e.value)
			continue
		}
		n.entries = append(n.entries, e)
	}
}

// RowColumns lists the columns Rows fills in a table, sorted.
func RowColumns(table string) []string {
	names := map[string]bool{extraColumn: true}
	for _, c := range slices.Concat(sourceColumns(), endpointColumns(), sectionColumns()) {
		if c.table == table {
			names[c.name] = true
			if c.as == asSpan {
				names[c.unit()] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// RowTables lists the tables Rows fills.
func RowTables() []string { return tables() }
