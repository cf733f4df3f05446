package paging

import (
	"testing"

	"github.com/patra-ingest/patra/internal/core/fault"
	"pgregory.net/rapid"
)

// Tokens that lead back are noticed after a few pages; one page that is served
// twice is not a circle.
func TestWalkInACircle(t *testing.T) {
	for _, kind := range []Type{Token, URL} {
		c := of(kind, nil)
		page := func(s State, fresh int) Decision {
			return c.Advance(s, Observation{Items: 10, New: fresh, Token: "t", URL: "/u"})
		}
		state := page(c.First(), 10).Next
		for i, fresh := range []int{0, 0, 10, 0, 0} { // served twice, and again
			d := page(state, fresh)
			if d.Err != nil {
				t.Fatalf("%s, page %d: %v", kind, i, d.Err)
			}
			state = d.Next
		}
		if d := page(state, 0); d.Err == nil || d.Err.Code != fault.TokenLoop {
			t.Errorf("%s: %+v", kind, d)
		}
	}
}

// Upstreams that filter after paging send empty pages for a long time.
func TestEmptyPagesAreNoCircle(t *testing.T) {
	c := of(Token, nil)
	state := c.First()
	for i := range 50 {
		d := c.Advance(state, Observation{Token: string(rune('a' + i))})
		if d.Err != nil || d.Done {
			t.Fatalf("page %d: %+v", i, d)
		}
		state = d.Next
	}
}

func TestRepeatedTokenIsACircleWhereTokensAreUnique(t *testing.T) {
	o := Observation{Items: 10, New: 10, Token: "t", Again: true}
	if d := of(Token, nil).Advance(State{}, o); d.Err != nil {
		t.Errorf("equal tokens are ordinary elsewhere: %v", d.Err)
	}
	if d := of(Token, func(c *Config) { c.UniqueTokens = true }).Advance(State{}, o); d.Err == nil || d.Err.Code != fault.TokenLoop {
		t.Errorf("%+v", d)
	}
}

// §4.3.3: a lost next is asked for once more, at the same place; the second time
// it is believed.
func TestTailProbe(t *testing.T) {
	for _, kind := range []Type{Token, URL} {
		c := of(kind, func(c *Config) { c.TailProbe = true })
		before := State{Pages: 3, Token: "t3", URL: "/3", Seen: 30, Total: -1, First: -1}
		d := c.Advance(before, Observation{Items: 10, New: 10})
		if d.Done || d.Err != nil || c.Position(d.Next) != c.Position(before) || !d.Next.Probe {
			t.Fatalf("%s: %+v", kind, d)
		}
		last := c.Advance(d.Next, Observation{Items: 10})
		if !last.Done {
			t.Errorf("%s: believed the second time: %+v", kind, last)
		}
		more := c.Advance(d.Next, Observation{Items: 10, Token: "t4", URL: "/4"})
		if more.Done || more.Err != nil || more.Next.Probe || more.Next.Seen != 40 || more.Next.Idle != 0 {
			t.Errorf("%s: %+v", kind, more)
		}
		if flag := c.Advance(before, Observation{Items: 10, New: 10, HasMore: ptr(false)}); !flag.Done {
			t.Errorf("%s: an explicit flag needs no second look: %+v", kind, flag)
		}
	}
}

// The digest of a pass depends on what it saw, not on the order.
func TestDigestKnowsNoOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		items := rapid.SliceOfDistinct(rapid.Uint64(), func(x uint64) uint64 { return x }).Draw(t, "items")
		var there, back Digest
		for i, x := range items {
			y := items[len(items)-1-i]
			there, back = there.With(x, x^1), back.With(y, y^1)
		}
		if there != back {
			t.Fatalf("%+v, backwards %+v", there, back)
		}
		if len(items) > 0 && there == there.With(items[0], items[0]^1) {
			t.Fatal("an item more is not noticed")
		}
	})
}

// Without a total a short page may be one in the middle: one more is asked for
// where that is declared, and by page number the rest of it is gone.
func TestShortPageIsLookedBehind(t *testing.T) {
	probing := func(c *Config) { c.TailProbe = true }
	for _, kind := range []Type{Offset, Page} {
		c := of(kind, probing)
		short := c.Advance(c.First(), Observation{Items: 4, New: 4})
		if short.Done || short.Err != nil {
			t.Fatalf("%s: %+v", kind, short)
		}
		if end := c.Advance(short.Next, Observation{}); !end.Done || end.Err != nil {
			t.Errorf("%s: %+v", kind, end)
		}
		more := c.Advance(short.Next, Observation{Items: 10, New: 10})
		if lost := more.Err != nil && more.Err.Code == fault.ShortCount; lost != (kind == Page) || more.Done {
			t.Errorf("%s: %+v", kind, more)
		}
	}
}

// An upstream that serves its last page for ever has an end; one that serves a
// page in the place of another has not.
func TestPagesThatComeAgain(t *testing.T) {
	for _, kind := range []Type{Offset, Page} {
		c := of(kind, nil)
		fresh, again := Observation{Items: 10, New: 10}, Observation{Items: 10}
		s := c.Advance(c.Advance(c.First(), fresh).Next, fresh).Next
		first := c.Advance(s, again)
		second := c.Advance(first.Next, again)
		third := c.Advance(second.Next, again)
		if first.Done || second.Done || !third.Done || third.Err != nil {
			t.Errorf("%s: %+v, %+v, %+v", kind, first, second, third)
		}
		if d := c.Advance(first.Next, fresh); d.Err == nil || d.Err.Code != fault.TokenLoop {
			t.Errorf("%s: %+v", kind, d)
		}
	}
}

// walked follows a list that says the same of every page, and brings something
// new on the first ones only.
func walked(c Config, fresh int, same Observation) (pages int, last Decision) {
	s := c.First()
	for pages = 1; ; pages++ {
		o := same
		if pages <= fresh {
			o.New = o.Items
		}
		if last = c.Advance(s, o); last.Done || last.Err != nil {
			return pages, last
		}
		s = last.Next
	}
}

// An upstream that does not know the parameter gives its first page for ever. That
// is no end, however it counts, and it is noticed after a few requests.
func TestTheFirstPageForEver(t *testing.T) {
	for name, o := range map[string]Observation{
		"nothing tells": {Items: 10}, "a total": {Items: 10, Total: ptr(int64(1000))}, "a small total": {Items: 10, Total: ptr(int64(25))},
		"a flag": {Items: 10, HasMore: ptr(true)}, "a flag and a total": {Items: 10, HasMore: ptr(true), Total: ptr(int64(1000))},
	} {
		for _, kind := range []Type{Offset, Page} {
			pages, d := walked(of(kind, nil), 1, o)
			if d.Done || d.Err.Code != fault.Budget || pages > circle+1 {
				t.Errorf("%s, %s: %d pages, done %v (%s), %v", kind, name, pages, d.Done, d.Why, d.Err)
			}
		}
	}
	if _, d := walked(of(Offset, func(c *Config) { c.TailProbe = true }), 1, Observation{Items: 7}); !d.Done {
		t.Errorf("a short page is the last one: %+v", d)
	}
}

// Where more is announced, pages that bring nothing do not go on until maxPages.
func TestMoreIsAnnouncedForEver(t *testing.T) {
	for name, c := range map[string]struct {
		kind  Type
		same  Observation
		pages int
	}{
		"known items, a flag":            {Page, Observation{Items: 10, HasMore: ptr(true)}, 2 + circle},
		"known items, a total":           {Page, Observation{Items: 10, Total: ptr(int64(1000))}, 2 + circle},
		"empty at one offset":            {Offset, Observation{HasMore: ptr(true)}, circle},
		"empty pages, one by one":        {Page, Observation{HasMore: ptr(true)}, desert},
		"known items, a flag, by offset": {Offset, Observation{Items: 10, HasMore: ptr(true)}, 2 + circle},
	} {
		pages, d := walked(of(c.kind, nil), 2, c.same)
		if d.Done || d.Err.Code != fault.TokenLoop || pages != c.pages {
			t.Errorf("%s: %d pages, %+v", name, pages, d)
		}
	}
}

// A number that is that of each page is no total.
func TestTotalOfEachPage(t *testing.T) {
	for _, kind := range []Type{Offset, Page} {
		c := of(kind, expecting)
		s := c.First()
		for i, items := range []int{10, 10, 10, 5} {
			d := c.Advance(s, Observation{Items: items, New: items, Total: ptr(int64(items))})
			if d.Err != nil || d.Done != (i == 3) {
				t.Fatalf("%s, page %d: %+v", kind, i+1, d)
			}
			s = d.Next
		}
	}
}

// The last page for ever is the end also where a total was not believed: one that is
// that of each page, or that fell a little while the list was read.
func TestLastPageForEverBehindATotal(t *testing.T) {
	for name, totals := range map[string][2]int64{"of each page": {10, 10}, "that fell": {101, 100}} {
		for _, kind := range []Type{Offset, Page} {
			c := of(kind, nil)
			s := c.First()
			for i := 0; ; i++ {
				o := Observation{Items: 10, Total: ptr(totals[min(i, 1)])}
				if i < 10 {
					o.New = 10
				}
				d := c.Advance(s, o)
				if d.Err != nil {
					t.Fatalf("%s, a total %s, page %d: %v", kind, name, i+1, d.Err)
				}
				if s = d.Next; d.Done {
					break
				}
			}
			if s.Seen != 100 || s.Pages != 10+circle {
				t.Errorf("%s, a total %s: %+v", kind, name, s)
			}
		}
	}
}

// Where the total counts rows, an item that is listed twice may be all that the last
// page holds. A page in the place of another is full, or not the last.
func TestRestOfAListThatIsKnown(t *testing.T) {
	for name, c := range map[string]struct {
		total int64
		items []int // those behind the first two pages are known
		done  bool
	}{
		"one item twice":        {21, []int{10, 10, 1}, true},
		"a full page again":     {30, []int{10, 10, 10}, false},
		"more than is left":     {22, []int{10, 10, 5}, false},
		"two pages of the rest": {31, []int{10, 10, 10, 1}, false},
	} {
		config := of(Offset, nil)
		s, last := config.First(), Decision{}
		for i, items := range c.items {
			o := Observation{Items: items, Total: &c.total}
			if i < 2 {
				o.New = items
			}
			last = config.Advance(s, o)
			s = last.Next
		}
		if last.Done != c.done || (last.Err == nil) != c.done || !c.done && last.Err.Code != fault.ShortCount {
			t.Errorf("%s: %+v", name, last)
		}
	}
}
