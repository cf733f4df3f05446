package registry

import (
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/fingerprint"
)

// ApplyOptions say when a source begins to hold, and for whom the log is.
type ApplyOptions struct {
	From   time.Time // zero is at once
	Actor  string
	Reason string
	// CancelScheduled takes back the versions that are to begin later. Otherwise
	// they stay: each is a whole source and holds from its own instant on.
	CancelScheduled bool
	// Over is the fingerprint of the definition that the change was made from, empty where no
	// version was in force. If another one is, the change is refused (ChangedError): it would
	// take back what somebody else changed. nil: whatever is in force.
	Over *string
}

// ChangedError says that a source is not what a change was made from.
type ChangedError struct {
	Code string
	New  bool // the change was made as if there were none
	// Since tells what others did since then, as far as is known.
	Since string
}

func (e *ChangedError) Error() string {
	if e.New {
		return fmt.Sprintf("source %s exists already: read it, change it and apply that", e.Code)
	}
	return fmt.Sprintf("source %s was changed since it was read%s: read it again and change that", e.Code, e.Since)
}

// Unwrap makes it a conflict.
func (e *ChangedError) Unwrap() error { return fault.ErrConflict }

// Fingerprint names what a source says: two that say the same have the same.
func (s *Source) Fingerprint() string { return fingerprint.Bytes(Export(s)) }

// Applied is what applying a source did.
type Applied struct {
	Rows       int       // rows of settings that were opened, ended or retired; rows that a scheduled version goes on with do not count
	From       time.Time // since when the source is as applied
	Superseded int       // versions that had been scheduled and now never begin
}

// SourceVersion is one version of a source, in force in [From, To).
type SourceVersion struct {
	From        time.Time
	To          time.Time // zero while no end is known
	AppliedAt   time.Time // zero if it was applied before versions were kept
	Actor       string
	Reason      string
	Fingerprint string   // of all settings
	Rows        int      // see Applied
	Tables      []string // where rows changed
	Paths       []string // values that changed, as in a file
	Superseded  bool     // it was replaced before it began
}

// Stamp lets a copy of a source tell whether it is still right: it is, while the
// version is the same and the store's clock has not reached Until.
type Stamp struct {
	Version int64
	Until   time.Time // when the next scheduled version begins; zero if none is known
}

// Removal is what taking a source away did to its definition.
type Removal struct {
	At         time.Time // since when no version is in force
	Rows       int       // rows of settings that ended or never begin
	Superseded int       // versions that had been scheduled and now never begin
}
