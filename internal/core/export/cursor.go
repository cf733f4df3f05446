package export

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/fingerprint"
)

// Cursor is how far an export came: all that was written by batches up to one, of
// which none can still come. The next export begins behind it.
type Cursor struct {
	Source   string `json:"s"`
	Endpoint string `json:"e"`
	Batch    int64  `json:"b"`
	// Body and FetchedAt are of the newest version up to there. A database that was
	// restored from a copy and went on has another one under this id: its ids no
	// longer mean what the cursor means.
	Body      int64 `json:"v,omitempty"`
	FetchedAt int64 `json:"t,omitempty"` // microseconds
	// At is when nothing more could come. Where the version was removed since, the
	// batches up to there tell: those of a history that went on are younger.
	At int64 `json:"a,omitempty"` // microseconds
}

// Mark is where a database stands: no batch up to it can still come.
type Mark struct {
	DatasetID int64
	Batch     int64
	Body      int64
	FetchedAt int64
	At        time.Time // by the clock of the store, when it was looked for
	SettledAt time.Time // when it was found; zero: nothing was ever written
}

// Cursor of a mark.
func (m Mark) Cursor(source, endpoint string) Cursor {
	c := Cursor{Source: source, Endpoint: endpoint, Batch: m.Batch, Body: m.Body, FetchedAt: m.FetchedAt}
	if !m.SettledAt.IsZero() {
		c.At = m.SettledAt.UnixMicro()
	}
	return c
}

const (
	cursorPrefix = "px1-"
	sumLength    = 8
)

// String returns what people copy: it ends with a checksum, so that half a cursor
// is not taken for a whole one.
func (c Cursor) String() string {
	text, _ := json.Marshal(c) // of texts and numbers
	body := cursorPrefix + base64.RawURLEncoding.EncodeToString(text)
	return body + "." + fingerprint.Bytes([]byte(body))[:sumLength]
}

// ParseCursor reads what String wrote.
func ParseCursor(text string) (c Cursor, err error) {
	text = strings.TrimSpace(text)
	body, sum, _ := strings.Cut(text, ".")
	encoded, ours := strings.CutPrefix(body, cursorPrefix)
	if !ours || sum != fingerprint.Bytes([]byte(body))[:sumLength] {
		return c, fmt.Errorf("%w: %.60q is no cursor of an export: copy the whole cursor from the manifest", fault.ErrInvalid, text)
	}
	raw, err := base64.RawURLEncoding.DecodeString(encoded)
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.DisallowUnknownFields()
		err = d.Decode(&c)
	}
	if err != nil || c.Batch < 0 || c.Source == "" || c.Endpoint == "" {
		return c, fmt.Errorf("%w: %.60q is no cursor of an export: was it written by a newer program?", fault.ErrInvalid, text)
	}
	return c, nil
}
