package tmpl

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/patra-ingest/patra/internal/core/document"
)

// ValueOf returns what a path selected as a value of templates; nil if that is nothing.
func ValueOf(v document.Value) (any, error) { return decodeValue(v) }

// decodeValue turns what a path selected into a value of the language. Whole numbers
// stay exact: int64, or their digits where int64 is too small.
func decodeValue(v document.Value) (any, error) {
	switch v.Kind() {
	case document.Absent, document.Null:
		return nil, nil
	case document.Array, document.Object:
		return decodeTree(jsontext.NewDecoder(bytes.NewReader(v.Raw())))
	}
	text, ok := v.Text()
	if !ok {
		return nil, fmt.Errorf("a text is not valid UTF-8")
	}
	switch v.Kind() {
	case document.Bool:
		return text == "true", nil
	case document.Number:
		return decodeNumber(text), nil
	}
	return text, nil
}

func decodeNumber(text string) any {
	if !strings.ContainsAny(text, ".eE") {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n
		}
		return text
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return text
	}
	return f
}

// decodeTree reads one JSON value; the document package has checked it and its depth.
func decodeTree(d *jsontext.Decoder) (any, error) {
	token, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case jsontext.KindNull:
		return nil, nil
	case jsontext.KindTrue, jsontext.KindFalse:
		return token.Bool(), nil
	case jsontext.KindNumber:
		return decodeNumber(token.String()), nil
	case jsontext.KindBeginArray:
		return decodeList(d)
	case jsontext.KindBeginObject:
		return decodeMap(d)
	}
	return token.String(), nil
}

func decodeList(d *jsontext.Decoder) (any, error) {
	list := []any{}
	for d.PeekKind() != jsontext.KindEndArray {
		value, err := decodeTree(d)
		if err != nil {
			return nil, err
		}
		list = append(list, value)
	}
	_, err := d.ReadToken()
	return list, err
}

func decodeMap(d *jsontext.Decoder) (any, error) {
	members := map[string]any{}
	for d.PeekKind() != jsontext.KindEndObject {
		name, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String()
		if members[key], err = decodeTree(d); err != nil {
			return nil, err
		}
	}
	_, err := d.ReadToken()
	return members, err
}

// plainValue gives a result one of the types Eval promises.
func plainValue(value any) any {
	switch v := value.(type) {
	case int:
		return int64(v)
	case time.Time:
		return v.UTC()
	case []any:
		for i := range v {
			v[i] = plainValue(v[i])
		}
	case []string:
		list := make([]any, len(v))
		for i, text := range v {
			list[i] = text
		}
		return list
	}
	return value
}
