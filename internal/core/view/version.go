package view

import (
	"encoding/json"
	"time"

	"github.com/patra-ingest/patra/internal/core/event"
)

// Version is one version of a record, with where it comes from.
type Version struct {
	Version   int       `json:"version"`
	State     string    `json:"state,omitempty"` // empty: not known any more
	UpdatedAt time.Time `json:"updatedAt,omitzero"`
	FetchedAt time.Time `json:"fetchedAt"`
	Bytes     int       `json:"payloadBytes"`
	// Changed is what differs from the version before; only where it was asked for.
	Changed []FieldChange   `json:"changed,omitempty"`
	Fields  json.RawMessage `json:"fields,omitempty"`
	Payload json.RawMessage `json:"payload,omitempty"`
	Origin  Origin          `json:"lineage"`
	Events  []Outgoing      `json:"events"`

	Raw  []byte `json:"-"` // the payload as it is stored, which need not be JSON
	Body int64  `json:"-"`
	Prev int64  `json:"-"`
	Key  []byte `json:"-"` // of the record it says it belongs to
}

// Origin is the work that wrote a version.
type Origin struct {
	PlanID    int64  `json:"planId,omitempty"`
	SliceID   int64  `json:"sliceId,omitempty"`
	TaskID    int64  `json:"taskId,omitempty"`
	RunID     int64  `json:"runId,omitempty"`
	BatchID   int64  `json:"batchId"`
	BatchNo   int    `json:"batchNo,omitempty"`
	Operation string `json:"operation,omitempty"`
	Spec      string `json:"specFingerprint,omitempty"`
	Mapping   string `json:"mappingFingerprint,omitempty"`
	Raw       string `json:"raw,omitempty"` // reference of the answer it was read from
	// Where says where the batch is: in the database, in an archive, or nowhere.
	Where   Whereabouts `json:"evidence"`
	Archive string      `json:"archive,omitempty"`
}

// Whereabouts of a batch.
type Whereabouts string

// The whereabouts.
const (
	Here     Whereabouts = "database"
	Archived Whereabouts = "archive"
	Missing  Whereabouts = "missing"
)

// FieldChange is a mapped field that differs between two versions. An absent side
// means that the field was not there.
type FieldChange struct {
	Name string          `json:"name"`
	Was  json.RawMessage `json:"was,omitempty"`
	Is   json.RawMessage `json:"is,omitempty"`
}

// Looking says what of a record is looked at.
type Looking struct {
	Version int  // only this one; 0: all
	Most    int  // versions at most
	Diff    bool // what changed between neighbours
	Payload bool // with the items as the upstream sent them
}

// History is a record with its versions, newest first.
type History struct {
	Source   string `json:"source"`
	Endpoint string `json:"endpoint"`
	Record
	Versions []Version `json:"versions"`
	Removed  int       `json:"versionsRemoved"` // older ones that retention took away
	More     int       `json:"versionsNotShown"`
}

// Dataset is an endpoint with records.
type Dataset struct {
	ID       int64  `json:"-"`
	Source   string `json:"source"`
	Endpoint string `json:"endpoint"`
}

// StateOf returns what the event of a version that was replaced tells of its state; empty: it is
// not known any more. A first version is there.
func StateOf(version int, op event.Op) string {
	switch {
	case version == 1:
		return "ACTIVE"
	case op == "":
		return ""
	case op == event.Removed:
		return "GONE"
	}
	return "ACTIVE"
}
