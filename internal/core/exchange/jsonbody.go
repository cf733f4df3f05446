package exchange

import (
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/patra-ingest/patra/internal/core/tmpl"
)

// jsonPlaces encodes values for their place in a JSON text. Within quotes a
// value becomes a part of that text; outside it becomes a whole JSON value.
// Either way what stands around it keeps its meaning.
type jsonPlaces struct {
	inText  bool
	scanned int // bytes of the output whose quotes have been counted
}

func (p *jsonPlaces) appendValue(dst []byte, value any) ([]byte, error) {
	p.scanText(dst)
	out, err := p.encodeValue(dst, value)
	p.scanned = len(out) // an encoded value leaves us in the same place
	return out, err
}

func (p *jsonPlaces) scanText(dst []byte) {
	for ; p.scanned < len(dst); p.scanned++ {
		switch dst[p.scanned] {
		case '"':
			p.inText = !p.inText
		case '\\':
			p.scanned++ // only within a text; elsewhere the whole is not JSON
		}
	}
}

func (p *jsonPlaces) encodeValue(dst []byte, value any) ([]byte, error) {
	if p.inText {
		text, err := tmpl.Text(value)
		if err != nil {
			return nil, err
		}
		start := len(dst)
		if dst, err = jsontext.AppendQuote(dst, text); err != nil {
			return nil, errors.New("a value is not valid UTF-8")
		}
		return append(dst[:start], dst[start+1:len(dst)-1]...), nil
	}
	encoded, err := json.Marshal(value, json.Deterministic(true))
	if err != nil {
		return nil, errors.New("a value cannot be written as JSON")
	}
	return append(dst, encoded...), nil
}
