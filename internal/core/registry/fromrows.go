package registry

import (
	"maps"
	"slices"
)

// FromRows is the inverse of Rows. It is as strict as Decode: a damaged row is
// a problem that names table and column.
func FromRows(rows []Row) (*Source, error) {
	root := &node{what: keys, at: Position{File: tableSource}}
	var problems Problems
	for _, row := range rows {
		problems = append(problems, readRow(root, row)...)
	}
	if len(problems) > 0 {
		return nil, problems.sortProblems()
	}
	src, _, err := decodeNode(root)
	return src, err
}

func readRow(root *node, row Row) Problems {
	at := Position{File: row.Table}
	level, columns := placeRow(root, row, at)
	problems := refuseStrangers(row, columns)
	for _, c := range columns {
		if c.table != row.Table || row.Columns[c.name] == nil {
			continue
		}
		at := Position{File: row.Table + "." + c.name}
		value, err := c.takeValue(row.Columns, at)
		if err != nil {
			problems = append(problems, problemAt(at, c.path, err.Error(), ""))
			continue
		}
		level.setValue(c.keyPath(), value)
	}
	at.File += "." + extraColumn
	return append(problems, readExtra(level, row.Columns[extraColumn], at)...)
}

// placeRow finds what a row is about, and the columns that mean something there.
func placeRow(root *node, row Row, at Position) (*node, []column) {
	sc := scope{row.Endpoint, row.Operation}
	level := root
	if sc.endpoint != "" {
		level = level.childNode("endpoints", at).childNode(sc.endpoint, at)
	}
	if sc.operation != AllOperations {
		level = level.childNode("operations", at).childNode(sc.operation, at)
	}
	e, keyed := entriesOf(row.Table)
	if !keyed {
		return level, sc.plainColumns()
	}
	for _, key := range e.path.withKey(row.Key) {
		level = level.childNode(key, at)
	}
	return level, e.entryColumns()
}

// refuseStrangers refuses values that no code reads: a setting in a column that has
// no meaning at this level must not look as if it were in force.
func refuseStrangers(row Row, columns []column) Problems {
	known := map[string]bool{extraColumn: true}
	for _, c := range columns {
		if c.table == row.Table {
			known[c.name] = true
			known[c.unitColumn()] = c.as == asSpan
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
		return Problems{problemAt(at, "", "expected a JSON object, found "+n.describeFound(), "")}
	}
	level.mergeNode(n)
	return nil
}

// childNode returns the mapping under a key, made if it is missing.
func (n *node) childNode(key string, at Position) *node {
	for _, e := range n.entries {
		if e.key == key {
			return e.value
		}
	}
	child := &node{what: keys, at: at}
	n.entries = append(n.entries, entry{key, at, child})
	return child
}

func (n *node) setValue(path Path, value *node) {
	for _, key := range path[:len(path)-1] {
		n = n.childNode(key, value.at)
	}
	n.entries = append(n.entries, entry{path[len(path)-1], value.at, value})
}

// mergeNode adds the keys of other; where both are mappings it goes down. A value
// that stands twice stays twice and is reported by the binder.
func (n *node) mergeNode(other *node) {
	for _, e := range other.entries {
		mine := slices.IndexFunc(n.entries, func(m entry) bool { return m.key == e.key })
		if mine >= 0 && n.entries[mine].value.what == keys && e.value.what == keys {
			n.entries[mine].value.mergeNode(e.value)
			continue
		}
		n.entries = append(n.entries, e)
	}
}
