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
	// Changed is when what is stored of it was stored, by the store's clock: its version, or its stamp.
	Changed time.Time
}

// ParentLook asks for the next parents of a run in the order of their keys.
type ParentLook struct {
	Dataset  Dataset
	From, To string      // bounds of their hashes, hexadecimal; empty: none
	After    string      // the last one that is known; empty: from the beginning
	Only     *record.Key // this one alone
	Limit    int
	// Pick tells which of them are wanted, by all but their items, which are read of these only; nil: all are.
	Pick func(Parent) bool
}

// ParentsRead is what of the parents of a list was read last.
type ParentsRead struct {
	AsOf time.Time // parents that were there then are known, by the store's clock; zero: none are
	To   time.Time // up to where all of them were read then, by the dates of the list; zero: not known
	// Still are names of parents that were there then and are new still: they were not read from their beginning.
	Still []string
}

// RunWalk is how far a run of parents was read.
type RunWalk struct {
	After string       `json:"after,omitempty"` // the last parent that is over, hexadecimal
	Asked string       `json:"asked,omitempty"` // what the parent in hand was asked for, in the middle of its pages
	Lost  []LostParent `json:"lost,omitempty"`
	// Answered are parents that had been refused, and were read.
	Answered []string `json:"answered,omitempty"`
}

// LostParent is a parent that could not be read in a run.
type LostParent struct {
	Name   string        `json:"name"` // of its part of the list
	Window window.Window `json:"window"`
	Code   string        `json:"code"`
	Why    string        `json:"why"`
	Status int           `json:"status,omitempty"` // by which the upstream refused it; zero: it did not
	Left   bool          `json:"left,omitempty"`   // it was not asked for, because it was refused before
}

// MostLostParents is how many parents of a run may fail before the run itself has.
const MostLostParents = 100

// MostRefusedParents is how many parents of a run may be refused, or left out because they were: each is kept with every page.
const MostRefusedParents = 400

// ParentTally counts parents that runs asked for, where only some are asked for (decision 156). Each is counted once for a slice.
type ParentTally struct {
	Changed int `json:"changed,omitempty"` // because what is stored of them changed
	New     int `json:"new,omitempty"`
	Turn    int `json:"turn,omitempty"`  // because their turn had come, and for nothing else
	Other   int `json:"other,omitempty"` // because all were asked for, or they owed something
}

// Add sums two tallies.
func (p ParentTally) Add(o ParentTally) ParentTally {
	return ParentTally{p.Changed + o.Changed, p.New + o.New, p.Turn + o.Turn, p.Other + o.Other}
}

// Since returns what was added to a tally since it was another.
func (p ParentTally) Since(o ParentTally) ParentTally {
	return ParentTally{p.Changed - o.Changed, p.New - o.New, p.Turn - o.Turn, p.Other - o.Other}
}
