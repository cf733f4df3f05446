// Package audit is the chain of what operators did: each entry holds the hash of
// the one before it, so an entry that was changed or taken out afterwards shows
// (I12, A37).
//
// A chain cannot tell by itself that its newest entries were cut off, or that all
// of it was written anew: for that the hash of its head must be known elsewhere.
// It must never hold the value of a secret, and it never repairs anything.
package audit

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/fingerprint"
)

// Entry is one act of an operator.
type Entry struct {
	ID       int64           `json:"id"`
	At       time.Time       `json:"at"`
	Actor    string          `json:"actor"`
	Action   string          `json:"action"`
	Object   string          `json:"object"`
	Reason   string          `json:"reason,omitempty"`
	Detail   json.RawMessage `json:"detail,omitempty"`
	Previous string          `json:"previous"`
	Hash     string          `json:"hash"`
}

// Root stands in the first entry for the one before it.
func Root() string { return strings.Repeat("0", 64) }

// Sum is the hash an entry must have behind the one it names.
func (e Entry) Sum() string {
	return fingerprint.Key(e.Previous, strconv.FormatInt(e.At.UnixMicro(), 10), e.Actor, e.Action, e.Object, e.Reason, string(e.Detail))
}

// Problem is what is wrong with an entry.
type Problem string

// Problems.
const (
	Edited  Problem = "EDITED"  // it is not what was written
	Missing Problem = "MISSING" // what stood before it is gone, or is not what it was
	Lost    Problem = "LOST"    // an entry that was noted elsewhere is not there
)

// Finding is one problem.
type Finding struct {
	Problem Problem `json:"problem"`
	ID      int64   `json:"id,omitempty"` // the entry it shows at
	Hash    string  `json:"hash"`
	Text    string  `json:"text"`
}

// Noted is the hash of a head as it is known from elsewhere.
type Noted struct {
	Hash  string `json:"hash"`
	Where string `json:"where"`
}

// Report is what became of a verification.
type Report struct {
	Entries  int       `json:"entries"`
	HeadID   int64     `json:"headId,omitempty"`
	Head     string    `json:"head"`
	Noted    int       `json:"noted"` // heads known from elsewhere that were looked for
	Findings []Finding `json:"findings"`
}

// Chain verifies entries that are given in the order of their ids.
type Chain struct {
	report Report
	noted  []Noted
}

// NewChain begins a verification. Every noted head must come.
func NewChain(noted ...Noted) *Chain {
	return &Chain{report: Report{Head: Root(), Noted: len(noted), Findings: []Finding{}}, noted: slices.Clone(noted)}
}

// Add looks at the next entry.
func (c *Chain) Add(e Entry) {
	find := func(p Problem, format string, args ...any) {
		c.report.Findings = append(c.report.Findings, Finding{p, e.ID, e.Hash, fmt.Sprintf(format, args...)})
	}
	if e.Previous != c.report.Head {
		find(Missing, "entry %d does not follow %s: entries between them are gone, or one was changed together with its hash", e.ID, c.before())
	}
	if e.Sum() != e.Hash {
		find(Edited, "entry %d (%s of %s) is not what was written", e.ID, e.Action, e.Object)
	}
	c.noted = slices.DeleteFunc(c.noted, func(n Noted) bool { return n.Hash == e.Hash })
	c.report.Entries, c.report.HeadID, c.report.Head = c.report.Entries+1, e.ID, e.Hash
}

func (c *Chain) before() string {
	if c.report.Entries == 0 {
		return "the beginning"
	}
	return fmt.Sprintf("entry %d", c.report.HeadID)
}

// Report ends the verification.
func (c *Chain) Report() Report {
	for _, n := range c.noted {
		if n.Hash != Root() {
			c.report.Findings = append(c.report.Findings, Finding{Lost, 0, n.Hash, fmt.Sprintf("the entry %.12s… is not there any more, which %s has noted: the newest entries were cut off, or all were written anew", n.Hash, n.Where)})
		}
	}
	c.noted = nil
	return c.report
}
