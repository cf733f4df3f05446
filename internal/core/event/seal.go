package event

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	ce "github.com/cloudevents/sdk-go/v2/event"

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
	data []byte
	text bytes.Buffer
}

// Reset takes back the memory of all events.
func (s *Sealer) Reset() {
	s.room.Reset()
	if cap(s.data)+s.text.Cap() > mostScratch {
		s.data, s.text = nil, bytes.Buffer{}
	}
}

// mostScratch is how much is kept for the next event.
const mostScratch = 4 << 20

// Seal is what the function Seal does.
func (s *Sealer) Seal(c Change, f Form) (Sealed, error) {
	out := Sealed{Row: c.Row, ID: hex.EncodeToString(c.Identity), Key: c.Key, Source: c.Source, Endpoint: c.Endpoint, Op: c.Op}
	if isPlain(c) {
		s.data = appendPlain(s.data[:0], c, out.ID, f.Content)
		if f.MaxBytes == 0 || len(s.data) <= f.MaxBytes {
			out.Bytes = s.room.Copy(s.data)
			return out, nil
		}
	}
	return s.bySDK(out, c, f)
}

// bySDK writes what is not usual: foreign text, and events without their data.
func (s *Sealer) bySDK(out Sealed, c Change, f Form) (Sealed, error) {
	e := envelope(c, out.ID)
	s.data = appendContent(s.data[:0], c, f.Content)
	e.DataEncoded = s.data
	text, err := s.written(e)
	if err != nil {
		return out, fmt.Errorf("write event %s: %w", out.ID, err)
	}
	if out.Bytes = text; f.MaxBytes == 0 || len(text) <= f.MaxBytes {
		return out, nil
	}
	e.DataEncoded = nil
	e.SetExtension("dataref", Reference(c))
	e.SetExtension("patradatabytes", strconv.Itoa(len(s.data)))
	e.SetExtension("patradatasha256", fingerprint.Bytes(s.data))
	if out.Bytes, err = s.written(e); err == nil && len(out.Bytes) > f.MaxBytes {
		err = fmt.Errorf("%w: %d bytes without its data, %d are allowed", ErrTooLarge, len(out.Bytes), f.MaxBytes)
	}
	return out, err
}

func (s *Sealer) written(e ce.Event) ([]byte, error) {
	s.text.Reset()
	err := ce.WriteJson(&e, &s.text)
	return s.room.Copy(s.text.Bytes()), err
}

func envelope(c Change, id string) ce.Event {
	e := ce.New(ce.CloudEventsVersionV1)
	e.SetID(id)
	e.SetSource("patra://" + url.PathEscape(c.Source) + "/" + url.PathEscape(c.Endpoint))
	e.SetType(TypeOf(c.Op))
	if c.RecordID != "" {
		e.SetSubject(strings.ToValidUTF8(c.RecordID, "\uFFFD"))
	}
	e.SetTime(c.StoredAt)
	e.SetDataContentType(ce.ApplicationJSON)
	// One key of lineage, and one that never changes: from the batch run, task, slice
	// and plan are found, also when they are archived.
	e.SetExtension("patrabatch", strconv.FormatInt(c.BatchID, 10))
	e.SetExtension("patraversion", strconv.Itoa(c.Version))
	e.SetExtension("partitionkey", c.Key)
	e.SetExtension("sequence", fmt.Sprintf("%020d", c.Row)) // sorts as a text; what `events replay --from` takes
	return e
}

// TypeOf is the CloudEvents type of an op.
func TypeOf(op Op) string { return typePrefix + "record." + strings.ToLower(string(op)) }

// Reference leads to the data of a change that travels without it.
func Reference(c Change) string {
	return Ref{c.Source, c.Endpoint, c.RecordID, c.Version}.String()
}

// appendContent writes by hand: what the data is made of is JSON already, and is
// not to be read and written anew.
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

func appendInstant(b []byte, name string, at time.Time) []byte {
	if at.IsZero() {
		return b
	}
	b = append(b, `,"`...)
	b = append(b, name...)
	b = append(b, `":"`...)
	return append(at.UTC().AppendFormat(b, time.RFC3339Nano), '"')
}

// Test is an event that says only that it arrived.
func Test(destination, id string, at time.Time) (Sealed, error) {
	e := ce.New(ce.CloudEventsVersionV1)
	e.SetID(id)
	e.SetSource("patra://" + url.PathEscape(destination))
	e.SetType(typePrefix + "test")
	e.SetTime(at)
	text, err := new(Sealer).written(e)
	return Sealed{ID: id, Key: id, Source: "test", Endpoint: "test", Bytes: text}, err
}
