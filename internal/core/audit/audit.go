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

// Sum returns the hash an entry must have behind the one it names. It covers the
// number of the entry: nothing follows the newest one that would show that it was
// changed.
func (e Entry) Sum() string {
	return fingerprint.Key(e.Previous, strconv.FormatInt(e.At.UnixMicro(), 10), e.Actor, e.Action, e.Object, e.Reason, string(e.Detail), strconv.FormatInt(e.ID, 10))
}

// oldSum returns the hash of entries of former versions, which numbers did not count
// for.
func (e Entry) oldSum() string {
	return fingerprint.Key(e.Previous, strconv.FormatInt(e.At.UnixMicro(), 10), e.Actor, e.Action, e.Object, e.Reason, string(e.Detail))
}

// Fits reports whether an entry is what was written, by its own hash.
func (e Entry) Fits() bool { return e.Hash == e.Sum() || e.Hash == e.oldSum() }

// Next returns the number of the entry behind one: no number is left out, so that an
// entry of a former version, whose hash does not cover its own, is held by the next.
func Next(id int64) int64 { return id + 1 }

// Problem is what is wrong with an entry.
type Problem string

// Problems.
const (
	Edited  Problem = "EDITED"  // it is not what was written
	Missing Problem = "MISSING" // what stood before it is gone, or is not what it was
	Lost    Problem = "LOST"    // an entry that was noted elsewhere is not there
	// Of archives, each of which holds the head of the log as it was.
	NoHead     Problem = "NO_HEAD"    // it holds none, or says that there was none
	Unreadable Problem = "UNREADABLE" // it is missing, was changed or cannot be read
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

// Witness is an archive, which holds the head of the log as it was when the archive
// was written.
type Witness struct {
	File   string
	Begun  time.Time // when its writing began; zero: not known
	Head   string    // empty: it holds none
	Broken string    // why it cannot be read; empty: it can
}

// Report is what became of a verification.
type Report struct {
	Entries int    `json:"entries"`
	HeadID  int64  `json:"headId,omitempty"`
	Head    string `json:"head"`
	Noted   int    `json:"noted"` // heads known from elsewhere that were looked for
	// Unasked is how many archives hold a head that was not looked for, because no
	// folder of archives is known.
	Unasked  int       `json:"unasked,omitempty"`
	Findings []Finding `json:"findings"`
}

// Tampered reports whether a problem is one of the log itself, and not of an archive
// that cannot vouch for it.
func (r Report) Tampered() bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Problem != NoHead && f.Problem != Unreadable })
}

// Chain verifies entries that are given in the order of their ids.
type Chain struct {
	report    Report
	noted     []Noted
	witnesses []Witness
	first     Entry
}

// NewChain begins a verification. Every noted head must come.
func NewChain(noted ...Noted) *Chain {
	return &Chain{report: Report{Head: Root(), Noted: len(noted), Findings: []Finding{}}, noted: slices.Clone(noted)}
}

// Call hears archives: the head that each holds must come, and each must hold one.
func (c *Chain) Call(witnesses ...Witness) {
	for _, w := range witnesses {
		if w.Head != "" && w.Broken == "" {
			c.noted = append(c.noted, Noted{w.Head, "the archive " + w.File})
			c.report.Noted++
		}
	}
	c.witnesses = append(c.witnesses, witnesses...)
}

// Add looks at the next entry.
func (c *Chain) Add(e Entry) {
	find := func(p Problem, format string, args ...any) {
		c.report.Findings = append(c.report.Findings, Finding{p, e.ID, e.Hash, fmt.Sprintf(format, args...)})
	}
	switch {
	case e.Previous != c.report.Head:
		find(Missing, "entry %d does not follow %s: entries between them are gone, or one was changed together with its hash", e.ID, c.before())
	case c.report.Entries > 0 && e.Hash == e.Sum() && e.ID != Next(c.report.HeadID):
		find(Edited, "entry %d was written right after %s, whose number was changed since", e.ID, c.before())
	}
	if !e.Fits() {
		find(Edited, "entry %d (%s of %s) is not what was written", e.ID, e.Action, e.Object)
	}
	if c.report.Entries == 0 {
		c.first = e
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
			c.report.Findings = append(c.report.Findings, Finding{Lost, 0, n.Hash, fmt.Sprintf("the entry %.12s… that %s has noted is not there any more: the newest entries were cut off, or all entries were written anew", n.Hash, n.Where)})
		}
	}
	c.noted = nil
	for _, w := range c.witnesses {
		if problem, text := c.doubt(w); problem != "" {
			c.report.Findings = append(c.report.Findings, Finding{problem, 0, w.Head, text})
		}
	}
	c.witnesses = nil
	return c.report
}

// doubt returns why an archive cannot vouch for the log; empty if it can. An archive
// that says that the log was empty counts only if no entry is older than it: else a
// person who cuts the log could write that into every archive.
func (c *Chain) doubt(w Witness) (Problem, string) {
	switch {
	case w.Broken != "":
		return Unreadable, fmt.Sprintf("the archive %s cannot vouch for the log: %s", w.File, w.Broken)
	case w.Head == "":
		return NoHead, fmt.Sprintf("the archive %s holds no head of the log: an old version wrote it, or it was changed since", w.File)
	case w.Head == Root() && !w.Begun.IsZero() && c.report.Entries > 0 && c.first.At.Before(w.Begun):
		return NoHead, fmt.Sprintf("the archive %s says that the log was empty, but entry %d is older than it", w.File, c.first.ID)
	}
	return "", ""
}
