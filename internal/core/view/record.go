package view

import (
	"encoding/json"
	"time"
)

// Source is a source as applied or bundled.
type Source struct {
	Code      string    `json:"source"`
	Name      string    `json:"name"`
	Origin    string    `json:"origin"` // bundled or applied
	Endpoints []string  `json:"endpoints"`
	From      time.Time `json:"effectiveFrom,omitzero"`
	NextTick  time.Time `json:"nextTick,omitzero"` // the first of its schedules; zero: nothing starts without a person
	Paused    bool      `json:"paused,omitzero"`   // all of it or a part
	// Unverified says why the file is not known to be right; empty: it was checked.
	Unverified string `json:"unverified,omitzero"`
}

// Counts are the totals of a dataset.
type Counts struct {
	Records     int64 `json:"records"`
	Gone        int64 `json:"gone"`
	Outbox      int64 `json:"outbox"`
	Quarantined int64 `json:"quarantined"`
}

// Record is a stored record with its current body.
type Record struct {
	ID        string    `json:"id"`
	Version   int       `json:"version"`
	State     string    `json:"state"`
	UpdatedAt time.Time `json:"updatedAt,omitzero"`
	FetchAt   time.Time `json:"fetchedAt"`
	// CheckedAt is when an UPDATE last asked the upstream about it.
	CheckedAt time.Time `json:"checkedAt,omitzero"`
	// MissingSince is when the upstream was first asked for it and did not have it.
	MissingSince time.Time       `json:"missingSince,omitzero"`
	MergedInto   string          `json:"mergedInto,omitempty"` // the record that took its place
	Fields       json.RawMessage `json:"fields,omitempty"`
	Payload      json.RawMessage `json:"payload,omitempty"`
	Key          []byte          `json:"-"` // position of the record in a scan
}

// Rejected is an item in quarantine.
type Rejected struct {
	ID         int64     `json:"id"`
	ProviderID string    `json:"recordId,omitempty"`
	Reason     string    `json:"reason"`
	Path       string    `json:"path,omitempty"`
	Detail     string    `json:"detail,omitempty"`
	RawHash    string    `json:"rawHash"`
	Raw        []byte    `json:"raw,omitempty"`
	CreatedAt  time.Time `json:"createdAt"`
	BatchID    int64     `json:"batchId"`
}
