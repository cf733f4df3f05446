package extract

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/patra-ingest/patra/internal/core/document"
)

// Part is where an item names the part of the list that it belongs to (partitions.NAME.inItem).
type Part struct {
	At document.Path
	// Values returns what a request asks for, by what it sends.
	Values func(sent string) []string
}

// partSlot is where items of a page name their part.
type partSlot struct {
	valueSlot
	name   string
	values func(sent string) []string
}

// placesOfParts adds where items name their parts.
func placesOfParts(of map[string]Part, s *slots) (out []partSlot) {
	for _, name := range slices.Sorted(maps.Keys(of)) {
		out = append(out, partSlot{s.addSelector(PathSelector(of[name].At)), name, of[name].Values})
	}
	return out
}

// checkParts refuses an item that says it belongs to another part than the one that was asked for: whoever answers with
// another part most likely left out what was asked for, and it would count as read. An item that names several parts belongs to
// each of them, and one that names none says nothing.
func (r *Reader) checkParts(one entry, asked Asked) error {
	for _, p := range r.item.parts {
		sent, found := asked.Sector[p.name], p.valueIn(one.facts)
		if sent == "" || !found.Present() || found.IsNull() {
			continue
		}
		var named []string
		for _, node := range found.All() {
			if text, ok := node.Text(); ok {
				named = append(named, text)
			}
		}
		if len(named) == 0 {
			return fmt.Errorf("partitions.%s.inItem: %s at %s is no value; select the values of a list with [*]", p.name, showPart(found.Raw(), maxShown), p)
		}
		if wanted := p.values(sent); !slices.ContainsFunc(named, func(text string) bool { return slices.Contains(wanted, text) }) {
			id, _, _ := r.item.id.textIn(one.facts) // it is only shown
			return fmt.Errorf("the answer to a request for partition %s=%s has an item %q of %s (partitions.%s.inItem): nothing of it is stored, because what was asked for may be missing",
				p.name, sent, asked.Secrets.String(id), strings.Join(named, ", "), p.name)
		}
	}
	return nil
}
