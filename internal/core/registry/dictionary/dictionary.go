package dictionary

import (
	"slices"
	"strings"
	"sync"
)

// Type is a list of codes. Codes of the specification are canonical; those
// of the earlier schemas are aliases (D§5.17).
type Type struct {
	Code   string
	Name   string
	Custom bool // users may add items
	Items  []Item
}

// Item is one code. Its order in the list is its display order.
type Item struct {
	Code     string
	Default  bool
	Disabled bool // in a store: retired by us or switched off by an operator
	Aliases  []Alias
}

// Alias is an older code of an item and where it was used.
type Alias struct {
	System string
	Code   string
}

// Name returns the display name of an item.
func (i Item) Name() string {
	words := strings.ToLower(strings.ReplaceAll(i.Code, "_", " "))
	return strings.ToUpper(words[:1]) + words[1:]
}

// Find gives the item of a code or of one of its aliases. An alias that meant
// different things in different systems is not found: guessing could be wrong.
func (t Type) Find(code string) (Item, bool) {
	var found []Item
	for _, item := range t.Items {
		if item.Code == code {
			return item, true
		}
		if slices.ContainsFunc(item.Aliases, func(a Alias) bool { return a.Code == code }) {
			found = append(found, item)
		}
	}
	if len(found) != 1 {
		return Item{}, false
	}
	return found[0], true
}

// All lists every list of codes.
func All() []Type {
	return slices.Concat(registryTypes(), expressionTypes(), sectionTypes(), ingestTypes(), eventTypes())
}

// builtIn is the same, made once. Nobody may change it.
var builtIn = sync.OnceValue(All)

// ListOf returns the list an enum of the file format takes its codes from: the first
// that has all of them.
func ListOf(enum []string) (Type, bool) {
	if len(enum) == 0 {
		return Type{}, false
	}
	lists := builtIn()
	for i := range lists {
		if lists[i].hasAll(enum) {
			return lists[i], true
		}
	}
	return Type{}, false
}

func (t *Type) hasAll(codes []string) bool {
	for _, code := range codes {
		if !t.hasCode(code) {
			return false
		}
	}
	return true
}

func (t *Type) hasCode(code string) bool {
	for i := range t.Items {
		if t.Items[i].Code == code {
			return true
		}
	}
	return false
}

// CanonicalCode returns the code of an enum that an older code stands for. Files may use
// older codes; what is stored and compiled is always the canonical one (D§5.17).
func CanonicalCode(code string, enum []string) (string, bool) {
	list, _ := ListOf(enum)
	item, ok := list.Find(code)
	return item.Code, ok && slices.Contains(enum, item.Code)
}

// OlderCodes returns the aliases CanonicalCode accepts for an enum.
func OlderCodes(enum []string) (out []string) {
	list, _ := ListOf(enum)
	for _, item := range list.Items {
		for _, alias := range item.Aliases {
			if _, ok := CanonicalCode(alias.Code, enum); ok && !slices.Contains(out, alias.Code) {
				out = append(out, alias.Code)
			}
		}
	}
	return out
}

const (
	legacy1 = "legacy_v1" // the schema the specification was written against
	legacy2 = "legacy_v2" // the one after it
)

func closedType(code, name, items string) Type { return readType(code, name, items, false) }

func customType(code, name, items string) Type { return readType(code, name, items, true) }

// readType reads items separated by blanks; a star marks the default.
func readType(code, name, items string, custom bool) Type {
	t := Type{Code: code, Name: name, Custom: custom}
	for _, word := range strings.Fields(items) {
		item, isDefault := strings.CutSuffix(word, "*")
		t.Items = append(t.Items, Item{Code: item, Default: isDefault})
	}
	return t
}

// addAliases adds older codes, written OLD=ITEM.
func (t Type) addAliases(system, pairs string) Type {
	for _, pair := range strings.Fields(pairs) {
		old, target, _ := strings.Cut(pair, "=")
		for i := range t.Items {
			if t.Items[i].Code == target {
				t.Items[i].Aliases = append(t.Items[i].Aliases, Alias{system, old})
			}
		}
	}
	return t
}
