package view

import "time"

// Change is a version of a record in the order in which versions were stored, without its
// content.
type Change struct {
	ID        string    `json:"id"` // of the record
	Version   int       `json:"version"`
	State     string    `json:"state,omitempty"` // empty: not known any more
	UpdatedAt time.Time `json:"updatedAt,omitzero"`
	FetchedAt time.Time `json:"fetchedAt"`
	// StoredAt is when its batch was stored; zero: the batch has left the database.
	StoredAt time.Time `json:"storedAt,omitzero"`
	BatchID  int64     `json:"batchId"`
	Body     int64     `json:"position"` // in the order in which versions were stored
}

// Changes says which versions are wanted.
type Changes struct {
	Since, Until time.Time // stored from one on, and before the other; zero: no bound
	Behind       int64     // versions behind this position; 0: from the first on
	Limit        int
}
