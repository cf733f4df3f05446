package bench

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// handRecord is what the loop written for Crossref alone makes of one item.
type handRecord struct {
	id      string
	updated time.Time
	fields  []byte
	raw     []byte
}

// handField are the bundled mapping's output fields in order of their names,
// with the member they come from and what to take of it.
type handField struct{ name, member, inside string }

var handFields = []handField{
	{"abstract", "abstract", ""}, {"authors", "author", ""}, {"cited_by_count", "is-referenced-by-count", ""},
	{"container_title", "container-title", "[0]"}, {"created_at", "created", "date-time"}, {"deposited_at", "deposited", "date-time"}, {"doi", "DOI", ""},
	{"funders", "funder", ""}, {"isbn", "ISBN", ""}, {"issn", "ISSN", ""}, {"issue", "issue", ""}, {"issued", "issued", "date-parts"},
	{"language", "language", ""}, {"licenses", "license", ""}, {"page", "page", ""}, {"publisher", "publisher", ""},
	{"references_count", "references-count", ""}, {"subtitle", "subtitle", "[0]"}, {"title", "title", "[0]"}, {"type", "type", ""},
	{"update_to", "update-to", ""}, {"updated_by", "updated-by", ""}, {"url", "URL", ""}, {"volume", "volume", ""},
}

// hand reads pages with the same decoder and the same strictness as the
// program, but everything it looks for is written out.
type hand struct {
	dec    *jsontext.Decoder
	body   []byte
	slots  map[string]int // member → place in handFields
	values [][]byte
	token  string
}

func newHand(body []byte) *hand {
	h := &hand{dec: jsontext.NewDecoder(bytes.NewBuffer(body)), body: body, slots: map[string]int{}, values: make([][]byte, len(handFields))}
	for i, f := range handFields {
		h.slots[f.member] = i
	}
	return h
}

// page reads a whole page; what to make of an item is the caller's.
func (h *hand) page(item func() (handRecord, error)) (records []handRecord, err error) {
	err = h.members(func(name []byte) (bool, error) {
		if string(name) != "message" {
			return false, nil
		}
		return true, h.members(func(name []byte) (bool, error) {
			switch string(name) {
			case "next-cursor", "total-results":
				raw, err := h.dec.ReadValue()
				h.token = string(raw)
				return true, err
			case "items":
				return true, h.elements(func(int) error {
					r, err := item()
					records = append(records, r)
					return err
				})
			}
			return false, nil
		})
	})
	if err != nil {
		return nil, err
	}
	if _, err := h.dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more after the page")
	}
	return records, nil
}

// start is where the next item starts.
func (h *hand) start() int {
	h.dec.PeekKind()
	start := int(h.dec.InputOffset())
	if h.body[start] == ',' {
		start++
	}
	return start
}

// all reads every field of the bundled mapping; without fields it only finds
// the values.
func (h *hand) all(withFields bool) (r handRecord, err error) {
	clear(h.values)
	start := h.start()
	var updated []byte
	err = h.members(func(name []byte) (bool, error) {
		if string(name) == "indexed" {
			updated, err = h.member("date-time")
			return true, err
		}
		slot, wanted := h.slots[string(name)]
		if !wanted {
			return false, nil
		}
		h.values[slot], err = h.take(handFields[slot].inside)
		return true, err
	})
	if err != nil {
		return r, err
	}
	r.raw = h.body[start:h.dec.InputOffset()]
	if !withFields {
		return r, nil
	}
	id, _ := jsontext.AppendUnquote(nil, h.values[slices.IndexFunc(handFields, func(f handField) bool { return f.name == "doi" })])
	r.id = strings.ToLower(string(id))
	r.updated, err = time.Parse(time.RFC3339, strings.Trim(string(updated), `"`))
	r.fields = h.fields()
	return r, err
}

func (h *hand) fields() []byte {
	out := append(make([]byte, 0, 2048), '{')
	for i, f := range handFields {
		if h.values[i] == nil {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(append(out, '"'), f.name...), '"', ':'), h.values[i]...)
	}
	return append(out, '}')
}

// take reads the next value, or the part of it that is asked for.
func (h *hand) take(inside string) (value []byte, err error) {
	switch inside {
	case "":
		return h.value()
	case "[0]":
		return h.first()
	case "date-parts":
		err = h.members(func(name []byte) (bool, error) {
			if string(name) != inside {
				return false, nil
			}
			value, err = h.first()
			return true, err
		})
		return value, err
	}
	return h.member(inside)
}

func (h *hand) value() ([]byte, error) {
	raw, err := h.dec.ReadValue()
	if err != nil {
		return nil, err
	}
	end := h.dec.InputOffset()
	return h.body[int(end)-len(raw) : end], nil
}

func (h *hand) first() (value []byte, err error) {
	err = h.elements(func(i int) error {
		raw, err := h.value()
		if i == 0 {
			value = raw
		}
		return err
	})
	return value, err
}

func (h *hand) member(wanted string) (value []byte, err error) {
	err = h.members(func(name []byte) (bool, error) {
		if string(name) != wanted {
			return false, nil
		}
		value, err = h.value()
		return true, err
	})
	return value, err
}

// members walks an object; each says whether it has read the value. The name is
// gone when the value is read.
func (h *hand) members(each func(name []byte) (bool, error)) error {
	if _, err := h.dec.ReadToken(); err != nil {
		return err
	}
	for h.dec.PeekKind() != '}' {
		name, err := h.dec.ReadValue()
		if err != nil {
			return err
		}
		read, err := each(name[1 : len(name)-1])
		if err == nil && !read {
			err = h.dec.SkipValue()
		}
		if err != nil {
			return err
		}
	}
	_, err := h.dec.ReadToken()
	return err
}

func (h *hand) elements(each func(i int) error) error {
	if _, err := h.dec.ReadToken(); err != nil {
		return err
	}
	for i := 0; h.dec.PeekKind() != ']'; i++ {
		if err := each(i); err != nil {
			return err
		}
	}
	_, err := h.dec.ReadToken()
	return err
}
