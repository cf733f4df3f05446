package paging

import (
	"fmt"

	"github.com/patra-ingest/patra/internal/core/fault"
)

// Isolation is the search for an item that makes a whole page fail: smaller and smaller
// pages until it is alone. An item is condemned only if it failed alone twice and the
// upstream answered something else in between: while the upstream itself is in trouble,
// every page fails. It decides what to ask for next and whom to blame; it asks nobody.
//
// The zero value searches for nothing.
type Isolation struct {
	most    int         // items per page while searching; 0: nothing is searched for
	largest int         // items a page may have at most; 0: no page was too large
	aside   int         // items that were set aside since the last page that came
	breaks  map[int]int // how often the walk broke at a page
}

// patience is in how many runs a page may fail before the page is suspected.
const patience = 3

// SuspectsPage reports whether a page that fails now is suspected: earlier runs of the
// task failed too, or there are no more left. One run alone tells nothing.
func SuspectsPage(failures, attempts int) bool {
	return failures > 0 && failures+1 >= min(patience, attempts)
}

// BlamesPage reports whether what stands on a page may have caused a fault.
func BlamesPage(c fault.Code) bool {
	return c == fault.ServerError || c == fault.BadBody || c == fault.Network
}

// Treatment is what is done about a page that could not be had.
type Treatment int

// Treatments.
const (
	LetFail     Treatment = iota // the error stands
	ShrinkPages                  // an answer was too large: all pages are smaller from now on
	HalvePage                    // half of the page is asked for, to find the item
	VerifyItem                   // the item is alone: others are asked for, then the item once more
	BlamePage                    // the page cannot be taken apart: another one is asked for, then this one once more
)

// Treat decides what is done about a page that failed. suspected says that the page may be
// the reason; an answer that is too large needs no suspicion.
func (c Config) Treat(code fault.Code, suspected bool) Treatment {
	switch {
	case code == fault.TooLarge && c.Size > 1 && !c.FixedSize && c.Type != Time && c.Type != One:
		return ShrinkPages
	case code != fault.TooLarge && !(suspected && BlamesPage(code)):
		return LetFail
	case !c.takesApart():
		return BlamePage
	case c.Size > 1:
		return HalvePage
	}
	return VerifyItem
}

// takesApart reports whether the items of a page can be asked for one by one.
func (c Config) takesApart() bool {
	return (c.Type == Offset || c.Type == Page) && !c.FixedSize
}

// MayAskAgain reports whether the page a state leads to may be asked for more than once.
func (c Config) MayAskAgain(s State) bool { return *c.Replayable || s.FirstPage() }

// Searching reports whether an item is being searched for.
func (i *Isolation) Searching() bool { return i.most > 0 }

// Halve asks for half a page from now on, until the item is found.
func (i *Isolation) Halve(c Config) { i.most = c.Size / 2 }

// Stop ends the search without a result: the upstream is in trouble, not the item.
func (i *Isolation) Stop() { i.most = 0 }

// Grow asks for more again after a page that came, up to the size the walk began with.
func (i *Isolation) Grow(begun int) {
	if i.most *= 2; i.most >= begun {
		i.most = 0
	}
}

// Shrink bounds all pages to half of their size. A walk that cannot change its pages on
// the way has to begin again: the fault says so.
func (i *Isolation) Shrink(c Config, s State) *fault.Error {
	i.largest = max(c.Size/2, 1)
	if s.FirstPage() || c.Grows() {
		return nil
	}
	return fault.Newf(fault.TokenLost, "a page is too large: the slice is read again with pages of %d", i.largest)
}

// Bound is what made a page as small as it is.
type Bound int

// Bounds.
const (
	ByUsual   Bound = iota // the size that was handed in
	ByLargest              // an answer of this walk was too large
	BySearch               // an item is searched for
)

// Fit chooses the size of the next page (§12.2): usual, unless a page was too large or an
// item is searched for. An OFFSET may change at any page, every form with the first one. A
// PAGE changes in between only while a page that fails is taken apart, and back to the
// size the walk began with: see Resize.
func (i *Isolation) Fit(c Config, s State, begun, usual int) (Config, State, Bound) {
	size, by := usual, ByUsual
	if i.largest > 0 && i.largest < size {
		size, by = i.largest, ByLargest
	}
	switch {
	case s.FirstPage(), c.Grows():
	case c.Type == Page && (i.most > 0 || c.Size != begun):
		size = begun
	default:
		return c, s, by
	}
	if i.most > 0 && i.most < size {
		size, by = i.most, BySearch
	}
	for n := size; n >= 1; n-- {
		if config, state, ok := c.Resize(s, n); ok {
			return config, state, by
		}
	}
	return c, s, by
}

// Neighbours returns where other items stand, to learn whether the upstream answers those:
// the next one, the one before, the first. The size is that of one item.
func (c Config) Neighbours(s State) (others []State) {
	for _, step := range []int{1, -1, -c.Before(s)} {
		if other, ok := c.Shift(s, step); ok {
			others = append(others, other)
		}
	}
	return others
}

// mostAside is how many items in a row may be set aside. An upstream that refuses
// everything behind some place is no list of bad items: the window has to be cut.
const mostAside = 10

// SetAside counts an item that is condemned. The fault blames the page instead, where too
// many in a row are.
func (i *Isolation) SetAside(c Config, s State, cause error) *fault.Error {
	if i.aside++; i.aside > mostAside {
		return c.Blame(s, fmt.Errorf("%d items in a row fail even when asked for one by one, so the upstream does not serve this part of the list: %w", i.aside, cause))
	}
	return nil
}

// NotePage ends a row of items that were set aside: a page came.
func (i *Isolation) NotePage() { i.aside = 0 }

// PassItem decides where the walk goes behind an item that nothing is known of. The items
// around it tell whether the walk goes in a circle; this one tells nothing.
func (c Config) PassItem(s State) Decision {
	seen := Observation{Items: 1, New: 1}
	if total := s.Total; total >= 0 {
		seen.Total = &total
	}
	return c.Advance(s, seen)
}

// CheckNumbering looks whether page numbers still mean the places we think. While an item
// is searched for, PAGE pages are smaller than the walk began with. If the upstream ignores
// the size, page N does not begin at N times the size, and items would be left out: then
// the page is blamed. An end without a total may come only because the number is too high:
// then the first page has to be asked for in this size, and what it says be checked.
func (c Config) CheckNumbering(s State, begun int, said Observation) (askFirst bool, wrong *fault.Error) {
	switch {
	case c.Type != Page || c.Size >= begun:
		return false, nil
	case said.Items > c.Size:
		return false, c.Blame(s, fault.Newf(fault.BadBody, "asked for %d items, the upstream sends %d", c.Size, said.Items))
	}
	return said.Items == 0 && said.Total == nil, nil
}

// Blame returns the fault of a page that fails while others are answered.
func (c Config) Blame(at State, cause error) *fault.Error {
	return fault.New(fault.Poisoned, fmt.Errorf("page %d (%s) fails again and again while the upstream answers other pages; it cannot be taken apart: %w",
		at.Pages+1, c.Position(at), cause))
}
