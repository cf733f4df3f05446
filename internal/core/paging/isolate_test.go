package paging

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/fault"
)

func TestWhatIsDoneAboutAPageThatFails(t *testing.T) {
	fixed := Config{Type: Offset, Size: 100, FixedSize: true}
	for name, c := range map[string]struct {
		config    Config
		code      fault.Code
		suspected bool
		want      Treatment
	}{
		"nobody suspects the page":           {config(Offset, 100), fault.ServerError, false, LetFail},
		"the page cannot be the reason":      {config(Offset, 100), fault.Unauthorized, true, LetFail},
		"suspected, with items":              {config(Offset, 100), fault.ServerError, true, HalvePage},
		"suspected, with numbers":            {config(Page, 2), fault.BadBody, true, HalvePage},
		"suspected, one item":                {config(Offset, 1), fault.Network, true, VerifyItem},
		"suspected, a token":                 {config(Token, 100), fault.ServerError, true, BlamePage},
		"suspected, an address":              {config(URL, 1), fault.ServerError, true, BlamePage},
		"suspected, the upstream sizes":      {fixed, fault.ServerError, true, BlamePage},
		"too large":                          {config(Token, 100), fault.TooLarge, false, ShrinkPages},
		"too large, whoever suspects it":     {config(Offset, 2), fault.TooLarge, true, ShrinkPages},
		"too large, one item":                {config(Offset, 1), fault.TooLarge, false, VerifyItem},
		"too large, one item behind a token": {config(Token, 1), fault.TooLarge, false, BlamePage},
		"too large, the one page of TIME":    {config(Time, 100), fault.TooLarge, false, BlamePage},
		"too large, the upstream sizes":      {fixed, fault.TooLarge, false, BlamePage},
	} {
		if got := c.config.Treat(c.code, c.suspected); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func TestWhenAPageIsSuspected(t *testing.T) {
	for _, c := range []struct {
		failures, attempts int
		want               bool
	}{
		{0, 5, false}, {1, 5, false}, {2, 5, true}, {4, 5, true},
		{0, 1, false}, // one run alone tells nothing
		{1, 2, true},  // there is no third one
	} {
		if got := SuspectsPage(c.failures, c.attempts); got != c.want {
			t.Errorf("%d of %d runs failed: %v", c.failures, c.attempts, got)
		}
	}
}

// Wherever items stand that make every page with them fail: they are set aside, each
// once, and all others are delivered, each once and in order.
func TestTheSearchFindsEveryBadItem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		items := rapid.IntRange(1, 150).Draw(t, "items")
		kind := rapid.SampledFrom([]Type{Offset, Page}).Draw(t, "type")
		usual := rapid.IntRange(1, 40).Draw(t, "size")
		bad := map[int]bool{}
		for _, at := range rapid.SliceOfN(rapid.IntRange(0, items-1), 0, 5).Draw(t, "bad items") {
			bad[at] = true
		}
		c, begun := config(kind, usual), usual
		s, search := c.First(), Isolation{}
		var got []int
		var aside []int
		requests := 0
		for done := false; !done; {
			if requests++; requests > 20*items+100 {
				t.Fatalf("no end: %+v, %d got, %d set aside", s, len(got), len(aside))
			}
			c, s, _ = search.Fit(c, s, begun, usual)
			from := c.Before(s)
			page := span(from, min(from+c.Size, items))
			var d Decision
			if fails := slices.ContainsFunc(page, func(at int) bool { return bad[at] }); fails {
				switch c.Treat(fault.ServerError, true) {
				case HalvePage:
					search.Halve(c)
					continue
				case VerifyItem:
					if f := search.SetAside(c, s, errors.New("it fails")); f != nil {
						t.Fatal(f)
					}
					aside = append(aside, page...)
					d = c.PassItem(s)
				default:
					t.Fatal("a page of items that can be taken apart is not")
				}
			} else {
				search.NotePage()
				said := total(len(page), items)
				if askFirst, wrong := c.CheckNumbering(s, begun, said); askFirst || wrong != nil {
					t.Fatalf("an upstream that keeps to the size: %v %v", askFirst, wrong)
				}
				got = append(got, page...)
				d = c.Advance(s, said)
			}
			if d.Err != nil {
				t.Fatal(d.Err)
			}
			s, done = d.Next, d.Done
			search.Grow(begun)
		}
		if len(aside) != len(bad) || len(got)+len(aside) != items || !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) {
			t.Fatalf("%d items, bad are %v: set aside %v, got %v", items, bad, aside, got)
		}
	})
}

func span(from, to int) (page []int) {
	for at := from; at < to; at++ {
		page = append(page, at)
	}
	return page
}

func total(n, of int) Observation {
	announced := int64(of)
	return Observation{Items: n, New: n, Total: &announced}
}

// A place that is not served is no list of bad items.
func TestTooManyItemsInARow(t *testing.T) {
	var search Isolation
	c, s := config(Offset, 1), State{Pages: 3, Offset: 3, Total: -1, First: -1}
	for n := range mostAside {
		if f := search.SetAside(c, s, errors.New("it fails")); f != nil {
			t.Fatalf("item %d: %v", n+1, f)
		}
	}
	search.NotePage()
	for range mostAside {
		if f := search.SetAside(c, s, errors.New("it fails")); f != nil {
			t.Fatal("a page that came ends the row:", f)
		}
	}
	if f := search.SetAside(c, s, errors.New("it fails")); f == nil || f.Code != fault.Poisoned {
		t.Error("eleven in a row:", f)
	}
}

func TestWhoIsAskedBesideAnItem(t *testing.T) {
	for name, c := range map[string]struct {
		state State
		want  []int
	}{
		"in the middle": {State{Pages: 7, Offset: 7}, []int{8, 6, 0}},
		"the first":     {State{Offset: 0}, []int{1}},
		"the second":    {State{Pages: 1, Offset: 1}, []int{2, 0, 0}},
	} {
		var got []int
		for _, other := range config(Offset, 1).Neighbours(c.state) {
			got = append(got, other.Offset)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	if others := config(Token, 1).Neighbours(State{Pages: 7, Token: "t"}); others != nil {
		t.Error("a token has no neighbours:", others)
	}
}

func TestNumbersThatMeanOtherPlaces(t *testing.T) {
	at := State{Pages: 3, Number: 4, Total: -1, First: -1}
	none := int64(0)
	for name, c := range map[string]struct {
		config Config
		begun  int
		said   Observation
		first  bool
		wrong  bool
	}{
		"as large as it began":           {config(Page, 100), 100, Observation{Items: 120}, false, false},
		"an offset":                      {config(Offset, 50), 100, Observation{Items: 100}, false, false},
		"the upstream keeps to the size": {config(Page, 50), 100, Observation{Items: 50}, false, false},
		"the upstream ignores the size":  {config(Page, 50), 100, Observation{Items: 100}, false, true},
		"an end that proves nothing":     {config(Page, 50), 100, Observation{}, true, false},
		"an end with a total":            {config(Page, 50), 100, Observation{Total: &none}, false, false},
	} {
		first, wrong := c.config.CheckNumbering(at, c.begun, c.said)
		if first != c.first || (wrong != nil) != c.wrong {
			t.Errorf("%s: ask for the first page: %v, %v", name, first, wrong)
		}
	}
}

func TestPagesThatAreTooLarge(t *testing.T) {
	middle := State{Pages: 3, Number: 4, Offset: 300, Token: "t", Total: -1, First: -1}
	var offset, token Isolation
	if f := offset.Shrink(config(Offset, 100), middle); f != nil {
		t.Error("an offset goes on with smaller pages:", f)
	}
	if c, _, by := offset.Fit(config(Offset, 100), middle, 100, 100); c.Size != 50 || by != ByLargest {
		t.Error(c.Size, by)
	}
	if f := token.Shrink(config(Token, 100), middle); f == nil || f.Code != fault.TokenLost {
		t.Error("a token has to begin again:", f)
	}
	if c, _, by := token.Fit(config(Token, 100), config(Token, 100).First(), 100, 100); c.Size != 50 || by != ByLargest {
		t.Error(c.Size, by)
	}
}
