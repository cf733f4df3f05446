// Package paging decides, page by page, whether there is a next page and how to
// ask for it (§4.3). One state machine serves every kind of paging; the state
// is a plain value, so a batch can store it and a later run can continue.
//
// Where a page fails it decides what to ask for instead and whom to blame (Isolation).
//
// It never sends a request and never looks into a body: what the page said is
// handed in as an Observation.
package paging

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/fault"
)

// Type is how the upstream pages.
type Type string

// Types of §4.3.1. An upstream that goes on after the last item (keyset) is a
// TOKEN whose next token is read from that item. ONE is an answer that is always
// whole: one request, one page.
const (
	Offset Type = "OFFSET"
	Page   Type = "PAGE"
	Token  Type = "TOKEN"
	URL    Type = "URL"
	Time   Type = "TIME"
	One    Type = "ONE"
)

// Config is the `paging` section of an endpoint.
type Config struct {
	Type           Type              `json:"type" required:"true" enum:"OFFSET,PAGE,TOKEN,URL,TIME,ONE" doc:"how the upstream pages"`
	Size           int               `json:"size,omitempty" doc:"items asked for per page (default 100)"`
	MaxSize        int               `json:"maxSize,omitempty" doc:"most items per page the upstream allows; size may not be larger"`
	FixedSize      bool              `json:"fixedSize,omitempty" doc:"the upstream always sends size items per page and takes no parameter for it"`
	MaxPages       int               `json:"maxPages,omitempty" doc:"a slice stops as PARTIAL after this many pages (default 10000)"`
	MaxResults     int               `json:"maxResults,omitempty" doc:"the upstream serves no more than this many items of one query"`
	Base           *int              `json:"base,omitempty" doc:"PAGE: number of the first page, 0 or 1"`
	Initial        string            `json:"initial,omitempty" doc:"TOKEN: value of the first token"`
	Stable         *bool             `json:"stable,omitempty" doc:"items keep their order while a slice is read (default false for OFFSET and PAGE, true otherwise)"`
	Replayable     *bool             `json:"replayable,omitempty" doc:"TOKEN: the same token always gives the same page (default true); false: a lost answer starts the slice over"`
	TokenLife      duration.Duration `json:"tokenLife,omitempty" doc:"TOKEN: how long a token may rest before it expires; an older one is not sent, the slice starts over"`
	UniqueTokens   bool              `json:"uniqueTokens,omitempty" doc:"TOKEN and URL: every page names its next one by a different token or address; one seen before is a circle"`
	LinkHeader     bool              `json:"linkHeader,omitempty" doc:"URL: the address of the next page is in the Link header of the answer, rel=next"`
	TailProbe      bool              `json:"tailProbe,omitempty" doc:"check the end twice: ask once more for a page that names no next one, and for one more page after a short page of OFFSET or PAGE without a total"`
	EndOnShortPage bool              `json:"endOnShortPage,omitempty" doc:"TOKEN and URL: a page with fewer items than asked for is the last (needed where a next token is always sent)"`
	ExpectTotal    *bool             `json:"expectTotal,omitempty" doc:"a slice that delivers fewer distinct items than response.total announced is not finished (default true where response.total is declared); false: the total is an estimate"`
}

// WithDefaults fills what the source left open.
func (c Config) WithDefaults() Config {
	if c.Size == 0 {
		c.Size = 100
		if c.MaxSize > 0 {
			c.Size = min(c.Size, c.MaxSize)
		}
	}
	if c.MaxPages == 0 {
		c.MaxPages = 10000
	}
	if c.Replayable == nil {
		yes := true
		c.Replayable = &yes
	}
	if c.Stable == nil {
		stable := c.Type != Offset && c.Type != Page
		c.Stable = &stable
	}
	return c
}

// Validate names the field that is wrong.
func (c Config) Validate() error {
	var faults []error
	refuse := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if c.MaxSize > 0 && c.Size > c.MaxSize {
		refuse("size %d: E-PAGE-SIZE: is more than the %d the upstream allows (paging.maxSize)", c.Size, c.MaxSize)
	}
	if c.Type == Page && c.Base == nil {
		refuse("base: E-PAGE-BASE: paging by page number needs the number of the first page, 0 or 1")
	}
	if c.Base != nil && *c.Base != 0 && *c.Base != 1 {
		refuse("base %d: E-PAGE-BASE: must be 0 or 1", *c.Base)
	}
	if c.Type != Page && c.Type != "" && c.Base != nil {
		refuse("base: E-PAGING-MIXED: belongs to PAGE, but paging.type is %s", c.Type)
	}
	if c.Type != Token && c.Type != "" && (c.Initial != "" || c.TokenLife != 0) {
		refuse("initial: E-PAGING-MIXED: initial and tokenLife belong to TOKEN, but paging.type is %s", c.Type)
	}
	if c.Type != URL && c.Type != "" && c.LinkHeader {
		refuse("linkHeader: E-PAGING-MIXED: belongs to URL, but paging.type is %s", c.Type)
	}
	if c.Type != Token && c.Type != URL && c.Type != "" && c.UniqueTokens {
		refuse("uniqueTokens: E-PAGING-MIXED: belongs to TOKEN and URL, but paging.type is %s", c.Type)
	}
	if c.Type == Time && c.TailProbe {
		refuse("tailProbe: E-PAGING-MIXED: a window read by TIME has one page and no end to look at")
	}
	if c.TailProbe && c.Replayable != nil && !*c.Replayable {
		refuse("tailProbe: E-PAGING-MIXED: a token that cannot be replayed cannot be asked for again")
	}
	return errors.Join(faults...)
}

// State is the position within a slice.
type State struct {
	Pages  int    `json:"pages"`            // pages read in this pass
	Token  string `json:"token,omitempty"`  // TOKEN: asks for the next page
	URL    string `json:"url,omitempty"`    // URL: address of the next page, empty for the first
	Offset int    `json:"offset,omitempty"` // OFFSET: items before the next page
	Number int    `json:"number,omitempty"` // PAGE: number of the next page
	Seen   int    `json:"seen"`             // distinct items of this pass, of each page at most as many as were asked for
	Idle   int    `json:"idle,omitempty"`   // pages in a row whose items were all known
	Empty  int    `json:"empty,omitempty"`  // pages in a row without items
	Probe  bool   `json:"probe,omitempty"`  // this page was read before and named no next one
	Short  bool   `json:"short,omitempty"`  // the last page was not full
	Total  int64  `json:"total"`            // last total the upstream announced; -1 unknown
	First  int64  `json:"first"`            // total announced when the pass began; -1 unknown
	Most   int    `json:"most,omitempty"`   // most items of a page that held more than was asked for
	Fell   bool   `json:"fell,omitempty"`   // the announced total was smaller on a later page of this pass
}

// First returns the state before the first page.
func (c Config) First() State {
	s := State{Token: c.Initial, Total: -1, First: -1}
	if c.Base != nil {
		s.Number = *c.Base
	}
	return s
}

// FirstPage reports whether the next request starts a walk: it may always be
// repeated, whatever the tokens are worth.
func (s State) FirstPage() bool { return s.Pages == 0 }

// Position returns where a state stands, in words for the ledger.
func (c Config) Position(s State) string {
	switch c.Type {
	case Token:
		return shortenToken(s.Token)
	case URL:
		return shortenToken(s.URL)
	case Offset:
		return fmt.Sprintf("offset %d", s.Offset)
	case Page:
		return fmt.Sprintf("page %d", s.Number)
	}
	return ""
}

// maxPosition is how many bytes of a position the ledger takes.
const maxPosition = 4096

// shortenToken returns a token or an address as the ledger takes it. The state has all of
// it; here the hash tells long ones apart that begin alike.
func shortenToken(text string) string {
	if len(text) <= maxPosition {
		return text
	}
	begins := strings.ToValidUTF8(text[:maxPosition-100], "")
	return fmt.Sprintf("%s… (%d bytes, sha256 %x)", begins, len(text), sha256.Sum256([]byte(text)))
}

// Observation is what a page said.
type Observation struct {
	Items   int    // items on the page, bad ones included
	New     int    // of these, ids not seen before in this pass; bad ones count
	Known   int    // of these, ids that an earlier page repeated and that may belong here; see Tally
	Token   string // next token, if one was sent
	URL     string // address of the next page, if one was sent
	HasMore *bool  // explicit flag, if one was sent
	Total   *int64 // announced total, if one was sent
	TotalAt string // where the total is looked for, for messages; empty if nowhere
	NextAt  string // where the next page should be named and nothing stands, for messages
	Again   bool   // the token or address led to another page of this pass already
}

// Decision is the answer to "is there a next page".
type Decision struct {
	Next State
	Done bool
	Why  string       // for the ledger: which rule decided
	Err  *fault.Error // the walk cannot go on
}

// Advance applies the precedence of §4.3.3: an explicit flag, then a next token
// or URL, then the size of the page, then maxPages. Where the upstream announces a total,
// a short page is believed only when the total has been delivered: upstreams do
// send short pages in the middle of a walk.
func (c Config) Advance(s State, o Observation) Decision {
	o.URL = followAddress(s.URL, o.URL)
	next := State{Pages: s.Pages + 1, Seen: s.Seen + c.countDelivered(o), Total: s.Total, First: s.First, Idle: c.countIdle(s, o), Short: o.Items < c.Size}
	if o.Items == 0 {
		next.Empty = s.Empty + 1
	}
	if next.Most = s.Most; o.Items > c.Size && c.Type != One {
		next.Most = max(s.Most, o.Items)
	}
	switch c.Type {
	case Token:
		next.Token = o.Token
	case URL:
		next.URL = o.URL
	case Page:
		next.Number = s.Number + 1
	case Offset:
		next.Offset = s.Offset + c.countPlaces(o)
	}
	next.Fell = s.Fell || o.Total != nil && *o.Total < s.Total
	if o.Total != nil {
		next.Total = *o.Total
		if next.First < 0 {
			next.First = *o.Total
		}
	}
	if c.MaxResults > 0 && next.Total > int64(c.MaxResults) {
		// Known at once: the rest of the walk would be wasted (D§5.12).
		return Decision{Next: next, Why: "total", Err: fault.Newf(fault.Capped,
			"the window holds %d items, and the upstream serves only the first %d of a query (paging.maxResults)", next.Total, c.MaxResults)}
	}
	done, why := c.hasEnded(s, next, o)
	if done && c.probesEnd(s, o) {
		next.Token, next.URL, next.Probe = s.Token, s.URL, true
		return Decision{Next: next, Why: "no next page named: asked once more"}
	}
	if done && c.cutOff(next, o) {
		return Decision{Next: next, Why: why, Err: fault.Newf(fault.Capped,
			"the list ends where the upstream stops serving a query, after %d items (paging.maxResults)", c.MaxResults)}
	}
	if done {
		if (c.Expects() || next.Total >= 0 && c.isDoubtful(s, next, o)) && next.isShort() {
			if c.onlyFirst(next, o) {
				return Decision{Next: next, Why: why, Err: firstAgain(next)}
			}
			return Decision{Next: next, Err: c.shortCount(next, o)}
		}
		return Decision{Next: next, Done: true, Why: why}
	}
	return Decision{Next: next, Why: why, Err: c.findObstacle(s, next, o)}
}

// probesEnd reports whether the end is to be looked at twice: some upstreams now
// and then forget to name the next page (§4.3.3).
func (c Config) probesEnd(s State, o Observation) bool {
	return c.TailProbe && !s.Probe && o.HasMore == nil && (c.Type == Token && o.Token == "" || c.Type == URL && o.URL == "")
}

// countPlaces returns how many places of the list a page was for. What was delivered
// counts, not what was asked for: an upstream that quietly sends smaller pages would
// otherwise leave holes between them. But never more than was asked for: an item that is
// shown beside the list would push a real one out (I2).
func (c Config) countPlaces(o Observation) int { return min(o.Items, c.Size) }

// countDelivered returns how many items of a page count against the announced total.
// Where the client counts, the surplus of a page that is larger than asked for does not;
// a page behind a token is as large as the upstream likes.
func (c Config) countDelivered(o Observation) int {
	if c.Type == Offset || c.Type == Page {
		return min(o.New+o.Known, c.Size)
	}
	return o.New
}

// countIdle counts pages in a row that brought nothing new. An empty page is not
// counted: upstreams send several of them where much is filtered out. Nor is a
// page whose items all came before as the surplus of another.
func (c Config) countIdle(s State, o Observation) int {
	switch {
	case o.New > 0 || s.Probe || o.Known > 0 && o.Known == c.countPlaces(o):
		return 0
	case o.Items > 0:
		return s.Idle + 1
	}
	return s.Idle
}

// circle is how many pages in a row may hold nothing new. One may be a page that
// was served twice; after three the walk goes round.
const circle = 3

// desert is how many pages in a row may be empty. There may be many where much
// is filtered out, but not for ever: each slice would use up its budget, be cut
// and its parts would do the same.
const desert = 1000

// findObstacle returns why a walk that should go on cannot.
func (c Config) findObstacle(s, next State, o Observation) *fault.Error {
	named := c.Type == Token || c.Type == URL
	switch {
	case named && c.UniqueTokens && o.Again:
		return fault.Newf(fault.TokenLoop, "the page leads to one that was read before (paging.uniqueTokens)")
	case named && next.Idle >= circle:
		return fault.Newf(fault.TokenLoop, "the last %d pages held nothing new: the walk goes in a circle", next.Idle)
	case next.Idle >= circle && c.onlyFirst(next, o):
		return firstAgain(next)
	case next.Idle >= circle:
		return fault.Newf(fault.TokenLoop, "the last %d pages held nothing new, and more are announced", next.Idle)
	case next.Empty >= desert, c.Type == Offset && next.Empty >= circle: // behind an empty page an offset is where it was
		return fault.Newf(fault.TokenLoop, "the last %d pages held nothing, and more are announced", next.Empty)
	case c.countsItself() && s.Idle > 0 && o.New > 0:
		// Behind the end some upstreams serve the last page for ever; in the
		// middle a page that is served again has taken the place of another.
		return fault.Newf(fault.TokenLoop, "page %d held only items of earlier pages, and more followed: what belonged there was not served", s.Pages)
	case c.Type == Page && s.Short && o.New > 0 && next.Total < 0:
		return fault.Newf(fault.ShortCount, "page %d was short and more followed: the rest of it was not served", s.Pages)
	case c.Type == One:
		return fault.Newf(fault.Budget, "the answer says that more follow, and the source has one page only (paging.type: ONE): "+
			"if the upstream has pages, the file must say how; otherwise a narrower window holds less")
	case c.Type == Time:
		return fault.Newf(fault.Budget, "the window does not fit on one page, and there is no other page: ask for a narrower window")
	case c.Type == Token && next.Token == "", c.Type == URL && next.URL == "":
		// Without a name the first page would be asked for again, for ever.
		return fault.Newf(fault.BadBody, "more pages are announced, but nothing names the next one")
	case c.MaxResults > 0 && c.countPassed(next) >= c.MaxResults:
		return fault.Newf(fault.Capped, "the upstream serves only the first %d items of a query (paging.maxResults)", c.MaxResults)
	case next.Pages >= c.MaxPages:
		return fault.Newf(fault.Budget, "paging.maxPages of %d reached", c.MaxPages)
	}
	return nil
}

// isDoubtful reports whether an apparent end must be compared with the announced total
// even without expectTotal: the page was empty, or held only known items. There are two
// exceptions. A short page that ends exactly at the total and holds known items is the
// rest of a list that has an item twice, or whose items moved back while it was read. And
// where the total is an estimate, a short page with nothing after it has shown its end
// twice.
func (c Config) isDoubtful(s, next State, o Observation) bool {
	if c.totalIsEstimate() && s.Short && o.Items == 0 {
		return false
	}
	rest := c.Type == Offset && next.Idle == 1 && o.Items < c.Size && int64(next.Offset) == next.Total
	return c.countsItself() && (o.Items == 0 || next.Idle > 0 && !rest)
}

// onlyFirst reports whether one full page came again and no other was ever seen, where
// the client counts. An upstream that serves its last page for ever does so; but so does
// one that does not know the paging parameter, and most of its list would be missed.
func (c Config) onlyFirst(next State, o Observation) bool {
	return c.countsItself() && next.Idle > 0 && next.Pages == next.Idle+1 && o.Items >= c.Size
}

// firstAgain returns the fault of a first page that came again. As with TIME, narrower
// windows can get what one page holds.
func firstAgain(next State) *fault.Error {
	return fault.Newf(fault.Budget, "the first page came %d times, whatever was asked for: either it is the only one, "+
		"or the upstream does not know the parameter of the page; a narrower window shows which", next.Pages)
}

// cutOff reports that a list ends where the upstream stops serving, so that the
// end says nothing. A total that is no larger than what is served says nothing
// either: upstreams that stop counting there are common (D§5.12).
func (c Config) cutOff(next State, o Observation) bool {
	served := next.Seen
	switch c.Type {
	case Offset:
		served = next.Offset
	case Page:
		served = c.itemsBefore(next) - c.Size + c.countPlaces(o)
	}
	counted := next.Total >= 0 && next.Total < int64(c.MaxResults)
	return c.MaxResults > 0 && served >= c.MaxResults && !counted
}

// countPassed returns how many items of the query lie before the next page.
func (c Config) countPassed(next State) int {
	switch c.Type {
	case Offset:
		return next.Offset
	case Page:
		return c.itemsBefore(next)
	}
	return next.Seen
}

// countsItself reports whether nothing on a page names the next one.
func (c Config) countsItself() bool { return c.Type == Offset || c.Type == Page || c.Type == Time }

func (c Config) hasEnded(s, next State, o Observation) (bool, string) {
	switch {
	case o.HasMore != nil:
		return !*o.HasMore, "hasMore"
	case c.Type == One:
		return true, "the only page"
	case c.countsItself():
		return c.endedByCount(next, o)
	case c.Type == Token && o.Token == "":
		return true, "no next token"
	case c.Type == URL && o.URL == "":
		return true, "no next URL"
	case c.EndOnShortPage && o.Items == 0:
		return true, "empty page"
	case c.EndOnShortPage && o.Items < c.Size && (c.Expects() || next.Total >= 0) && next.isShort():
		return false, "short page before the total"
	case c.EndOnShortPage && o.Items < c.Size:
		return true, "short page"
	case o.Items == 0 && o.Token == s.Token && o.URL == s.URL:
		return true, "empty page that leads to itself"
	case c.Type == URL:
		return false, "next URL"
	}
	// Also after an empty page: a next token says that there is more (§4.3.3).
	return false, "next token"
}

// endedByCount decides where nothing on the page names the next one. A full page
// may be followed by another (§4.3.3); a known total decides in both directions.
func (c Config) endedByCount(next State, o Observation) (bool, string) {
	reached := int64(next.Seen) >= next.Total
	if c.Type == Offset {
		reached = int64(next.Offset) >= next.Total
	}
	full := o.Items >= c.Size
	switch {
	case o.Items == 0:
		return true, "empty page"
	case c.Type == Time && !c.totalIsEstimate() && next.Total > int64(o.Items):
		return false, "the only page holds less than the total"
	case c.Type == Time:
		return !full, "size of the only page"
	case next.Total >= 0 && full && next.Pages == 1 && next.Total == int64(o.Items):
		return false, "the total may be that of the page"
	case next.Total >= 0 && full && int64(next.Seen) >= next.Total && next.Idle >= circle && !c.onlyFirst(next, o):
		return true, "the last page again and again" // a total that fell, or was too small, announces nothing
	case next.Total >= 0 && full && next.Total < next.First:
		return false, "full page, and the total fell"
	case next.Total >= 0 && full && next.Total < int64(next.Seen):
		return false, "full page, and more came than the total"
	case next.Total >= 0 && full && c.totalIsEstimate() && next.Idle < circle:
		return false, "full page, and the total is an estimate"
	case next.Total >= 0:
		return reached, "total"
	case next.Idle >= circle && c.onlyFirst(next, o):
		return false, "the first page again and again"
	case next.Idle >= circle:
		return true, "the last page again and again"
	}
	switch {
	case full:
		return false, "full page"
	case c.TailProbe:
		return false, "short page: looked behind it"
	}
	return true, "short page"
}
