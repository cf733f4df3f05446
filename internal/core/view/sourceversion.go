package view

import (
	"time"

	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/spec"
)

// SourceVersion is one version of an applied source.
type SourceVersion struct {
	State       VersionState `json:"state"`
	From        time.Time    `json:"from"`
	To          time.Time    `json:"to,omitzero"`
	AppliedAt   time.Time    `json:"appliedAt,omitzero"`
	Actor       string       `json:"actor,omitempty"`
	Reason      string       `json:"reason,omitempty"`
	Fingerprint string       `json:"fingerprint,omitempty"`
	Rows        int          `json:"rowsChanged"`
	Tables      []string     `json:"tables"`
	Paths       []string     `json:"paths"`
}

// VersionState tells whether a version of a source holds.
type VersionState string

// The states of versions.
const (
	VersionInForce    VersionState = "in force"
	VersionEnded      VersionState = "ended"
	VersionScheduled  VersionState = "scheduled"
	VersionSuperseded VersionState = "superseded" // replaced before it began
)

// VersionStateOf tells whether a version holds at an instant.
func VersionStateOf(v registry.SourceVersion, now time.Time) VersionState {
	switch {
	case v.Superseded:
		return VersionSuperseded
	case v.From.After(now):
		return VersionScheduled
	case !v.To.IsZero() && !v.To.After(now):
		return VersionEnded
	}
	return VersionInForce
}

// Where a source comes from.
const (
	OriginApplied = "applied"
	OriginBundled = "bundled"
	OriginFile    = "file"
)

// SourceFile is a source as a file, wrapped for programs.
type SourceFile struct {
	Source string     `json:"source"`
	Origin string     `json:"origin"`
	At     *time.Time `json:"at,omitempty"`
	YAML   string     `json:"yaml"`

	// Fingerprint names the content: two files that say the same have the same.
	Fingerprint string `json:"-"`
}

// Setting is one merged value and where it came from.
type Setting struct {
	Path  string `json:"path"`
	Value string `json:"value"`
	From  string `json:"from"`         // the level alone
	At    string `json:"at,omitempty"` // file and line, or table and column

	Origin string `json:"-"` // both, for people
}

// SourceSettings is what holds for one operation of one endpoint.
type SourceSettings struct {
	Source      string         `json:"source"`
	Name        string         `json:"name"`
	Origin      string         `json:"origin"`
	Endpoint    string         `json:"endpoint"`
	Operation   string         `json:"operation"`
	Fingerprint string         `json:"specFingerprint"`
	Expression  string         `json:"expression"`
	Selection   string         `json:"selectionHash"`
	Prototype   string         `json:"exprProtoHash"`
	MappingHash string         `json:"mappingHash"`
	Warnings    []spec.Warning `json:"warnings"`
	Settings    []Setting      `json:"settings"`
}

// At returns the setting of a path.
func (c SourceSettings) At(path string) Setting {
	for _, s := range c.Settings {
		if s.Path == path {
			return s
		}
	}
	return Setting{Value: "missing"}
}
