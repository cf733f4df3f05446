package secret

import (
	"bytes"
	"encoding/binary"
	"unicode/utf16"
)

// utf8Mark stands at the beginning of a text to say that it is UTF-8.
const utf8Mark = "\xEF\xBB\xBF"

// utf16Text gives the units behind the byte order mark of UTF-16; order is nil if
// the text does not begin with one.
func utf16Text(text []byte) (units []byte, order binary.ByteOrder) {
	switch {
	case bytes.HasPrefix(text, []byte{0xFE, 0xFF}):
		return text[2:], binary.BigEndian
	case bytes.HasPrefix(text, []byte{0xFF, 0xFE}):
		return text[2:], binary.LittleEndian
	}
	return nil, nil
}

// inUTF16 looks into a text of two-byte units. One with a secret in it comes back
// in UTF-8, with its mark: readers of documents believe that before a declaration.
func (m *Masker) inUTF16(text, units []byte) []byte {
	_, order := utf16Text(text)
	wide := make([]uint16, len(units)/2)
	for i := range wide {
		wide[i] = order.Uint16(units[2*i:])
	}
	plain := []byte(string(utf16.Decode(wide)))
	spans := m.finder().findSpans(plain)
	if len(spans) == 0 {
		return text
	}
	return append([]byte(utf8Mark), cutOut(plain, spans)...)
}
