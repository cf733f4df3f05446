package tmpl

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"
)

// Given is what templates of an answer may read besides the answer: what was asked for, and
// what came with it. All of it is kept with a batch, so that a replay makes the same records.
type Given struct {
	IDs     []string                 // that the request asked for
	Window  WindowVars               // of the slice; zero for a request by id
	Unit    string                   // unit of the filter that was asked for; empty where requests name none
	Fetched time.Time                // when the answer came
	Sector  map[string]string        // the part of the list that was asked for, as in Vars
	Header  func(name string) string // of the answer, empty if there is none
	Whole   func() ([]byte, error)   // the item in its canonical form, without its volatile parts
	Key     *string                  // name of the member that the item is the value of; nil if it is none
	Carried map[string]any           // what parts of an item carry of it
}

const (
	headerPrefix = "$header."
	carriedSlot  = "$carried."
	wholeName    = "hash" // read by hash() without arguments
	fetchedName  = "fetched"
)

// UnitName is the variable that has the unit of the filter that was asked for.
const UnitName = "window.unit"

// KeyName is the variable that has the name of the member an item is the value of.
const KeyName = "key"

// CarriedPrefix marks what a part of an item carries of it among the names of Given. No header has
// such a name.
const CarriedPrefix = "carried:"

// itemVariables are the names of Given with a value of their type.
var itemVariables = map[string]any{
	"ids": []string(nil), "window.from": time.Time{}, "window.to": time.Time{}, UnitName: "", fetchedName: time.Time{}, KeyName: "",
}

// GivenNames lists what templates may read besides an answer and its headers.
func GivenNames() []string {
	return append(slices.Sorted(maps.Keys(itemVariables)), wholeName)
}

// variableValue gives what is absent as nil, so that default and coalesce can see it.
func (g *Given) variableValue(name string) (any, error) {
	if g == nil {
		return nil, nil
	}
	at := func(t time.Time) (any, error) {
		if t.IsZero() {
			return nil, nil
		}
		return t, nil
	}
	switch name {
	case "ids":
		return g.IDs, nil
	case "window.from":
		return at(g.Window.From)
	case "window.to":
		return at(g.Window.To)
	case UnitName:
		if g.Unit == "" {
			return nil, nil
		}
		return g.Unit, nil
	case fetchedName:
		return at(g.Fetched)
	case KeyName:
		if g.Key == nil {
			return nil, nil
		}
		return *g.Key, nil
	case wholeName:
		if g.Whole == nil {
			return nil, nil
		}
		text, err := g.Whole()
		if err != nil {
			return nil, err
		}
		return hashOf(text), nil
	}
	if carried, is := strings.CutPrefix(name, carriedSlot); is {
		return g.Carried[carried], nil
	}
	if NamesSector(name) {
		if text := g.Sector[strings.TrimPrefix(name, sectorPrefix)]; text != "" {
			return text, nil
		}
		return nil, nil
	}
	if g.Header == nil {
		return nil, nil
	}
	if text := g.Header(strings.TrimPrefix(name, headerPrefix)); text != "" {
		return text, nil
	}
	return nil, nil
}

func hashOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// hashValues makes one name of several values: the SHA-256 of them as a JSON list, so that no two lists
// of values have the same text.
func hashValues(args []any) (any, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(args); err != nil {
		return nil, err
	}
	return hashOf(text.Bytes()), nil
}
