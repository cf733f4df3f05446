package event

import (
	"encoding/hex"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/document"
	"github.com/patra-ingest/patra/internal/core/fingerprint"
)

// ContentType is that of a sealed event: CloudEvents 1.0 in its JSON format.
const ContentType = "application/cloudevents+json"

// typePrefix begins the type of every event of ours.
const typePrefix = "io.github.patra-ingest."

// Sealed is an event as it travels.
type Sealed struct {
	Row      int64
	ID       string // what receivers know it again by
	Key      string
	Source   string
	Endpoint string
	Op       Op
	Bytes    []byte
}

// Content is how much of a record an event carries.
type Content string

// The contents.
const (
	WholeRecord Content = "record" // mapped fields and the item as it was sent
	FieldsOnly  Content = "fields"
	NoData      Content = "none" // that it changed, and where to find it
)

// Form is how changes become events for one destination. Whoever alters it alters
// the bytes of events that are published again.
type Form struct {
	Content  Content
	MaxBytes int // a larger event goes without its data, with a reference; 0: no limit
}

// Seal writes a change as an event. The same change in the same form gives the
// same bytes, whenever and wherever it is sealed.
func Seal(c Change, f Form) (Sealed, error) { return new(Sealer).Seal(c, f) }

// Sealer seals many changes with the same memory. An event is valid until Reset.
type Sealer struct {
	room Room
	text []byte
}

// Reset takes back the memory of all events.
func (s *Sealer) Reset() {
	s.room.Reset()
	if cap(s.text) > mostScratch {
		s.text = nil
	}
}

// mostScratch is how much is kept for the next event.
const mostScratch = 4 << 20

// Seal is what the function Seal does. An event that is too large with its data says
// instead where the data is, how long it is, and what it hashes to.
func (s *Sealer) Seal(c Change, f Form) (Sealed, error) {
	out := Sealed{Row: c.Row, ID: hex.EncodeToString(c.Identity), Key: c.Key, Source: c.Source, Endpoint: c.Endpoint, Op: c.Op}
	s.text = appendAttributes(s.text[:0], c, out.ID)
	attributes := len(s.text)
	s.text = append(s.text, `,"data":`...)
	from := len(s.text)
	s.text = appendContent(s.text, c, f.Content)
	to := len(s.text)
	s.text = append(appendExtensions(s.text, c, nil), '}')
	if f.MaxBytes > 0 && len(s.text) > f.MaxBytes {
		left := &absent{reference: Reference(c), bytes: to - from, sha256: fingerprint.Bytes(s.text[from:to])}
		s.text = append(appendExtensions(s.text[:attributes], c, left), '}')
	}
	out.Bytes = s.room.Copy(s.text)
	if f.MaxBytes > 0 && len(out.Bytes) > f.MaxBytes {
		return out, fmt.Errorf("%w: %d bytes without its data, %d are allowed", ErrTooLarge, len(out.Bytes), f.MaxBytes)
	}
	return out, nil
}

// appendAttributes writes the event up to its data.
func appendAttributes(b []byte, c Change, id string) []byte {
	b = appendOpening(b, id, TypeOf(c.Op), c.Source, c.Endpoint)
	if subject := strings.TrimSpace(strings.ToValidUTF8(c.RecordID, "\uFFFD")); subject != "" {
		b = appendText(append(b, `,"subject":`...), subject)
	}
	b = append(b, `,"datacontenttype":"application/json"`...)
	return appendInstant(b, "time", c.StoredAt)
}

// appendOpening writes what every event begins with. The source is an address whose
// parts are names.
func appendOpening(b []byte, id, kind string, names ...string) []byte {
	b = append(b, `{"specversion":"1.0","id":`...)
	b = appendText(b, id)
	b = append(b, `,"source":"patra:/`...)
	for _, name := range names {
		b = append(append(b, '/'), url.PathEscape(name)...)
	}
	b = append(b, `","type":`...)
	return appendText(b, kind)
}

// absent is data that an event travels without.
type absent struct {
	reference string
	bytes     int
	sha256    string
}

// appendExtensions writes the attributes of our own, by name. Of lineage there is one
// key, and one that never changes: from the batch run, task, slice and plan are found,
// also when they are archived.
func appendExtensions(b []byte, c Change, left *absent) []byte {
	if left != nil {
		b = appendText(append(b, `,"dataref":`...), left.reference)
	}
	b = appendText(append(b, `,"partitionkey":`...), c.Key)
	b = append(b, `,"patrabatch":"`...)
	b = strconv.AppendInt(b, c.BatchID, 10)
	if left != nil {
		b = append(b, `","patradatabytes":"`...)
		b = strconv.AppendInt(b, int64(left.bytes), 10)
		b = append(b, `","patradatasha256":"`...)
		b = append(b, left.sha256...)
	}
	b = append(b, `","patraversion":"`...)
	b = strconv.AppendInt(b, int64(c.Version), 10)
	b = append(b, `","sequence":"`...)
	return append(appendSequence(b, c.Row), '"')
}

// appendSequence fills up with zeros, so that texts sort as numbers do. It is what
// `events replay --from` takes.
func appendSequence(b []byte, row int64) []byte {
	const digits = 20
	var text [digits]byte
	for i := digits - 1; i >= 0; i-- {
		text[i] = '0' + byte(row%10)
		row /= 10
	}
	return append(b, text[:]...)
}

// appendText writes a text of the envelope as JSON, and only what must be escaped
// with an escape: events that are published again have the bytes of the first time,
// so the spelling of an escape may not change.
func appendText(b []byte, text string) []byte {
	const hexDigits = "0123456789abcdef"
	b = append(b, '"')
	from := 0
	for i := range len(text) {
		c := text[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		b = append(append(b, text[from:i]...), '\\')
		switch from = i + 1; c {
		case '"', '\\':
			b = append(b, c)
		case '\n':
			b = append(b, 'n')
		case '\r':
			b = append(b, 'r')
		case '\t':
			b = append(b, 't')
		default:
			b = append(b, 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
		}
	}
	return append(append(b, text[from:]...), '"')
}

// TypeOf returns the CloudEvents type of an op.
func TypeOf(op Op) string {
	switch op { // without making a text for each of many events
	case Inserted:
		return typePrefix + "record.inserted"
	case Updated:
		return typePrefix + "record.updated"
	case Removed:
		return typePrefix + "record.removed"
	}
	return typePrefix + "record." + strings.ToLower(string(op))
}

// Reference leads to the data of a change that travels without it.
func Reference(c Change) string {
	return Ref{c.Source, c.Endpoint, c.RecordID, c.Version}.String()
}

// appendContent writes by hand: the data consists of JSON already and need not be read
// and written anew.
func appendContent(b []byte, c Change, how Content) []byte {
	b = append(b, `{"id":`...)
	b = document.AppendText(b, c.RecordID)
	b = append(b, `,"version":`...)
	b = strconv.AppendInt(b, int64(c.Version), 10)
	b = appendInstant(b, "updatedAt", c.UpdatedAt)
	b = appendInstant(b, "fetchedAt", c.FetchedAt)
	if how != NoData && len(c.Fields) > 0 {
		b = document.AppendLine(append(b, `,"fields":`...), c.Fields) // written by us, and checked by the database
	}
	if (how == WholeRecord || how == "") && len(c.Payload) > 0 {
		b = document.AppendValue(append(b, `,"payload":`...), c.Payload)
	}
	return append(b, '}')
}

// appendInstant writes an instant under a name; the zero instant is left out.
func appendInstant(b []byte, name string, at time.Time) []byte {
	if at.IsZero() {
		return b
	}
	b = append(b, `,"`...)
	b = append(b, name...)
	b = append(b, `":"`...)
	return append(at.UTC().AppendFormat(b, time.RFC3339Nano), '"')
}

// Test returns an event that says only that it arrived.
func Test(destination, id string, at time.Time) Sealed {
	text := appendInstant(appendOpening(nil, id, typePrefix+"test", destination), "time", at)
	return Sealed{ID: id, Key: id, Source: "test", Endpoint: "test", Bytes: append(text, '}')}
}
