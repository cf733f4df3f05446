package registry

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// parseJSON reads stored JSON into nodes, all at the place of their column.
func parseJSON(at Position, text string) (*node, error) {
	decoder := jsontext.NewDecoder(strings.NewReader(text))
	n, err := jsonNode(decoder, at)
	if err != nil {
		return nil, fmt.Errorf("not valid JSON: %w", err)
	}
	if decoder.PeekKind() != 0 {
		return nil, fmt.Errorf("not valid JSON: text after the value")
	}
	return n, nil
}

func jsonNode(decoder *jsontext.Decoder, at Position) (*node, error) {
	if decoder.StackDepth() > maxDepth {
		return nil, fmt.Errorf("nested deeper than %d", maxDepth)
	}
	token, err := decoder.ReadToken()
	if err != nil {
		return nil, err
	}
	n := &node{at: at}
	switch token.Kind() {
	case 'n':
	case 't', 'f':
		n.what, n.text = boolean, token.String()
	case '0':
		n.what, n.text = number, token.String()
	case '"':
		n.what, n.text = words, token.String()
	case '[':
		n.what = items
		for decoder.PeekKind() != ']' {
			item, err := jsonNode(decoder, at)
			if err != nil {
				return nil, err
			}
			n.items = append(n.items, item)
		}
		_, err = decoder.ReadToken()
	case '{':
		n.what = keys
		for decoder.PeekKind() != '}' {
			name, err := decoder.ReadToken()
			if err != nil {
				return nil, err
			}
			key := name.String()
			value, err := jsonNode(decoder, at)
			if err != nil {
				return nil, err
			}
			n.entries = append(n.entries, entry{key, at, value})
		}
		_, err = decoder.ReadToken()
	}
	return n, err
}
