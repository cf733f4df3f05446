// Package paging decides, page by page, whether there is a next page and how to
// ask for it (§4.3). One state machine serves every kind of paging; the state
// is a plain value, so a batch can store it and a later run can continue.
//
// It never sends a request and never looks into a body: what the page said is
// handed in as an Observation.
package paging

import (
	"fmt"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/fault"
)

// Type is how the upstream pages.
type Type string

// Types of §4.3.1. Only TOKEN is executed so far; the others are known.
const (
	Offset Type = "OFFSET"
	Page   Type = "PAGE"
	Token  Type = "TOKEN"
	URL    Type = "URL"
	Time   Type = "TIME"
)

// Config is the `paging` section of an endpoint.
type Config struct {
	Type           Type              `json:"type" required:"true" enum:"OFFSET,PAGE,TOKEN,URL,TIME" doc:"how the upstream pages"`
	Size           int               `json:"size,omitempty" doc:"items asked for per page (default 100)"`
	MaxPages       int               `json:"maxPages,omitempty" doc:"pages of one slice after which it stops as PARTIAL (default 10000)"`
	Initial        string            `json:"initial,omitempty" doc:"TOKEN: value of the first token"`
	Replayable     *bool             `json:"replayable,omitempty" doc:"TOKEN: the same token always gives the same page (default true); false: a lost answer starts the slice over"`
	TokenLife      duration.Duration `json:"tokenLife,omitempty" doc:"TOKEN: how long a token may rest before it expires"`
	EndOnShortPage bool              `json:"endOnShortPage,omitempty" doc:"a page with fewer items than asked for is the last (needed where a next token is always sent)"`
	ExpectTotal    bool              `json:"expectTotal,omitempty" doc:"a slice that delivers fewer distinct items than response.total announced is not finished"`
}

// WithDefaults fills what the source left open.
func (c Config) WithDefaults() Config {
	if c.Size == 0 {
		c.Size = 100
	}
	if c.MaxPages == 0 {
		c.MaxPages = 10000
	}
	if c.Replayable == nil {
		yes := true
		c.Replayable = &yes
	}
	return c
}

// Validate names the field that is wrong.
func (c Config) Validate() error {
	switch {
	case c.Type == "":
		return fmt.Errorf("paging.type is missing: use TOKEN")
	case c.Type != Token:
		return fmt.Errorf("paging.type %s is known but not supported yet: use TOKEN", c.Type)
	case c.Size < 0 || c.MaxPages < 0:
		return fmt.Errorf("paging.size and paging.maxPages must not be negative")
	}
	return nil
}

// State is the position within a slice.
type State struct {
	Pages int    `json:"pages"`           // pages read in this pass
	Token string `json:"token,omitempty"` // asks for the next page
	Seen  int    `json:"seen"`            // distinct items of this pass
	Total int64  `json:"total"`           // last total the upstream announced; -1 unknown
	First int64  `json:"first"`           // total announced when the pass began; -1 unknown
}

// First is the state before the first page.
func (c Config) First() State { return State{Token: c.Initial, Total: -1, First: -1} }

// FirstPage reports whether the next request starts a walk: it may always be
// repeated, whatever the tokens are worth.
func (s State) FirstPage() bool { return s.Pages == 0 }

// Observation is what a page said.
type Observation struct {
	Items   int    // items on the page, bad ones included
	New     int    // of these, ids not seen before in this pass; bad ones count
	Token   string // next token, if one was sent
	HasMore *bool  // explicit flag, if one was sent
	Total   *int64 // announced total, if one was sent
}

// Decision is the answer to "is there a next page".
type Decision struct {
	Next State
	Done bool
	Why  string       // for the ledger: which rule decided
	Err  *fault.Error // the walk cannot go on
}

// Advance applies the precedence of §4.3.3: an explicit flag, then a next token,
// then the size of the page, then maxPages. Where the upstream announces a total,
// a short page is believed only when the total has been delivered: upstreams do
// send short pages in the middle of a walk.
func (c Config) Advance(s State, o Observation) Decision {
	next := State{Pages: s.Pages + 1, Token: o.Token, Seen: s.Seen + o.New, Total: s.Total, First: s.First}
	if o.Total != nil {
		next.Total = *o.Total
		if next.First < 0 {
			next.First = *o.Total
		}
	}
	done, why := c.ended(next, o)
	if done {
		if c.ExpectTotal && next.missing() {
			return Decision{Next: next, Err: fault.Newf(fault.ShortCount,
				"the upstream delivered %d items; it announced %d at first and %d at last", next.Seen, next.First, next.Total)}
		}
		return Decision{Next: next, Done: true, Why: why}
	}
	if next.Pages >= c.MaxPages {
		return Decision{Next: next, Err: fault.Newf(fault.Budget, "paging.maxPages of %d reached", c.MaxPages)}
	}
	return Decision{Next: next, Why: why}
}

// missing reports that a pass delivered less than was announced. Items may leave
// a window while it is read, so the total may fall a little; an upstream that
// suddenly announces nothing, or less than it has already delivered, is not
// believed and the first total stands.
func (s State) missing() bool {
	expected := s.Total
	if fallen := s.First - s.Total; fallen > s.First/shrinkShare || s.Total < int64(s.Seen) {
		expected = max(s.First, s.Total)
	}
	return s.Total < 0 || int64(s.Seen) < expected
}

// shrinkShare: a total may fall by one in this many during a pass.
const shrinkShare = 100

func (c Config) ended(next State, o Observation) (bool, string) {
	if o.HasMore != nil {
		return !*o.HasMore, "hasMore"
	}
	if o.Token == "" {
		return true, "no next token"
	}
	if o.Items == 0 {
		return true, "empty page"
	}
	if c.EndOnShortPage && o.Items < c.Size {
		if c.ExpectTotal && next.missing() {
			return false, "short page before the total"
		}
		return true, "short page"
	}
	return false, "next token"
}
