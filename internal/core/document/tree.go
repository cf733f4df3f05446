package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/theory/jsonpath"
)

// maxTreeWork bounds what one value may cost that is searched as a tree. The
// library keeps a path for each node it selects, so a deep node costs its depth;
// a flat one costs as much as its own memory (A15, A21).
const (
	maxTreeWork  = 8_000_000
	leastPerNode = 8
)

var errTooManyNodes = errors.New("too many values to search through")

// decodeTree decodes raw for the selecting library. Numbers stay text.
// Duplicate names and invalid UTF-8 are errors unless an option allows them.
func decodeTree(raw []byte, options ...jsontext.Options) (any, error) {
	d := treeDecoder{jsontext.NewDecoder(bytes.NewBuffer(raw), options...), maxTreeWork}
	return d.decodeNext()
}

type treeDecoder struct {
	*jsontext.Decoder
	left int
}

func (d *treeDecoder) decodeNext() (any, error) {
	if d.left -= max(leastPerNode, d.StackDepth()); d.left < 0 {
		return nil, errTooManyNodes
	}
	token, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case '{':
		return d.decodeObject()
	case '[':
		return d.decodeArray()
	case '"':
		return token.String(), nil
	case '0':
		return json.Number(token.String()), nil
	case 'n':
		return nil, nil
	default:
		return token.Bool(), nil
	}
}

func (d *treeDecoder) decodeObject() (any, error) {
	object := map[string]any{}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String()
		if object[key], err = d.decodeNext(); err != nil {
			return nil, err
		}
	}
	_, err := d.ReadToken()
	return object, err
}

func (d *treeDecoder) decodeArray() (any, error) {
	array := []any{}
	for d.PeekKind() != ']' {
		element, err := d.decodeNext()
		if err != nil {
			return nil, err
		}
		array = append(array, element)
	}
	_, err := d.ReadToken()
	return array, err
}

// selection is the outcome of a non-singular path; never empty.
type selection struct{ nodes []any }

// selectNodes selects in a fixed order: array elements by index, members by name. The
// library walks objects in random order, and a value that changes between two
// reads of the same body would look like an update.
func selectNodes(path *jsonpath.Path, tree any) *selection {
	located := path.SelectLocated(tree)
	if len(located) == 0 {
		return nil
	}
	located.Sort()
	return &selection{slices.Collect(located.Nodes())}
}

func (s *selection) allValues() []Value {
	values := make([]Value, len(s.nodes))
	for i, node := range s.nodes {
		values[i] = Value{raw: appendTree(nil, node)}
	}
	return values
}

func (s *selection) joinText() []byte { return appendTree(nil, s.nodes) }

// appendTree writes a decoded tree back, members sorted.
func appendTree(dst []byte, tree any) []byte {
	switch tree := tree.(type) {
	case nil:
		return append(dst, "null"...)
	case bool:
		if tree {
			return append(dst, "true"...)
		}
		return append(dst, "false"...)
	case json.Number:
		return append(dst, tree...)
	case string:
		return appendQuoted(dst, tree)
	case []any:
		dst = append(dst, '[')
		for i, element := range tree {
			dst = appendTree(appendComma(dst, i), element)
		}
		return append(dst, ']')
	case map[string]any:
		dst = append(dst, '{')
		for i, name := range slices.Sorted(maps.Keys(tree)) {
			dst = append(appendQuoted(appendComma(dst, i), name), ':')
			dst = appendTree(dst, tree[name])
		}
		return append(dst, '}')
	}
	return dst
}

func appendComma(dst []byte, i int) []byte {
	if i > 0 {
		dst = append(dst, ',')
	}
	return dst
}

// appendQuoted cannot fail: every caller has valid UTF-8.
func appendQuoted[T ~string | ~[]byte](dst []byte, text T) []byte {
	dst, _ = jsontext.AppendQuote(dst, text)
	return dst
}
