// Package extract turns a response body into records, rejects and what paging
// observed. It stands between transport and the commit of a batch.
//
// A bad item never hides the good ones, and a body that is not the promised
// document is an error, never an empty page (D§5.15). It decides nothing about
// stored records.
package extract

import (
	"errors"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/document"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/paging"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/secret"
	"github.com/patra-ingest/patra/internal/core/skew"
	"github.com/patra-ingest/patra/internal/core/tmpl"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Asked is what the request was for. The program of a source makes it, because
// it knows what a window becomes in a request.
type Asked struct {
	// Window is what the dates of items are held against: the request as it was
	// rendered where the upstream filters. An empty one holds against nothing.
	Window    window.Window
	Drop      bool // the list is not filtered upstream: items outside of Window are dropped
	Open      bool // the request has no upper bound: what lies behind Window was asked for too
	FetchAt   time.Time
	MappingID int64
	// Secrets of the request are hidden once more in what was decoded: a text of XML
	// may be written in pieces that only reading puts together (D§5.30).
	Secrets *secret.Masker
	// IDs are what a request by id asked for, Slice the window of the slice, Unit the unit of the
	// filter that it lies in, and Header the headers of the answer: templates may read them.
	IDs    []string
	Slice  window.Window
	Unit   string // of the filter, where a request names one
	Header func(name string) string
	// Sector is the part of the list that was asked for (partitions).
	Sector map[string]string
}

// given returns what templates may read besides the answer.
func (a Asked) given() *tmpl.Given {
	header := a.Header
	if header != nil {
		header = func(name string) string { return a.Secrets.String(a.Header(name)) }
	}
	return &tmpl.Given{IDs: a.IDs, Window: tmpl.WindowVars{From: a.Slice.From, To: a.Slice.To}, Unit: a.Unit, Fetched: a.FetchAt, Header: header, Sector: a.Sector}
}

// entryOf returns an item with what its templates read.
func (r *Reader) entryOf(page *tmpl.Given, item document.Item, carried map[string]any) entry {
	one := entry{item, facts{item.Values, page}, carried}
	if !r.item.wholes && !r.item.keyed && carried == nil {
		return one
	}
	own := *page
	own.Key, own.Carried = item.Key, carried
	own.Whole = func() ([]byte, error) { return r.appendCanonical(nil, one) }
	one.facts.given = &own
	return one
}

// distanceOutside returns how far a date lies outside of what was asked for; 0 if it may
// lie inside. A date such as 2025-03-04 must be moved by its whole day.
func (a Asked) distanceOutside(date window.Window) time.Duration {
	switch {
	case a.Window.Empty() || date.Overlaps(a.Window) || a.Open && a.isLater(date):
		return 0
	case date.From.Before(a.Window.From):
		return a.Window.From.Sub(date.From)
	}
	return date.To.Sub(a.Window.To)
}

// isEarlier reports whether a date lies before the window.
func (a Asked) isEarlier(date window.Window) bool { return !date.To.After(a.Window.From) }

// isLater reports whether a date lies behind the window.
func (a Asked) isLater(date window.Window) bool { return !date.From.Before(a.Window.To) }

// Page is a body, read.
type Page struct {
	Records   []record.Incoming // one per id
	Rejects   []record.Reject
	Keys      []record.Key // one per item, to tell repeated items from new ones
	Places    []record.Key // one per item of the upstream, where it holds several records (Config.Expand); nil: Keys
	Seen      int
	Duplicate int
	Outside   int             // dropped, see Asked.Drop
	Excluded  int             // left out by Config.Where
	Later     []int           // places among Keys of items that lie behind the window
	Earlier   []int           // and of those that lie before it
	Dates     []window.Window // of Keys, what the filter selects by; an empty one where an item has none, nil where none is declared
	Undated   int             // of the records and duplicates, those that should have such a date and have none
	Kept      int             // of the records and duplicates, those that lie outside of the request
	Dated     int             // of the records and duplicates, those with a date the filter selects by
	Apart     skew.Spread     // how far those kept lie outside
	Nulls     int             // places without an item, see Config.SkipNull
	EmptyBy   string          // the emptyWhen predicate that explains a page without items
	Newest    time.Time       // largest stamp of a stored item
	Lowest    time.Time       // smallest and largest date the filter selects by, zero without one
	Reached   time.Time
	Falls     bool   // a date was smaller than one before it
	BadTotal  string // why an announced total counts as none; empty if it does not
	Says      paging.Observation
}

// CheckAnswers refuses a page that is about others than the ids that were asked
// for: it would make all of them look missing, and deleted where absence means that.
func (p *Page) CheckAnswers(ids []string) *fault.Error {
	if len(p.Records) == 0 {
		return nil
	}
	asked := make(map[record.Key]bool, len(ids))
	for _, id := range ids {
		asked[record.KeyOf(id)] = true
	}
	for _, key := range p.Keys {
		if asked[key] {
			return nil
		}
	}
	return fault.Newf(fault.BadBody, "the answer has none of the %d ids that were asked for, such as %q, but %d others, such as %q: nothing of it is stored",
		len(ids), ids[0], len(p.Records), p.Records[0].ProviderID)
}

// Read takes a body apart. A body that is not a page of this endpoint is a
// fault.BadBody.
func (r *Reader) Read(body []byte, asked Asked) (*Page, error) {
	doc, err := r.document.Read(body, document.Limits{})
	if err != nil {
		return nil, fault.New(fault.BadBody, fmt.Errorf("%w; it starts with %q", err, bodyStart(body)))
	}
	given := asked.given()
	told := facts{doc.Values, given}
	if f := r.verdictOf(told); f != nil {
		return nil, f
	}
	r.dropWordOfNothing(doc, told)
	emptyBy, err := r.judgeDocument(doc, told, body)
	if err != nil {
		return nil, badBody(err)
	}
	page := &Page{EmptyBy: emptyBy, Keys: make([]record.Key, 0, len(doc.Items))}
	if page.Says, err = r.readPaging(doc, told); err != nil {
		return nil, fault.New(fault.BadBody, err)
	}
	page.Says.Token, page.Says.URL = asked.Secrets.String(page.Says.Token), asked.Secrets.String(page.Says.URL)
	switch total := page.Says.Total; {
	case total == nil:
		page.BadTotal = r.page.total.showUnreadable(told)
	case *total < 0: // no total at all, and never a count of -1
		page.BadTotal, page.Says.Total = r.page.total.showUncounted(*total), nil
	}
	if page.BadTotal != "" && r.needsTotal {
		return nil, badBody(pathError(r.config.Total.String(), "total: %s: without it the end of the list cannot be checked (paging.expectTotal)", page.BadTotal))
	}
	x := taking{Reader: r, asked: asked, given: given, page: page, incoming: make([]record.Incoming, 0, len(doc.Items))}
	if r.table != nil && len(doc.Items) > 0 {
		if x.columns, err = r.table.columnsIn(told); err != nil {
			return nil, badBody(err)
		}
	}
	for _, item := range doc.Items {
		if r.config.SkipNull && isNullItem(item) {
			page.Nulls++
			continue
		}
		if err := x.takeItem(item); err != nil {
			return nil, badBody(err)
		}
	}
	if x.stray != nil {
		return nil, badBody(x.stray)
	}
	if r.leadsOn(page) {
		return nil, badBody(pathError(r.config.Items.String(), "no items at %s, but a next page (if the source sends such pages, declare them as response.emptyWhen); the body starts with %q", r.config.Items, bodyStart(body)))
	}
	page.Records, page.Duplicate = record.Dedupe(x.incoming)
	return page, nil
}

// taking is a page while its items are read.
type taking struct {
	*Reader
	asked    Asked
	given    *tmpl.Given
	page     *Page
	columns  []string // of a table
	incoming []record.Incoming
	first    map[string]int // of ids, the first record that has one, where parts must not share them
	taken    int            // items and parts
	stray    error          // that an item belongs to another part of the list; the first one
	scratch  []byte
}

// takeItem reads an item of the upstream: as the record that it is, or as those that it holds.
func (x *taking) takeItem(item document.Item) error {
	usable := item.Err == nil && !isNullItem(item)
	switch {
	case x.table != nil && usable:
		return x.takeRow(item)
	case x.parts != nil && usable:
		return x.takeParts(item)
	}
	x.takeEntry(x.entryOf(x.given, item, nil), nil)
	if x.parts != nil {
		x.page.Places = append(x.page.Places, x.page.Keys[len(x.page.Keys)-1])
	}
	return nil
}

// takeEntry reads what becomes one record, or a reject: because of the item itself, or because of how it
// came to be one.
func (x *taking) takeEntry(one entry, refused *refusal) {
	page := x.page
	page.Seen++
	index := x.taken
	x.taken++
	if !x.item.filtered.IsZero() {
		page.Dates = append(page.Dates, window.Window{})
	}
	if refused == nil && x.stray == nil && one.Err == nil && !isNullItem(one.Item) {
		x.stray = x.checkParts(one, x.asked)
	}
	if refused == nil && x.leavesOut(one, x.asked, page) {
		page.Excluded++
		return
	}
	if refused == nil {
		if gone, is := x.readGone(one, x.asked, page); is {
			x.incoming = append(x.incoming, gone...)
			return
		}
	}
	var in record.Incoming
	var reject *record.Reject
	outside := false
	if refused != nil {
		reject = x.asked.rejectOf("", refused, one.Item)
	} else if in, reject, outside = x.readItem(one, x.asked, page, &x.scratch); reject == nil && !outside {
		reject = x.findRepeated(in)
	}
	if reject != nil {
		reject.Index = index
		page.Rejects = append(page.Rejects, *reject)
		page.Keys = append(page.Keys, rejectKey(*reject, one.Item))
		return
	}
	page.Keys = append(page.Keys, record.KeyOf(in.ProviderID))
	if outside {
		page.Outside++
		return
	}
	if in.UpdatedAt.After(page.Newest) {
		page.Newest = in.UpdatedAt
	}
	x.incoming = append(x.incoming, in)
}

// noteDate notes a date the filter selects by: sorted pages show by it how far a
// walk has come.
func (p *Page) noteDate(at time.Time) {
	p.Falls = p.Falls || at.Before(p.Reached)
	if p.Lowest.IsZero() || at.Before(p.Lowest) {
		p.Lowest = at
	}
	if at.After(p.Reached) {
		p.Reached = at
	}
}

// noteKept notes an item that is kept, with how far its date lies outside of the request.
func (p *Page) noteKept(away time.Duration) {
	p.Dated++
	if away > 0 {
		p.Kept++
		p.Apart.Note(away)
	}
}

// judgeDocument decides whether a document is a page (D§5.15). emptyWhen excuses missing
// items and nothing else: where there are items, they are read.
func (r *Reader) judgeDocument(doc *document.Page, told facts, body []byte) (emptyBy string, err error) {
	if len(doc.Items) == 0 {
		if which, _, err := firstTrue(r.page.emptyWhen, "emptyWhen", told); err != nil || which != nil {
			return which.pathName(), err
		}
	}
	which, saw, err := firstTrue(r.page.errorWhen, "errorWhen", told)
	switch {
	case err != nil:
		return "", err
	case which != nil:
		return "", fmt.Errorf("the answer reports an error: errorWhen %s saw %s", which, saw)
	case !doc.HasItems:
		return "", pathError(r.config.Items.String(), "%s at %s (if this is how the source says that it found nothing, declare it as response.emptyWhen); the body starts with %q", r.describeMissing(doc), r.config.Items, bodyStart(body))
	}
	for _, p := range r.page.mustHave {
		if !p.valueIn(told).Present() {
			return "", pathError(p.String(), "nothing at %s (mustHave); the body starts with %q", p, bodyStart(body))
		}
	}
	return "", nil
}

// missing is an error about a place of the answer that should hold something.
type missing struct {
	path string
	error
}

// pathError makes an error about a path.
func pathError(path, format string, args ...any) error {
	return missing{path, fmt.Errorf(format, args...)}
}

// badBody returns the fault of an answer that is not the promised document. Where a path
// selects nothing it names that: the same one on every page is a changed format, not
// an answer that went wrong (§4.13).
func badBody(err error) *fault.Error {
	f := fault.New(fault.BadBody, err)
	var m missing
	if errors.As(err, &m) {
		f.At = m.path
	}
	return f
}

// describeMissing returns what is not there.
func (r *Reader) describeMissing(doc *document.Page) string {
	switch {
	case doc.Lacks != "":
		return doc.Lacks
	case r.config.Single:
		return "no item"
	}
	return "no array"
}

// leadsOn reports a page that has no items and names a next one. In JSON an empty
// array may be followed by more (§4.3.3); an XML document that has nothing in the
// place of its items, and goes on, has more likely moved them.
func (r *Reader) leadsOn(page *Page) bool {
	return r.config.Format == document.FormatXML && page.Seen+page.Nulls == 0 && page.EmptyBy == "" &&
		(page.Says.Token+page.Says.URL != "" || page.Says.HasMore != nil && *page.Says.HasMore)
}

func (p *valueSlot) pathName() string {
	if p == nil {
		return ""
	}
	return p.String()
}

// firstTrue finds a predicate that holds. One that cannot be answered fails the
// page: an error must not pass for a good answer.
func firstTrue(list []valueSlot, key string, values facts) (which *valueSlot, saw string, err error) {
	for i := range list {
		yes, saw, err := list[i].holdsIn(values)
		if err != nil {
			return nil, "", fmt.Errorf("%s: %w", key, err)
		}
		if yes {
			return &list[i], saw, nil
		}
	}
	return nil, "", nil
}

// rejectKey tells a rejected item from others as well as it can: by its id, or
// by its bytes if it has none.
func rejectKey(r record.Reject, item document.Item) record.Key {
	if r.ProviderID != "" {
		return record.KeyOf(r.ProviderID)
	}
	return record.KeyOf(string(item.Raw))
}

func bodyStart(body []byte) string { return showPart(body, 60) }

// nextAt returns the path that should name the next page and selects nothing: one with a
// slip in it looks like the end of every list.
func (r *Reader) nextAt(o paging.Observation) string {
	switch {
	case o.Token == "" && !r.config.NextToken.IsZero():
		return r.config.NextToken.String() + " (response.nextToken)"
	case o.URL == "" && !r.config.NextURL.IsZero():
		return r.config.NextURL.String() + " (response.nextUrl)"
	}
	return ""
}

// readPaging returns what the page told about paging. A template that fails here fails
// the page: without its answer a walk could end too early.
func (r *Reader) readPaging(doc *document.Page, told facts) (paging.Observation, error) {
	// A null is a place the upstream filled: without it a page would look short.
	o := paging.Observation{Items: len(doc.Items), TotalAt: r.config.Total.String()}
	var err error
	if o.Token, err = r.page.token.nextIn(told); err != nil {
		return o, fmt.Errorf("nextToken: %w", err)
	}
	if o.URL, err = r.page.url.nextIn(told); err != nil {
		return o, fmt.Errorf("nextUrl: %w", err)
	}
	o.NextAt = r.nextAt(o)
	more, said, err := r.page.hasMore.booleanIn(told)
	if err == nil && !said {
		err = r.page.hasMore.checkUnsaid(told)
	}
	if err != nil {
		return o, fmt.Errorf("hasMore: %w", err)
	}
	if said {
		o.HasMore = &more
	}
	total, said, err := r.page.total.integerIn(told)
	if err != nil {
		return o, fmt.Errorf("total: %w", err)
	}
	if said {
		o.Total = &total
	}
	return o, nil
}
