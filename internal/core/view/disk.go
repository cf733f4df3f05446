package view

import "time"

// Disk is how much room is left where files of this installation lie.
type Disk struct {
	Path  string   `json:"path"`
	Holds []string `json:"holds"` // what lies there: the database, raw bodies, archives
	Total uint64   `json:"total"`
	Free  uint64   `json:"free"`
}

// How Disk.Holds names what lies on a disk.
const (
	HoldsDatabase = "the database"
	HoldsBodies   = "raw bodies"
)

// StoreSample is one question to the store, and how long its answer took.
type StoreSample struct {
	At   time.Time
	Took time.Duration
}
