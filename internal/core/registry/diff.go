package registry

import (
	"cmp"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/window"
)

// ChangeKind says what became of a value.
type ChangeKind string

// Kinds of changes.
const (
	Added   ChangeKind = "added"
	Removed ChangeKind = "removed"
	Changed ChangeKind = "changed"
)

// Change is one value that differs between two versions of a source. Old and
// New are as a file writes them; credentials are references in a file and so
// they are here, and a secret that stands in an old version is not shown (I12).
type Change struct {
	Path string     `json:"path"`
	Kind ChangeKind `json:"kind"`
	Old  string     `json:"old,omitempty"`
	New  string     `json:"new,omitempty"`
}

// Diff lists what differs, by path. A nil source says nothing, so that against
// it everything is added or removed. The order of keys and the spelling of
// durations, zones, dates and addresses make no difference.
func Diff(before, after *Source) []Change {
	old, now := saidBy(before), saidBy(after)
	oldText, newText := shownBy(old), shownBy(now)
	var out []Change
	for path, l := range old {
		later, kept := now[path]
		switch {
		case !kept:
			out = append(out, Change{Path: path, Kind: Removed, Old: oldText(l)})
		case !sameValue(l, later):
			c := Change{Path: path, Kind: Changed, Old: oldText(l), New: newText(later)}
			if c.Old != hidden && c.New != hidden {
				c.tellLists(l.Value, later.Value)
			}
			out = append(out, c)
		}
	}
	for path, l := range now {
		if _, known := old[path]; !known {
			out = append(out, Change{Path: path, Kind: Added, New: newText(l)})
		}
	}
	slices.SortFunc(out, func(a, b Change) int { return cmp.Compare(a.Path, b.Path) })
	return out
}

func saidBy(src *Source) leafSet {
	if src == nil {
		return nil
	}
	return src.allLeaves()
}

// shownBy writes the values of one version.
func shownBy(leaves leafSet) func(Leaf) string {
	hides := hidingRule(leaves)
	return func(l Leaf) string {
		if hides(l) {
			return hidden
		}
		if list, long := longList(l.Value); long {
			return countList(list) + ": " + fewOf(list)
		}
		return quoteValue(l.Value)
	}
}

func sameValue(a, b Leaf) bool {
	if reflect.DeepEqual(plainValue(a.Value), plainValue(b.Value)) {
		return true
	}
	switch a.Path.sectionPath().String() {
	case "window.earliest":
		return window.CanonicalText(textOf(a.Value)) == window.CanonicalText(textOf(b.Value))
	case "http.baseUrl":
		return exchange.CanonicalBaseURL(textOf(a.Value)) == exchange.CanonicalBaseURL(textOf(b.Value))
	}
	return false
}

// quoteValue quotes text that would not be seen, or not as one line.
func quoteValue(value any) string {
	text := textOf(value)
	if text == "" || text != strings.TrimSpace(text) || strings.ContainsFunc(text, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return strconv.Quote(text)
	}
	return text
}
