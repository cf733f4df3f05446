package registry

import "time"

// ApplyOptions say when a source begins to hold, and for whom the log is.
type ApplyOptions struct {
	From   time.Time // zero is at once
	Actor  string
	Reason string
	// CancelScheduled takes back the versions that are to begin later. Otherwise
	// they stay: each is a whole source and holds from its own instant on.
	CancelScheduled bool
}

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
