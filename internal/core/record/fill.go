package record

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Fills reports whether an item that would overwrite the stored record may only
// fill its empty fields (§11.1). Where there is nothing to protect it is taken
// whole: a record that is not stored, or one that was gone and is back.
func Fills(stored *Head, in Incoming) bool {
	return in.FillOnly && stored != nil && stored.State == Active && Decide(stored, in) == Update
}

// Fill gives the stored output fields with those filled that are empty and have
// a value in the incoming ones. A stored value never changes. Both are JSON
// objects, nothing counts as one without members; the result is one in
// canonical form.
func Fill(stored, incoming []byte) (merged []byte, changed bool, err error) {
	have, canonical, err := splitMembers(stored)
	if err != nil {
		return nil, false, fmt.Errorf("stored fields: %w", err)
	}
	offered, _, err := splitMembers(incoming)
	if err != nil {
		return nil, false, fmt.Errorf("incoming fields: %w", err)
	}
	for name, value := range offered {
		if isEmpty(have[name]) && !isEmpty(value) {
			have[name], changed = value, true
		}
	}
	if !changed {
		return canonical, false, nil
	}
	merged, err = joinMembers(have)
	return merged, true, err
}

// splitMembers takes an object apart, and writes it in canonical form.
func splitMembers(raw []byte) (all map[string]jsontext.Value, canonical []byte, err error) {
	all = map[string]jsontext.Value{}
	if len(raw) == 0 {
		return all, []byte("{}"), nil
	}
	if canonical, err = jsontext.AppendFormat(nil, raw, canonicalForm()...); err != nil {
		return nil, nil, err
	}
	if canonical[0] != '{' {
		return nil, nil, fmt.Errorf("not a JSON object but %.20q", canonical)
	}
	in := jsontext.NewDecoder(bytes.NewBuffer(canonical), lenientOptions()...)
	if _, err = in.ReadToken(); err != nil {
		return nil, nil, err
	}
	for in.PeekKind() != '}' {
		name, err := in.ReadToken()
		if err != nil {
			return nil, nil, err
		}
		key := name.String() // before the next read takes the buffer
		value, err := in.ReadValue()
		if err != nil {
			return nil, nil, err
		}
		all[key] = value.Clone()
	}
	return all, canonical, nil
}

func joinMembers(all map[string]jsontext.Value) (out []byte, err error) {
	out = append(out, '{')
	for i, name := range slices.Sorted(maps.Keys(all)) {
		if i > 0 {
			out = append(out, ',')
		}
		if out, err = jsontext.AppendQuote(out, name); err != nil {
			return nil, err
		}
		out = append(append(out, ':'), all[name]...)
	}
	return jsontext.AppendFormat(nil, append(out, '}'), canonicalForm()...)
}

// canonicalForm returns that of the content hash: one order of members, numbers as
// they were written.
func canonicalForm() []jsontext.Options {
	return append(lenientOptions(), jsontext.ReorderRawObjects(true), jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false))
}

// lenientOptions returns options that accept what stands inside a value: that is up to
// the source, and was checked when the item was read.
func lenientOptions() []jsontext.Options {
	return []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}
}

// isEmpty reports whether a value is nothing, null, a blank text, or a list or object
// without elements. Zero and false are values. The value is in canonical form.
func isEmpty(value jsontext.Value) bool {
	switch string(value) {
	case "", "null", "[]", "{}":
		return true
	}
	if value[0] != '"' {
		return false
	}
	text, err := jsontext.AppendUnquote(nil, value)
	return err == nil && len(strings.TrimSpace(string(text))) == 0
}
