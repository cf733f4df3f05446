package extract

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/patra-ingest/patra/internal/core/document"
	"github.com/patra-ingest/patra/internal/core/record"
)

// field is an output field of the mapped record.
type field struct {
	valueSlot
	name     string
	key      []byte // the name as JSON text
	required bool
	allowed  []string // the values it may have; nil: any
}

// missingField says that a required field is not in the item.
type missingField struct{ field }

func (m missingField) Error() string { return fmt.Sprintf("output field %q is required", m.name) }

// failedField says that a template could not be evaluated on the item.
type failedField struct {
	field
	err error
}

func (f failedField) Error() string { return fmt.Sprintf("output field %q: %v", f.name, f.err) }

// appendFields writes the mapped record, a JSON object in order of field names, into an
// empty buffer. Fields without a value are left out. The parts are the values, with the
// places of those that are copied.
func (r *Reader) appendFields(out []byte, item entry, tolerant bool) ([]byte, []record.Part, error) {
	out = append(out, '{')
	parts := make([]record.Part, 0, len(r.item.fields))
	for i := range r.item.fields {
		f := &r.item.fields[i]
		mark := len(out)
		if mark > 1 {
			out = append(out, ',')
		}
		out = append(append(out, f.key...), ':')
		begin := len(out)
		written, present, err := f.appendValue(out, item.facts)
		if err != nil {
			return nil, nil, failedField{*f, err}
		}
		if !present && f.required && !tolerant {
			return nil, nil, missingField{*f}
		}
		if out = written; !present {
			out = out[:mark]
			continue
		}
		if other, is := f.findIllegal(out[begin:]); is && !tolerant {
			return nil, nil, illegalField{*f, other}
		}
		place := int64(-1)
		if !f.IsTemplate() {
			place = item.Values[f.from].Offset() - item.Offset
		}
		parts = append(parts, record.Part{Begin: int32(begin), End: int32(len(out)), Place: int32(max(-1, min(place, math.MaxInt32)))})
	}
	return append(out, '}'), parts, nil
}

// appendValue copies what a path found, or writes what a template computed.
func (f *field) appendValue(out []byte, values facts) (written []byte, present bool, err error) {
	if !f.IsTemplate() {
		value := values.found[f.from]
		if !value.Present() || value.IsNull() {
			return out, false, nil
		}
		return append(out, value.Raw()...), true, nil
	}
	computed, err := f.computeIn(values)
	if err != nil || computed == nil {
		return out, false, err
	}
	out, err = appendJSON(out, computed)
	return out, true, err
}

func appendJSON(out []byte, value any) ([]byte, error) {
	switch v := value.(type) {
	case nil:
		return append(out, "null"...), nil
	case string:
		return jsontext.AppendQuote(out, v)
	case bool:
		return strconv.AppendBool(out, v), nil
	case int64:
		return strconv.AppendInt(out, v, 10), nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return out, fmt.Errorf("%v is not a number of JSON", v)
		}
		return append(out, jsontext.Float(v).String()...), nil
	case time.Time:
		return jsontext.AppendQuote(out, v.UTC().Format(time.RFC3339Nano))
	case []any:
		return appendList(out, v)
	case map[string]any:
		return appendMembers(out, v)
	}
	return out, fmt.Errorf("a value of type %T cannot be written as JSON", value)
}

func appendList(out []byte, list []any) (_ []byte, err error) {
	out = append(out, '[')
	for i, element := range list {
		if i > 0 {
			out = append(out, ',')
		}
		if out, err = appendJSON(out, element); err != nil {
			return out, err
		}
	}
	return append(out, ']'), nil
}

func appendMembers(out []byte, members map[string]any) (_ []byte, err error) {
	out = append(out, '{')
	for i, name := range slices.Sorted(maps.Keys(members)) {
		if i > 0 {
			out = append(out, ',')
		}
		if out, err = jsontext.AppendQuote(out, name); err != nil {
			return out, err
		}
		if out, err = appendJSON(append(out, ':'), members[name]); err != nil {
			return out, err
		}
	}
	return append(out, '}'), nil
}

// isNullItem reports whether an entry of the items is null.
func isNullItem(item document.Item) bool { return item.Err == nil && string(item.JSON) == "null" }
