package view

import (
	"time"

	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/spec"
)

// CheckedFile is a source file that was read, with all that is wrong with it.
type CheckedFile struct {
	File      string        `json:"file"`
	Source    string        `json:"source,omitempty"`
	Endpoints int           `json:"endpoints"`
	Problems  []FileProblem `json:"problems"`
	Warnings  []FileWarning `json:"warnings"`

	Parsed *registry.Source `json:"-"`
	Lists  registry.Lists   `json:"-"` // files of values that were read beside it
}

// FileProblem is one thing that is wrong with a source file, and its place.
type FileProblem struct {
	Line    int    `json:"line,omitempty"`
	Col     int    `json:"col,omitempty"`
	Path    string `json:"path,omitempty"`
	Code    string `json:"code,omitempty"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// NewFileProblem returns a problem of a source file as programs get it.
func NewFileProblem(p registry.Problem) FileProblem {
	return FileProblem{p.Line, p.Col, p.Path, p.Code, p.Message, p.Hint}
}

// FileWarning is something an endpoint cannot do, and the operations it concerns.
type FileWarning struct {
	Endpoint   string   `json:"endpoint"`
	Operations []string `json:"operations"`
	spec.Warning
}

// SourceDifference is what a file would change.
type SourceDifference struct {
	Source  string            `json:"source"`
	File    string            `json:"file"`
	Against string            `json:"against"` // an origin, or AgainstNothing
	Changes []registry.Change `json:"changes"`
	// Scheduled are the instants at which versions begin that are applied already.
	Scheduled []time.Time   `json:"scheduled"`
	Warnings  []FileWarning `json:"warnings"`
}

// AgainstNothing says that a source is neither applied nor bundled.
const AgainstNothing = "nothing"

// ApplyWish is what a source is to become, beside the text that says it.
type ApplyWish struct {
	Name            string    // the text is shown under
	Code            string    // of the source it must be; empty: whichever it says
	From            time.Time // zero: at once
	CancelScheduled bool
	// Expected is the fingerprint of the file that was changed, as inspect gives it; empty:
	// the source must not exist.
	Expected string
	// Any applies it whatever the source says now.
	Any bool
}
