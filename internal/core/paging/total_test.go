package paging

import (
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/fault"
)

// expecting is a walk that ends with the announced total, estimating one whose
// total is an estimate.
func expecting(c *Config)  { c.ExpectTotal = ptr(true) }
func estimating(c *Config) { c.ExpectTotal = ptr(false) }

// A total that never came is told by the place where it was looked for.
func TestBelieve04TotalThatNeverCame(t *testing.T) {
	for _, kind := range []Type{Token, URL, Offset, Page, Time} {
		c := of(kind, expecting)
		d := c.Advance(c.First(), Observation{Items: 4, New: 4, TotalAt: "$.meta.count"})
		if d.Err == nil || d.Err.Code != fault.ShortCount || d.Done {
			t.Fatalf("%s: %+v", kind, d)
		}
		text := d.Err.Error()
		if strings.Contains(text, "-1") || !strings.Contains(text, "$.meta.count") || !strings.Contains(text, "response.total") || !strings.Contains(text, "expectTotal: false") {
			t.Errorf("%s: %s", kind, text)
		}
	}
}

// A total on the first page holds for the walk: some upstreams count only once.
func TestBelieve04TotalOfTheFirstPage(t *testing.T) {
	c := of(Token, expecting)
	first := c.Advance(c.First(), Observation{Items: 10, New: 10, Token: "b", Total: ptr(int64(14))})
	if last := c.Advance(first.Next, Observation{Items: 4, New: 4}); !last.Done {
		t.Errorf("%+v", last)
	}
	short := c.Advance(first.Next, Observation{Items: 3, New: 3})
	if short.Done || short.Err == nil || short.Err.Code != fault.ShortCount || !strings.Contains(short.Err.Error(), "14") {
		t.Errorf("%+v", short)
	}
}

// An estimate ends nothing and fails nothing: a full page may be followed by
// another, whatever the estimate says, and an end that shows twice is one.
func TestBelieve04Estimates(t *testing.T) {
	for _, kind := range []Type{Offset, Page} {
		c := of(kind, estimating)
		low := func(items int) Observation { return Observation{Items: items, New: items, Total: ptr(int64(20))} }
		s := c.Advance(c.First(), low(10)).Next
		second := c.Advance(s, low(10))
		if second.Done || second.Err != nil {
			t.Errorf("%s: an estimate ended the walk: %+v", kind, second)
		}
		if end := c.Advance(second.Next, low(3)); !end.Done {
			t.Errorf("%s: %+v", kind, end)
		}
		high := func(items int) Observation { return Observation{Items: items, New: items, Total: ptr(int64(25))} }
		short := c.Advance(c.Advance(c.First(), high(10)).Next, high(7))
		if short.Done || short.Err != nil {
			t.Fatalf("%s: more was announced: %+v", kind, short)
		}
		if end := c.Advance(short.Next, high(0)); !end.Done || end.Err != nil {
			t.Errorf("%s: a short page and nothing behind it: %+v", kind, end)
		}
		if end := c.Advance(c.Advance(c.First(), high(10)).Next, high(0)); end.Done {
			t.Errorf("%s: nothing where more was announced, once: %+v", kind, end)
		}
	}
	c := of(Token, estimating)
	if d := c.Advance(c.First(), Observation{Items: 4, New: 4, Total: ptr(int64(5))}); !d.Done {
		t.Errorf("%+v", d)
	}
	c = of(Time, estimating)
	if d := c.Advance(c.First(), Observation{Items: 4, New: 4, Total: ptr(int64(5))}); !d.Done {
		t.Errorf("%+v", d)
	}
}

// Items that leave a window while it is read are part of its life: what was
// delivered is held against what is left. A total that falls far, or that is gone,
// says nothing, and the first one stands.
func TestBelieve09ShrinkingTotal(t *testing.T) {
	c := Config{Type: Token, Size: 100, Initial: "*", EndOnShortPage: true, ExpectTotal: ptr(true)}.WithDefaults()
	for name, s := range map[string]struct {
		first, last int64
		seen        int
		whole       bool
	}{
		"nothing left":                         {1000, 1000, 1000, true},
		"one is missing":                       {1000, 1000, 999, false},
		"some left unread":                     {1000, 997, 997, true},
		"some left after they were read":       {1000, 995, 1000, true},
		"some left unread, some after":         {1000, 993, 997, true},
		"as many as may":                       {1000, 990, 995, true},
		"too many":                             {1000, 989, 995, false},
		"too many, and all the same delivered": {1000, 500, 1000, true},
		"one unread is missing too":            {1000, 993, 992, false},
		"the total is gone":                    {1000, 0, 997, false},
		"a small list":                         {50, 49, 49, false},
		"it grew":                              {1000, 1010, 1005, false},
	} {
		state := State{Pages: 9, Token: "s", Seen: s.seen - 1, Total: s.first, First: s.first}
		d := c.Advance(state, Observation{Items: 1, New: 1, Token: "s", Total: &s.last})
		if d.Done != s.whole {
			t.Errorf("%s: done %v (%s) %v", name, d.Done, d.Why, d.Err)
		}
		if end := c.Advance(d.Next, Observation{Token: "s", Total: &s.last}); !d.Done && (end.Done || end.Err == nil || end.Err.Code != fault.ShortCount) {
			t.Errorf("%s, an empty page behind: %+v", name, end)
		}
	}
}
