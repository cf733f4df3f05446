package ingest

import (
	"time"

	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Parent is a stored record that is a part of another list.
type Parent struct {
	Key    record.Key
	ID     string
	Opened time.Time // since when it is there: first stored, or back after it was gone; zero: longer than anybody noted
	Item   []byte    // as the upstream sent it
}

// ParentLook asks for the next parents of a run in the order of their keys.
type ParentLook struct {
	Dataset  Dataset
	From, To string      // bounds of their hashes, hexadecimal; empty: none
	After    string      // the last one that is known; empty: from the beginning
	Only     *record.Key // this one alone
	Limit    int
}

// RunWalk is how far a run of parents was read.
type RunWalk struct {
	After string       `json:"after,omitempty"` // the last parent that is over, hexadecimal
	Asked string       `json:"asked,omitempty"` // what the parent in hand was asked for, in the middle of its pages
	Lost  []LostParent `json:"lost,omitempty"`
}

// LostParent is a parent that could not be read in a run.
type LostParent struct {
	Name   string        `json:"name"` // of its part of the list
	Window window.Window `json:"window"`
	Code   string        `json:"code"`
	Why    string        `json:"why"`
}

// MostLostParents is how many parents of a run may fail before the run itself has.
const MostLostParents = 100
