package retention

import (
	"fmt"
	"time"
)

// Kind is what an archive holds.
type Kind string

// Kinds of archives.
const (
	Events Kind = "EVENTS" // the older events of one cursor
	Plans  Kind = "PLANS"  // plans that ended, with all that hangs on them
)

// Status is how far an archive has come. Rows are in the database, in the file
// or in both at every moment, never in neither.
type Status string

// States of archives.
const (
	Writing Status = "WRITING" // it is decided what goes; the file may be missing or half written
	Sealed  Status = "SEALED"  // the file is durable and known by its hash; rows may still be in the database too
	Done    Status = "DONE"    // the rows are in the file alone
)

// Archive is one file of history.
type Archive struct {
	ID       int64  `json:"id"`
	Kind     Kind   `json:"kind"`
	Status   Status `json:"status"`
	CursorID int64  `json:"cursorId,omitempty"`
	// Of a ledger: the ids of the first and the last event that are in the file.
	From int64 `json:"fromEvent,omitempty"`
	To   int64 `json:"toEvent,omitempty"`
	// Of plans: which ones, while they are needed.
	PlanIDs []int64 `json:"-"`
	File
	Signature string    `json:"signature,omitempty"` // of the snapshot that stands for the events
	Previous  string    `json:"previous,omitempty"`  // that of the archive before it
	CreatedAt time.Time `json:"createdAt"`
	SealedAt  time.Time `json:"sealedAt,omitzero"`
}

// File is what is known of a file that was written.
type File struct {
	Name    string `json:"file"`
	SHA256  string `json:"sha256,omitempty"` // over the bytes of the file, as sha256sum prints it
	Bytes   int64  `json:"bytes,omitempty"`
	Rows    int64  `json:"rows,omitempty"`
	Lineage Ranges `json:"lineage,omitempty"`
}

// FileName returns the name of an archive's file. An attempt writes under a name
// of its own: one that was thought dead and comes back must not write over the
// file that another has sealed, nor one database over the file of another.
func (a Archive) FileName(attempt string) string {
	what := "plans"
	if a.Kind == Events {
		what = fmt.Sprintf("cursor-%d-events", a.CursorID)
	}
	return fmt.Sprintf("%06d-%s-%s%s", a.ID, what, attempt, Suffix)
}

// Suffix ends the name of every archive.
const Suffix = ".jsonl.zst"

// Plan is a plan that ended long ago, and why it must stay.
type Plan struct {
	ID   int64
	Held Hold
}

// Hold is why a plan stays in the database though it is old.
type Hold string

// Reasons, in the order in which they are looked for. None: it may go.
const (
	Free        Hold = ""
	Working     Hold = "a worker still holds it"
	Owed        Hold = "its window is not settled yet"
	Rejects     Hold = "it has rejects in quarantine"
	Unpublished Hold = "it has events that were not published"
)
