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
		s := c.Advance(c.First(), Observation{Items: 10, New: 10}).Next
		again := Observation{Items: 10}
		first := c.Advance(s, again)
		second := c.Advance(first.Next, again)
		third := c.Advance(second.Next, again)
		if first.Done || second.Done || !third.Done || third.Err != nil {
			t.Errorf("%s: %+v, %+v, %+v", kind, first, second, third)
		}
		if d := c.Advance(first.Next, Observation{Items: 10, New: 10}); d.Err == nil || d.Err.Code != fault.TokenLoop {
			t.Errorf("%s: %+v", kind, d)
		}
	}
}
