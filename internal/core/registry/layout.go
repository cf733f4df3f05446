package registry

import (
	"maps"
	"slices"
	"sync"
)

// tableLayout is the columns sorted by where they are looked for.
type tableLayout struct {
	source, narrow []column            // of tables without a key: at the source, and below it
	entries        map[string][]column // of tables with a key, by that key's column
	names          map[string][]string // all that Rows fills, by table
}

var layout = sync.OnceValue(func() tableLayout {
	out := tableLayout{
		source: append(sourceColumns(), sectionColumns()...), narrow: append(narrowColumns(), sectionColumns()...),
		entries: map[string][]column{}, names: map[string][]string{},
	}
	for _, e := range keyedParts() {
		out.entries[e.key] = slices.DeleteFunc(entryColumns(), func(c column) bool { return !slices.Contains(e.tables, c.table) })
	}
	found := map[string]map[string]bool{}
	for _, table := range listTables() {
		found[table] = map[string]bool{extraColumn: true}
	}
	for _, c := range slices.Concat(sourceColumns(), narrowColumns(), sectionColumns(), entryColumns()) {
		found[c.table][c.name] = true
		if c.as == asSpan {
			found[c.table][c.unitColumn()] = true
		}
	}
	for table, names := range found {
		out.names[table] = slices.Sorted(maps.Keys(names))
	}
	return out
})
