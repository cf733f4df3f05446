package export

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
)

// manifestKind names this shape of a manifest.
const manifestKind = "patra-export/1"

// Manifest says what an export holds. It is written last.
type Manifest struct {
	Kind        string    `json:"kind"`
	Source      string    `json:"source"`
	Endpoint    string    `json:"endpoint"`
	Format      Format    `json:"format"`
	Compression Packing   `json:"compression,omitempty"`
	States      States    `json:"states"`
	Since       string    `json:"since,omitempty"` // cursor this export began behind; without one it is whole
	Cursor      string    `json:"cursor"`          // what the next export takes as --since
	PartitionBy Cut       `json:"partitionBy,omitempty"`
	Fields      []string  `json:"fields,omitempty"`  // chosen by whoever exported
	Columns     []string  `json:"columns,omitempty"` // of CSV
	Payload     bool      `json:"payload,omitempty"`
	RawCells    bool      `json:"rawCells,omitempty"`
	Files       []File    `json:"files"`
	Records     int64     `json:"records"`
	Gone        int64     `json:"gone"` // of these, tombstones
	Bytes       int64     `json:"bytes"`
	Batches     Span      `json:"batches"`  // that wrote them
	Mappings    []string  `json:"mappings"` // fingerprints of the mappings they were read with
	StartedAt   time.Time `json:"startedAt"`
	FinishedAt  time.Time `json:"finishedAt"`
	Program     string    `json:"program"`
}

// Span is the first and the last of something.
type Span struct {
	First int64 `json:"first"`
	Last  int64 `json:"last"`
}

// Add takes one more into the span.
func (s *Span) Add(n int64) {
	if s.First == 0 || n < s.First {
		s.First = n
	}
	s.Last = max(s.Last, n)
}

// File is one file of an export.
type File struct {
	Name    string    `json:"name"`
	Records int64     `json:"records"`
	Gone    int64     `json:"gone"`
	Bytes   int64     `json:"bytes"`
	SHA256  string    `json:"sha256"`
	First   time.Time `json:"firstUpdatedAt,omitzero"` // earliest and latest date of its records
	Last    time.Time `json:"lastUpdatedAt,omitzero"`
}

// Add counts a record.
func (f *File) Add(r *Row) {
	if f.Records++; r.Gone {
		f.Gone++
	}
	if r.UpdatedAt.IsZero() {
		return
	}
	if f.First.IsZero() || r.UpdatedAt.Before(f.First) {
		f.First = r.UpdatedAt
	}
	if r.UpdatedAt.After(f.Last) {
		f.Last = r.UpdatedAt
	}
}

// NewManifest begins a manifest with what was ordered.
func NewManifest(o Order) Manifest {
	m := Manifest{
		Kind: manifestKind, Source: o.Source, Endpoint: o.Endpoint, Format: o.Form.Format, Compression: o.Packing, States: o.States, PartitionBy: o.Cut,
		Fields: o.Form.Fields, Payload: o.Form.Payload, RawCells: o.Form.RawCells, Files: []File{}, Mappings: []string{},
	}
	if o.Since != nil {
		m.Since = o.Since.String()
	}
	if o.Form.Format == CSV {
		m.Columns = o.Form.Header()
	}
	return m
}

// Encode writes a manifest.
func (m Manifest) Encode() ([]byte, error) {
	text, err := json.MarshalIndent(m, "", "  ")
	return append(text, '\n'), err
}

// ParseManifest reads a manifest. What it says was written by others: sums must
// agree, and whoever opens its files checks their names.
func ParseManifest(text []byte) (m Manifest, err error) {
	if err := json.Unmarshal(text, &m); err != nil {
		return m, fmt.Errorf("%w: it is no manifest of an export: %v", fault.ErrInvalid, err)
	}
	if m.Kind != manifestKind {
		return m, fmt.Errorf("%w: it is no manifest of an export: kind %.40q, expected %s", fault.ErrInvalid, m.Kind, manifestKind)
	}
	var sum File
	names := map[string]bool{}
	for _, f := range m.Files {
		if names[f.Name] {
			return m, fmt.Errorf("%w: the manifest names %.60q twice", fault.ErrInvalid, f.Name)
		}
		names[f.Name] = true
		sum.Records, sum.Gone, sum.Bytes = sum.Records+f.Records, sum.Gone+f.Gone, sum.Bytes+f.Bytes
	}
	if sum.Records != m.Records || sum.Gone != m.Gone || sum.Bytes != m.Bytes {
		return m, fmt.Errorf("%w: the sums of the manifest are not those of its files", fault.ErrInvalid)
	}
	if m.Since != "" {
		if _, err := ParseCursor(m.Since); err != nil {
			return m, err
		}
	}
	_, err = ParseCursor(m.Cursor)
	return m, err
}

// Sealed is a file as it was written.
type Sealed struct {
	Bytes  int64
	SHA256 string
}
