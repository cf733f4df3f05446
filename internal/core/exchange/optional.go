package exchange

import (
	"bytes"
	"errors"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/patra-ingest/patra/internal/core/tmpl"
)

// SentName returns the name under which a parameter, header or member is sent. One that
// ends in ? may be left out: it is where its value is empty, whatever templates.nullPolicy
// says. A name that really ends in ? is written with two.
func SentName(name string) string {
	sent, _ := cutOptional(name)
	return sent
}

func cutOptional(name string) (sent string, optional bool) {
	if strings.HasSuffix(name, "??") {
		return strings.TrimSuffix(name, "?"), false
	}
	return strings.CutSuffix(name, "?")
}

// placeMark stands for the value of the nth ${…} of a body.
func placeMark(n int) string { return "\ue000" + strconv.Itoa(n) + "\ue001" }

// findOptional finds the members of a JSON body that may be left out, and which ${…}
// stand in them: those may be empty even where templates.nullPolicy is FAIL.
func (b *body) findOptional() error {
	places, n := new(jsonPlaces), 0
	sample, err := b.text.Sample(nil, func(dst []byte, _ any) ([]byte, error) {
		n++
		return places.appendValue(dst, placeMark(n-1))
	})
	if err != nil {
		return err
	}
	b.excused = make([]bool, n)
	var walk func(value jsontext.Value, excused bool) error
	walk = func(value jsontext.Value, excused bool) error {
		if kind := value.Kind(); kind != '{' && kind != '[' {
			for i := range b.excused {
				b.excused[i] = b.excused[i] || excused && bytes.Contains(value, []byte(placeMark(i)))
			}
			return nil
		}
		return eachPart(value, func(name string, part jsontext.Value) error {
			_, optional := cutOptional(name)
			if strings.HasSuffix(name, "?") {
				b.optional = true
			}
			b.namedByValue = b.namedByValue || strings.Contains(name, "\ue000")
			return walk(part, excused || optional)
		})
	}
	if err := walk(sample, false); err != nil || !b.optional {
		return err
	}
	if b.namedByValue {
		return errors.New("the name of one member holds ${…}, and the name of another ends in ?: a value could end in ? too; write the names out")
	}
	whole, err := leaveOutEmpty(sample)
	if err == nil && !whole.IsValid() {
		err = errors.New("has a member twice, with ? and without: write it once")
	}
	return err
}

// eachPart reads the members of an object, or the items of a list, which have no names.
func eachPart(value jsontext.Value, do func(name string, part jsontext.Value) error) error {
	in := jsontext.NewDecoder(bytes.NewReader(value), jsontext.AllowDuplicateNames(true))
	opening, err := in.ReadToken()
	if err != nil {
		return err
	}
	object := opening.Kind() == '{'
	for in.PeekKind() != '}' && in.PeekKind() != ']' {
		name := ""
		if object {
			token, err := in.ReadToken()
			if err != nil {
				return err
			}
			name = token.String()
		}
		part, err := in.ReadValue()
		if err != nil {
			return err
		}
		if err := do(name, part); err != nil {
			return err
		}
	}
	return nil
}

// leaveOutEmpty writes a JSON text without its optional members that are empty: null, "",
// [] and {}. An object whose members were all left out is empty too.
func leaveOutEmpty(value jsontext.Value) (jsontext.Value, error) {
	kind := value.Kind()
	if kind != '{' && kind != '[' {
		return bytes.TrimSpace(value), nil
	}
	out := []byte{byte(kind)}
	err := eachPart(value, func(name string, part jsontext.Value) error {
		part, err := leaveOutEmpty(part)
		if err != nil {
			return err
		}
		sent, optional := cutOptional(name)
		if optional && isEmptyJSON(part) {
			return nil
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		if kind == '{' {
			if out, err = jsontext.AppendQuote(out, sent); err != nil {
				return err
			}
			out = append(out, ':')
		}
		out = append(out, part...)
		return nil
	})
	return append(out, byte(kind)+2), err // the closing sign stands two behind the opening one
}

func isEmptyJSON(value jsontext.Value) bool {
	switch string(value) {
	case "null", `""`, "[]", "{}":
		return true
	}
	return false
}

// refuseNothing makes an encoder refuse values that are empty, those apart that stand in
// an optional member.
func (b *body) refuseNothing(encode tmpl.Encoder) tmpl.Encoder {
	n := 0
	return func(dst []byte, value any) ([]byte, error) {
		n++
		excused := n <= len(b.excused) && b.excused[n-1]
		if (value == nil || value == "") && !excused {
			return nil, errors.New("a value yields nothing, and templates.nullPolicy is FAIL")
		}
		return encode(dst, value)
	}
}
