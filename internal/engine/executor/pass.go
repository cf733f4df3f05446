package executor

import (
	"crypto/sha256"
	"encoding/binary"
	"time"

	"github.com/patra-ingest/patra/internal/core/extract"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/paging"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/window"
)

// listPass is one pass through the pages of a slice: where it stands and what it sap.
type listPass struct {
	config   paging.Config
	begun    int // size of its pages when it began
	no       int
	state    paging.State
	read     int // items of this pass, and those of them that were unusable
	rejected int

	tally    paging.Tally        // tells a repeated page from progress
	versions map[uint64]struct{} // versions of items, where two passes are compared
	led      map[uint64]struct{} // tokens and addresses pages led to
	sums
	whole int // passes this run read to their end
	feed

	axis *slicing.AxisWalk // the parts of the slice; nil: it is read as one

	latest
}

// latest is what the last page left.
type latest struct {
	at      time.Time     // when it was asked for
	last    paging.Digest // of its items
	reached ingest.Reached
}

// sums are what a pass saw, and the one before it, where two passes are compared.
type sums struct {
	sum     paging.Digest
	prior   *paging.Digest // of the pass before, if that one was whole
	within  paging.Digest  // as sum, without items behind the window
	settled *paging.Digest // as prior, for within, if the order of that pass was seen to rise
}

// newPass returns a pass that begins with the first page.
func newPass(c paging.Config, f feed, no int) listPass {
	return listPass{
		config: c, begun: c.Size, no: no, state: c.First(),
		versions: map[uint64]struct{}{}, led: map[uint64]struct{}{}, feed: f,
	}
}

// resumeAt goes on where a checkpoint was written.
func (p *listPass) resumeAt(last ingest.Checkpoint) {
	p.state, p.read, p.rejected, p.sum, p.prior = last.Paging, last.Read, last.Rejected, last.Sum, last.Prior
	p.within, p.settled = last.Within, last.PriorWithin
	p.at, p.last, p.reached, p.axis = last.At, last.Last, last.Reached, last.Axis
	p.trend, p.resumed = last.Trend, last.Paging.Pages > 0
	if last.Size > 0 { // where the walk stands is counted in pages of this size
		p.config.Size, p.begun = last.Size, max(last.Begun, last.Size)
	}
}

// isMoving reports whether items may change their places while the pages are read.
func (p *listPass) isMoving() bool { return !*p.config.Stable }

// observePage takes note of a page and says what paging should know about it.
func (p *listPass) observePage(page *extract.Page) paging.Observation {
	o := page.Says
	keys, aside := page.Keys, p.keysAside(page)
	if page.Places != nil { // the upstream counts its items, each of which holds several records
		keys, aside = page.Places, nil
	}
	var whole paging.Digest
	ids := make([]uint64, 0, len(keys))
	for _, key := range keys {
		high, low := keyHalves(key)
		whole = whole.With(high, low)
		ids = append(ids, high)
	}
	fresh, known := p.tally.Page(ids, p.config.Size)
	o.New, o.Known = len(fresh), known
	if p.isMoving() {
		for _, i := range fresh {
			p.sum = p.sum.With(keyHalves(keys[i]))
			if !aside[keys[i]] {
				p.within = p.within.With(keyHalves(keys[i]))
			}
		}
	}
	if whole == p.last { // also where the ids are forgotten with the run that saw them
		o.New, o.Known = 0, 0
	}
	p.last = whole
	if p.isMoving() {
		p.addVersions(page, aside)
	}
	p.noteOrder(page, fresh)
	if next := o.Token + o.URL; next != "" {
		high, _ := shortHash([]byte(next))
		o.Again = !addNew(p.led, high)
	}
	p.noteDates(page)
	return o
}

// keyHalves returns the two numbers that a digest is made of.
func keyHalves(key record.Key) (high, low uint64) {
	return binary.BigEndian.Uint64(key[:8]), binary.BigEndian.Uint64(key[8:])
}

// noteDates takes note of the dates the filter selects by.
func (p *listPass) noteDates(page *extract.Page) {
	if page.Reached.IsZero() {
		return
	}
	r := &p.reached
	// What lies outside of the request shows that the dates are not those the
	// upstream sorts and filters by: then they say nothing about what was read.
	r.Fell = r.Fell || page.Falls || page.Lowest.Before(r.At) || page.Kept > 0
	r.Rose = r.Rose || page.Lowest.Before(page.Reached) || !r.At.IsZero() && page.Lowest.After(r.At)
	if page.Reached.After(r.At) {
		r.At = page.Reached
	}
}

// addVersions adds the versions of items, so that one that changed between two
// passes makes them differ (D§5.14).
func (p *listPass) addVersions(page *extract.Page, aside map[record.Key]bool) {
	for _, in := range page.Records {
		text := append([]byte(in.ProviderID), in.ContentHash[:]...)
		text = binary.BigEndian.AppendUint64(text, uint64(in.UpdatedAt.UnixMicro()))
		high, low := shortHash(binary.BigEndian.AppendUint64(text, uint64(in.SourceVersion)))
		if !addNew(p.versions, high) {
			continue
		}
		p.sum = p.sum.With(high, low)
		if !aside[record.KeyOf(in.ProviderID)] {
			p.within = p.within.With(high, low)
		}
	}
}

// keysAside returns the items of a page that two readings of the window need not have in
// common: those that lie behind it and, where the newest come first, also those before it.
func (p *listPass) keysAside(page *extract.Page) map[record.Key]bool {
	out := make(map[record.Key]bool, len(page.Later))
	for _, i := range page.Later {
		out[page.Keys[i]] = true
	}
	if p.order == window.Descending {
		for _, i := range page.Earlier {
			out[page.Keys[i]] = true
		}
	}
	return out
}

// shortHash returns the beginning of a text's hash.
func shortHash(text []byte) (high, low uint64) {
	sum := sha256.Sum256(text)
	return binary.BigEndian.Uint64(sum[:8]), binary.BigEndian.Uint64(sum[8:16])
}

// addNew adds to a set and reports whether it was not in there.
func addNew(set map[uint64]struct{}, x uint64) bool {
	if _, known := set[x]; known {
		return false
	}
	set[x] = struct{}{}
	return true
}

// maxPasses bounds how often moving pages are read in one run.
const maxPasses = 10

// isSettled decides whether the end of a pass is the end of the slice. Pages that
// move are read until two passes in a row saw the same (D§5.14); one page alone
// is read at one instant and cannot move. A list in a stable order that lost an item
// on the way is read until a pass sees none leave.
func (p *listPass) isSettled(end paging.State) (bool, *fault.Error) {
	still := !p.isMoving() && !p.config.Shifted(end)
	if still || end.Pages == 1 || p.isMoving() && p.sawTheSame() {
		return true, nil
	}
	if p.whole+1 >= maxPasses {
		return false, fault.Newf(fault.Unstable, "%d readings, and no two in a row agree: the pages move faster than they are read; use smaller slices", p.whole+1)
	}
	return false, nil
}

// sawTheSame reports whether this pass and the one before it saw the same. In a list that
// rises, what lies behind the window cannot make an item of the window slip from page to
// page, so it need not be the same: a list without an upper bound grows there all the
// time. In any other order it could.
func (p *listPass) sawTheSame() bool {
	if p.prior != nil && *p.prior == p.sum {
		return true
	}
	return p.settled != nil && *p.settled == p.within && p.inOrder() && p.noneLeft()
}

// inOrder reports whether the dates were seen to be in the declared order; where none is
// named, in the rising one.
func (p *listPass) inOrder() bool {
	if p.order != "" {
		return p.trend.Sorted()
	}
	return p.rises()
}

// rises reports whether the dates were seen to rise and never to fall.
func (p *listPass) rises() bool { return p.reached.Rose && !p.reached.Fell }

// nextPass returns the pass that follows a whole one.
func (p *listPass) nextPass() listPass {
	config := p.config
	config.Size = p.begun
	next := newPass(config, p.feed.again(), p.no+1)
	sum := p.sum
	next.prior, next.whole, next.axis = &sum, p.whole+1, p.axis
	if within := p.within; p.inOrder() {
		next.settled = &within
	}
	return next
}

// toCheckpoint returns what a later run needs to go on here.
func (p *listPass) toCheckpoint() ingest.Checkpoint {
	return ingest.Checkpoint{
		Pass: p.no, Paging: p.state, Size: p.config.Size, Begun: p.begun, Read: p.read, Rejected: p.rejected, At: p.at, Sum: p.sum, Prior: p.prior, Within: p.within, PriorWithin: p.settled, Last: p.last, Reached: p.reached, Trend: p.trend, Axis: p.axis,
	}
}

// leftOf returns what of a window this pass has not read. Where the upstream sorts by the
// followed date, and was seen to, the dates that were passed are read. A list that starts
// with the newest is sorted too, so it must be seen that the dates rise.
func (p *listPass) leftOf(of window.Window, ordered bool, cut func(time.Time) time.Time) window.Window {
	if !ordered || !p.rises() || p.axis != nil {
		return of
	}
	rest := window.Window{From: cut(p.reached.At), To: of.To}
	if !rest.From.After(of.From) || rest.Empty() {
		return of
	}
	return rest
}
