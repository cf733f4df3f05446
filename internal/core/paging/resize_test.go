package paging

import (
	"testing"

	"pgregory.net/rapid"
)

func config(kind Type, size int) Config {
	c := Config{Type: kind, Size: size}
	if kind == Page {
		base := 1
		c.Base = &base
	}
	return c.WithDefaults()
}

func TestWhereTheSizeMayChange(t *testing.T) {
	begun := State{Pages: 3, Number: 4, Offset: 300, Token: "t", URL: "u", Total: -1, First: -1}
	for name, c := range map[string]struct {
		config Config
		state  State
		size   int
		want   bool
	}{
		"OFFSET, anywhere":        {config(Offset, 100), begun, 7, true},
		"OFFSET, more again":      {config(Offset, 7), begun, 100, true},
		"PAGE, where both begin":  {config(Page, 100), begun, 50, true},
		"PAGE, within a page":     {config(Page, 100), begun, 70, false},
		"TOKEN in the middle":     {config(Token, 100), begun, 50, false},
		"TOKEN at the start":      {config(Token, 100), config(Token, 100).First(), 50, true},
		"URL in the middle":       {config(URL, 100), begun, 50, false},
		"URL at the start":        {config(URL, 100), config(URL, 100).First(), 50, true},
		"the one page of TIME":    {config(Time, 100), config(Time, 100).First(), 50, false},
		"a fixed size":            {Config{Type: Offset, Size: 100, FixedSize: true}, begun, 50, false},
		"nothing at all":          {config(Offset, 100), begun, 0, false},
		"more than is allowed":    {Config{Type: Offset, Size: 100, MaxSize: 100}, begun, 101, false},
		"the same, for every one": {config(Token, 100), begun, 100, true},
	} {
		got, state, ok := c.config.Resize(c.state, c.size)
		if ok != c.want || ok && got.Size != c.size || !ok && (got.Size != c.config.Size || state != c.state) {
			t.Errorf("%s: %v, size %d, %+v", name, ok, got.Size, state)
		}
	}
	if _, s, _ := config(Page, 100).Resize(begun, 50); s.Number != 7 {
		t.Errorf("page 4 of a hundred is page %d of fifty", s.Number)
	}
}

// Whenever the size may change, and however often it does: every item of the list
// is asked for exactly once, in order.
func TestNoSizeLeavesAHole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		items := rapid.IntRange(0, 200).Draw(t, "items")
		kind := rapid.SampledFrom([]Type{Offset, Page}).Draw(t, "type")
		c := config(kind, rapid.IntRange(1, 40).Draw(t, "size"))
		if kind == Page && rapid.Bool().Draw(t, "from zero") {
			*c.Base = 0
		}
		total := int64(items)
		announced := rapid.Bool().Draw(t, "total")
		s, next := c.First(), 0
		for range 1000 {
			if sized, at, ok := c.Resize(s, rapid.IntRange(1, 40).Draw(t, "resized")); ok {
				c, s = sized, at
			}
			from := s.Offset
			if kind == Page {
				from = (s.Number - *c.Base) * c.Size
			}
			if from != next {
				t.Fatalf("asks from %d on, %d comes next", from, next)
			}
			o := Observation{Items: max(min(c.Size, items-from), 0)}
			o.New = o.Items
			if announced {
				o.Total = &total
			}
			next += o.Items
			d := c.Advance(s, o)
			if d.Err != nil {
				t.Fatalf("%v", d.Err)
			}
			if d.Done {
				if next != items {
					t.Fatalf("ended after %d of %d", next, items)
				}
				return
			}
			s = d.Next
		}
		t.Fatal("the walk does not end")
	})
}

// What lies before a page is known whatever sizes led to it: the cap of an
// upstream counts items, not pages.
func TestCapWithMixedSizes(t *testing.T) {
	c := config(Page, 10)
	c.MaxResults = 30
	s := State{Pages: 2, Number: 3, Total: -1, First: -1, Seen: 20}
	c, s, ok := c.Resize(s, 5)
	if !ok {
		t.Fatal("refused")
	}
	d := c.Advance(s, Observation{Items: 5, New: 5})
	if d.Err != nil {
		t.Fatalf("after 25 items: %v", d.Err)
	}
	if d = c.Advance(d.Next, Observation{Items: 5, New: 5}); d.Err == nil || d.Err.Code != "CAPPED" {
		t.Errorf("after 30 items: %v", d.Err)
	}
}
