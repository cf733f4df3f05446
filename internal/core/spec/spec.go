// Package spec compiles what the registry says about one operation of one
// endpoint into an immutable snapshot with a fingerprint (§3.3), and a snapshot
// into the program that executes it.
//
// After planning, nothing else of the registry is ever read (I10). A snapshot
// holds references to credentials, never their values.
package spec

import (
	"encoding/json"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/extract"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/paging"
	"github.com/patra-ingest/patra/internal/core/query"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/window"
)

// format is raised when the meaning of a stored snapshot changes.
const format = 1

// Snapshot is a compiled specification. Every field is filled.
type Snapshot struct {
	Format    int              `json:"format"`
	Source    string           `json:"source"`
	Endpoint  string           `json:"endpoint"`
	Operation ingest.Operation `json:"operation"`

	HTTP     exchange.Config        `json:"http"`
	Request  exchange.RequestConfig `json:"request"`
	Filter   query.DateFilter       `json:"filter"`
	Paging   paging.Config          `json:"paging"`
	Window   window.Config          `json:"window"`
	Slicing  slicing.Config         `json:"slicing"`
	Rate     gate.Limits            `json:"rate"`
	Retry    fault.RetryPolicy      `json:"retry"`
	Response extract.Config         `json:"response"`
	Contact  registry.Contact       `json:"contact"`
}

// Compiled is a snapshot with its identity.
type Compiled struct {
	Snapshot    Snapshot
	Canonical   []byte
	Fingerprint string
	MappingHash string // identity of the mapping alone: how items become records
	Warnings    []string
}

// Compile checks the merged configuration and freezes it.
func Compile(r *registry.Resolved) (*Compiled, error) {
	if err := r.Validate().Err(); err != nil {
		return nil, err
	}
	s := Snapshot{
		Format: format, Source: r.Source, Endpoint: r.Endpoint, Operation: ingest.Operation(r.Operation),
		HTTP: r.HTTP, Request: r.Request, Filter: r.Filter, Paging: r.Paging, Window: r.Window, Slicing: r.Slicing,
		Rate: r.Rate, Retry: r.Retry, Response: r.Response, Contact: r.Contact,
	}
	if _, err := s.Program(); err != nil {
		return nil, err
	}
	canonical, err := fingerprint.Canonical(s)
	if err != nil {
		return nil, err
	}
	mapping, err := fingerprint.Of(s.Response)
	if err != nil {
		return nil, err
	}
	return &Compiled{Snapshot: s, Canonical: canonical, Fingerprint: fingerprint.Bytes(canonical), MappingHash: mapping, Warnings: s.degradations()}, nil
}

// degradations are what this source cannot do; they go into the plan's remarks (§12.4).
func (s Snapshot) degradations() []string {
	var out []string
	if s.Response.Total.IsZero() {
		out = append(out, "noTotal: the upstream announces no total, so a short delivery cannot be noticed")
	}
	if s.Response.Filtered.IsZero() {
		out = append(out, "noFilteredPath: items outside the asked window cannot be told apart and are kept")
	}
	return out
}

// Dataset is where the records go.
func (s Snapshot) Dataset() ingest.Dataset {
	return ingest.Dataset{Source: s.Source, Endpoint: s.Endpoint}
}

// Load reads a stored snapshot.
func Load(canonical []byte) (Snapshot, error) {
	var s Snapshot
	if err := json.Unmarshal(canonical, &s); err != nil {
		return s, fmt.Errorf("read snapshot: %w", err)
	}
	if s.Format != format {
		return s, fmt.Errorf("read snapshot: format %d, this program knows %d", s.Format, format)
	}
	return s, nil
}

// Program is a snapshot ready to run. It is safe for concurrent use.
type Program struct {
	Snapshot
	Render *exchange.Renderer
	Read   *extract.Reader
}

// Program compiles templates and paths.
func (s Snapshot) Program() (*Program, error) {
	render, err := exchange.NewRenderer(s.HTTP, s.Request)
	if err != nil {
		return nil, err
	}
	read, err := extract.Compile(s.Response)
	if err != nil {
		return nil, err
	}
	return &Program{s, render, read}, nil
}
