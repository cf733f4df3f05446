package extract

import (
	"slices"
	"strings"

	"github.com/patra-ingest/patra/internal/core/tmpl"
)

// What a repeated reading replaces besides records with the same id.
const (
	ReplacesList   = "LIST"   // what was in the list, which is read whole
	ReplacesWindow = "WINDOW" // what was in the same unit of the filter
)

// CheckReplaces says what is wrong with what a repeated reading replaces. A record replaces the one
// with its id; if the id is the hash of the whole item, no item ever has the id of another.
func (c Config) CheckReplaces(readWhole bool) (why, hint string) {
	whole := slices.Contains(c.ID.Given(), "hash")
	switch {
	case c.Replaces == ReplacesWindow:
		return "", ""
	case whole && c.Replaces == "":
		return "the id is the hash of the whole item, so an item that changes becomes another record, and nothing says what becomes of the old one",
			"say NOTHING if items never change, WINDOW if each request names one unit of the filter, or LIST if the list is read whole (snapshot); or make the id of parts that stay: ${hash(jsonPath('$.a'), jsonPath('$.b'))}"
	case !whole && c.Replaces != "":
		return "a record replaces the one with its id; this is for an id that is the hash of the whole item", "leave it out"
	case c.Replaces == ReplacesList && !readWhole:
		return "nothing is known of what vanished from a list that is not read whole", "declare snapshot, or say NOTHING"
	}
	return "", ""
}

// unitFirst is how an id begins that no item of another unit can have.
const unitFirst = "${" + tmpl.UnitName + "}/"

// ReplacedID returns how ids must begin where readings of a window replace each other: with the unit of the filter, and with the
// value of each entry of the partitions. Then the rows of two readings are never one record, and what one of them lacks
// is not what the other has.
func ReplacedID(entries []string) string {
	text := unitFirst
	for _, name := range entries {
		text += "${partition." + name + "}/"
	}
	return text
}

// IDBeginsWith reports whether ids begin with a text, and have something of the item behind it.
func (c Config) IDBeginsWith(text string) bool {
	rest, begins := strings.CutPrefix(c.ID.String(), text)
	return begins && rest != ""
}

// readsUnit reports whether the template reads the unit of the filter that was asked for.
func (s Selector) readsUnit() bool { return slices.Contains(s.Given(), tmpl.UnitName) }

// ReadsUnit reports whether a template of an item or a page reads the unit of the filter.
func (c Config) ReadsUnit() bool {
	return slices.ContainsFunc(append(c.pageSelectors(), c.itemSelectors()...), Selector.readsUnit)
}
