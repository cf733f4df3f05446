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

	"github.com/patra-ingest/patra/internal/core/extract"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/files"
	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/freshness"
	"github.com/patra-ingest/patra/internal/core/generation"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/paging"
	"github.com/patra-ingest/patra/internal/core/query"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/schedule"
	"github.com/patra-ingest/patra/internal/core/twophase"
)

// format is raised when the meaning of a stored snapshot changes.
const format = 2

// Snapshot is a compiled specification. Every field is filled.
type Snapshot struct {
	Format    int              `json:"format"`
	Source    string           `json:"source"`
	Endpoint  string           `json:"endpoint"`
	Operation ingest.Operation `json:"operation"`

	registry.Settings
	// RateSet are the keys of the rate section that were set for one run. The others
	// are only those of the day of planning: a task reads them anew (D§5.31).
	RateSet []string `json:"rateSet,omitempty"`
	// Detail is the endpoint of the second step: what a slice needs is in its
	// snapshot, or a changed detail endpoint would reach into running plans.
	Detail *Snapshot `json:"detail,omitempty"`
	// SearchIsWhole says that the search gives whole records. Detail is asked about
	// records that are named, never about what a search finds.
	SearchIsWhole bool `json:"searchIsWhole,omitempty"`
	// Bootstrap is the set of files that is read before the first harvest (window.bootstrap).
	Bootstrap *Snapshot `json:"bootstrap,omitempty"`
	// Parent is the endpoint whose stored records are the parts of the list (partitions.NAME.from).
	Parent *Parent `json:"parent,omitempty"`
	// carried are what templates name beside the value of a part that is only tried; see Only.
	carried []string
	// Lists says that the endpoint only names files of another one: it cannot be planned.
	Lists bool `json:"lists,omitempty"`
}

// Compiled is a snapshot with its identity.
type Compiled struct {
	Snapshot    Snapshot
	Canonical   []byte
	Fingerprint string
	MappingHash string // identity of the mapping alone: how items become records
	Prototype   query.Prototype
	Warnings    []Warning
	// Foreign: settings of a run made it ask for something else than the source
	// does by itself.
	Foreign bool
	// Alerts are by what the source wants to be judged. They are no part of what a plan
	// does, so a snapshot that was stored has none.
	Alerts freshness.Config
}

// Compile checks the merged configuration and freezes it.
func Compile(r *registry.Resolved) (*Compiled, error) {
	s, err := freezeResolved(r)
	if err != nil {
		return nil, err
	}
	c, err := s.Compiled()
	if err != nil {
		return nil, err
	}
	c.Alerts = r.Alerts
	return c, nil
}

// Compiled gives a snapshot its identity.
func (s Snapshot) Compiled() (*Compiled, error) {
	program, err := s.Program()
	if err != nil {
		return nil, err
	}
	prototype, err := program.Prototype()
	if err != nil {
		return nil, err
	}
	canonical, err := fingerprint.Canonical(s)
	if err != nil {
		return nil, err
	}
	mapping, err := fingerprint.Of(s.Reading())
	if err != nil {
		return nil, err
	}
	return &Compiled{
		Snapshot: s, Canonical: canonical, Fingerprint: fingerprint.Bytes(canonical),
		MappingHash: mapping, Prototype: prototype, Warnings: s.listDegradations(),
	}, nil
}

func freezeResolved(r *registry.Resolved) (Snapshot, error) {
	if err := r.Validate().Err(); err != nil {
		return Snapshot{}, err
	}
	s := Snapshot{
		Format: format, Source: r.Source, Endpoint: r.Endpoint, Operation: ingest.Operation(r.Operation),
		Settings: r.Settings, RateSet: r.Overridden("rate"),
	}
	s.Schedule, s.Alerts = schedule.Config{}, freshness.Config{} // when to plan and when to look are no part of what a plan does
	s.Healing = s.Healing.WithoutDefaults()
	s.Lists = r.IsListing()
	if err := s.freezeParent(r); err != nil {
		return Snapshot{}, err
	}
	if err := s.freezeBootstrap(r); err != nil {
		return Snapshot{}, err
	}
	if r.Files.On() {
		return freezeFiles(s, r)
	}
	if !s.Details.Enabled() {
		return s, nil
	}
	if r.StandsAlone() { // it is its own second step: there is no list before it
		own := s
		own.Details = twophase.Config{}
		s.Detail, s.SearchIsWhole = &own, true
		return s, nil
	}
	second, err := r.Second()
	if err != nil {
		return Snapshot{}, err
	}
	detail, err := freezeResolved(second)
	s.Detail, s.SearchIsWhole = &detail, r.SearchIsWhole()
	return s, err
}

// freezeBootstrap adds the files that are read first. Only the first harvest begins with them.
func (s *Snapshot) freezeBootstrap(r *registry.Resolved) error {
	if s.Window.Bootstrap == "" || s.Operation != ingest.Harvest {
		s.Window.Bootstrap = ""
		return nil
	}
	found, err := r.Bootstrap()
	if err != nil {
		return err
	}
	first, err := freezeResolved(found)
	s.Bootstrap = &first
	return err
}

// freezeFiles returns the snapshot of a set of files. Its first step reads the listing, its
// second one the files, as a search for ids is followed by details. The window is that of
// the files.
func freezeFiles(s Snapshot, r *registry.Resolved) (Snapshot, error) {
	content := s
	content.Files, content.Whole = files.Config{}, generation.Config{}
	s.Detail = &content
	if r.Files.Listing == "" { // the addresses are a list of one page
		s.Paging.Type = paging.One
		return s, nil
	}
	found, err := r.Listing()
	if err != nil {
		return Snapshot{}, err
	}
	listing, err := freezeResolved(found)
	if err != nil {
		return Snapshot{}, err
	}
	own := s.Settings
	s.Settings = listing.Settings
	s.Filter, s.Window, s.Whole, s.Files, s.Slicing, s.Healing = own.Filter, own.Window, own.Whole, own.Files, own.Slicing, own.Healing
	return s, nil
}

// ReadsFiles reports whether the records lie in files.
func (s Snapshot) ReadsFiles() bool { return s.Files.On() }

// SearchesIDs reports whether the search only finds ids, and details are the records.
func (s Snapshot) SearchesIDs() bool { return s.Detail != nil && !s.SearchIsWhole }

// Reading returns how items become records: in two phases the details do.
func (s Snapshot) Reading() extract.Config {
	if s.SearchesIDs() {
		return s.Detail.Response
	}
	return s.Response
}

// CheckByID refuses a source whose records cannot be asked for one by one, with
// what it can do instead.
func (s Snapshot) CheckByID() error {
	of := s.Source + "/" + s.Endpoint
	switch {
	case s.ReadsFiles():
		return fmt.Errorf("%w: the records of %s lie in files, and no endpoint can be asked by id; read the files: patra harvest %s --endpoint %s", fault.ErrInvalid, of, s.Source, s.Endpoint)
	case s.Detail != nil:
		return nil
	case s.Filter.Field == "":
		return fmt.Errorf("%w: %s has no endpoint that is asked by id (details.endpoint)", fault.ErrInvalid, of)
	}
	return fmt.Errorf("%w: %s has no endpoint that is asked by id (details.endpoint), so its records cannot be looked at one by one; read a range of time again: patra update %s --from … --to …",
		fault.ErrInvalid, of, s.Source)
}

// Namespace returns where the watermark of a harvest lives (D§5.8).
func (c *Compiled) Namespace() (ingest.Namespace, error) {
	s := c.Snapshot
	if s.Window.Namespace == string(ingest.ScopeGlobal) {
		return ingest.GlobalNamespace(s.Dataset(), s.Filter.Field), nil
	}
	hash, err := c.Prototype.Hash()
	return ingest.HarvestNamespace(s.Dataset(), s.Filter.Field, hash), err
}

// Dataset returns where the records go.
func (s Snapshot) Dataset() ingest.Dataset {
	return ingest.Dataset{Source: s.Source, Endpoint: s.Endpoint}
}

// Load reads a stored snapshot. The first format lacked what later sections
// declare; their defaults say what it did.
func Load(canonical []byte) (Snapshot, error) {
	var s Snapshot
	if err := json.Unmarshal(canonical, &s); err != nil {
		return s, fmt.Errorf("read snapshot: %w", err)
	}
	switch s.Format {
	case format:
	case 1:
		s.Templates, s.Auth = s.Templates.WithDefaults(), s.Auth.WithDefaults()
		s.Filter, s.Window = s.Filter.WithDefaults(), s.Window.WithDefaults()
		s.Paging, s.Response = s.Paging.WithDefaults(), s.Response.WithDefaults()
	default:
		return s, fmt.Errorf("read snapshot: format %d, this program knows 1 to %d", s.Format, format)
	}
	return s, nil
}
