package view

import "time"

// RecordFile is a file of a source whose records lie in files.
type RecordFile struct {
	ID       int64     `json:"id"`
	Name     string    `json:"name"`
	State    FileState `json:"state"`
	Stamp    time.Time `json:"date,omitzero"`
	Size     int64     `json:"size,omitempty"`  // announced
	Lines    int64     `json:"lines,omitempty"` // announced
	ListedAt time.Time `json:"firstListed"`
	LastSeen time.Time `json:"lastListed"`
	ReadAsOf time.Time `json:"readAsOf,omitzero"` // zero: it was never wholly read
	Items    int64     `json:"items"`
	Bytes    int64     `json:"bytes"` // unpacked
}

// FileState is how a file stands.
type FileState string

// States of files.
const (
	FileRead    FileState = "READ"    // wholly read, as it was listed last
	FileOwed    FileState = "OWED"    // listed, and not wholly read
	FileChanged FileState = "CHANGED" // wholly read, and listed otherwise since
)
