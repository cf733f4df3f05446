package paging

import (
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/fault"
	"pgregory.net/rapid"
)

func of(kind Type, edit func(*Config)) Config {
	c := Config{Type: kind, Size: 10}
	if kind == Page {
		one := 1
		c.Base = &one
	}
	if edit != nil {
		edit(&c)
	}
	return c.WithDefaults()
}

// §4.3.3: explicit flag, then what names the next page, then the size of the page.
func TestEndOfEveryKind(t *testing.T) {
	for name, tc := range map[string]struct {
		config Config
		saw    Observation
		done   bool
		why    string
	}{
		"offset, full page":             {of(Offset, nil), Observation{Items: 10, New: 10}, false, "full page"},
		"offset, short page":            {of(Offset, nil), Observation{Items: 9, New: 9}, true, "short page"},
		"offset, empty page":            {of(Offset, nil), Observation{}, true, "empty page"},
		"offset, short page, more told": {of(Offset, nil), Observation{Items: 9, New: 9, Total: ptr(int64(25))}, false, "total"},
		"offset, total of a page":       {of(Offset, nil), Observation{Items: 10, New: 10, Total: ptr(int64(10))}, false, "the total may be that of the page"},
		"offset, all delivered":         {of(Offset, nil), Observation{Items: 7, New: 7, Total: ptr(int64(7))}, true, "total"},
		"offset, flag says more":        {of(Offset, nil), Observation{Items: 3, New: 3, HasMore: ptr(true)}, false, "hasMore"},
		"offset, flag says end":         {of(Offset, nil), Observation{Items: 10, New: 10, HasMore: ptr(false)}, true, "hasMore"},
		"page, full page":               {of(Page, nil), Observation{Items: 10, New: 10}, false, "full page"},
		"page, repeated items, not all": {of(Page, nil), Observation{Items: 10, New: 4, Total: ptr(int64(5))}, false, "total"},
		"page, short page":              {of(Page, nil), Observation{Items: 1, New: 1}, true, "short page"},
		"url":                           {of(URL, nil), Observation{Items: 3, URL: "/next"}, false, "next URL"},
		"url, none":                     {of(URL, nil), Observation{Items: 10}, true, "no next URL"},
		"url, ignores a token":          {of(URL, nil), Observation{Items: 10, Token: "x"}, true, "no next URL"},
		"token, ignores a url":          {of(Token, nil), Observation{Items: 10, URL: "/next"}, true, "no next token"},
		"time, short page":              {of(Time, nil), Observation{Items: 9, New: 9}, true, "size of the only page"},
	} {
		got := tc.config.Advance(tc.config.First(), tc.saw)
		if got.Err != nil || got.Done != tc.done || got.Why != tc.why {
			t.Errorf("%s: done %v because of %q (%v), want %v because of %q", name, got.Done, got.Why, got.Err, tc.done, tc.why)
		}
	}
}

func TestFullPageOfTimeNeedsANarrowerWindow(t *testing.T) {
	c := of(Time, nil)
	got := c.Advance(c.First(), Observation{Items: 10, New: 10})
	if got.Err == nil || got.Err.Code != fault.Budget || got.Done {
		t.Errorf("%+v", got)
	}
}

// An upstream that sends smaller pages than asked for, and says how many items
// there are, is read to its end without a hole.
func TestSmallerPagesLeaveNoHole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		items := rapid.IntRange(0, 60).Draw(t, "items")
		limit := rapid.IntRange(1, 15).Draw(t, "most items the upstream sends")
		c := of(Offset, nil)
		state, read := c.First(), 0
		for {
			if state.Offset != read {
				t.Fatalf("asks from %d after %d items: a hole or a repetition", state.Offset, read)
			}
			n := min(c.Size, limit, items-read)
			read += n
			got := c.Advance(state, Observation{Items: n, New: n, Total: ptr(int64(items))})
			if got.Err != nil {
				t.Fatal(got.Err)
			}
			if got.Done {
				break
			}
			state = got.Next
		}
		if read != items {
			t.Fatalf("read %d of %d", read, items)
		}
	})
}

// An empty page before the announced total is no end.
func TestEmptyPageBeforeTheTotal(t *testing.T) {
	for _, kind := range []Type{Offset, Page} {
		c := of(kind, nil)
		got := c.Advance(c.First(), Observation{Total: ptr(int64(5))})
		if got.Err == nil || got.Err.Code != fault.ShortCount {
			t.Errorf("%s: %+v", kind, got)
		}
		if got := c.Advance(c.First(), Observation{Total: ptr(int64(0))}); !got.Done || got.Err != nil {
			t.Errorf("%s, nothing found: %+v", kind, got)
		}
	}
}

func TestEveryKindStopsAtWhatTheUpstreamServes(t *testing.T) {
	for _, kind := range []Type{Offset, Page, Token, URL} {
		c := of(kind, func(c *Config) { c.MaxResults = 20 })
		state := c.First()
		for page := 1; ; page++ {
			got := c.Advance(state, Observation{Items: 10, New: 10, Token: "t", URL: "/u"})
			if got.Err != nil {
				if page != 2 || got.Err.Code != fault.Capped {
					t.Errorf("%s, page %d: %v", kind, page, got.Err)
				}
				break
			}
			if state = got.Next; page > 3 {
				t.Fatalf("%s: the walk goes on beyond paging.maxResults", kind)
			}
		}
	}
}

func TestPageNumbersStartAtTheirBase(t *testing.T) {
	for _, base := range []int{0, 1} {
		c := of(Page, func(c *Config) { c.Base = &base })
		state := c.First()
		for i := range 3 {
			if state.Number != base+i {
				t.Errorf("base %d: page %d has number %d", base, i, state.Number)
			}
			state = c.Advance(state, Observation{Items: 10, New: 10}).Next
		}
	}
}

func TestOrderIsTrustedOnlyWhereItIsDeclared(t *testing.T) {
	for kind, want := range map[Type]bool{Offset: false, Page: false, Token: true, URL: true, Time: true} {
		if got := *of(kind, nil).Stable; got != want {
			t.Errorf("%s: stable %v", kind, got)
		}
	}
	if got := of(Offset, func(c *Config) { c.Stable = ptr(true) }); !*got.Stable {
		t.Error("the declared order is ignored")
	}
}

func TestValidateSpeaksUnderItsCode(t *testing.T) {
	two := 2
	for want, c := range map[string]Config{
		"E-PAGE-BASE":    {Type: Page},
		"base 2: E-PAGE": {Type: Page, Base: &two},
		"E-PAGE-SIZE":    {Type: Token, Size: 20, MaxSize: 10},
		"E-PAGING-MIXED": {Type: Offset, Initial: "*"},
		"base: E-PAGING": {Type: Token, Base: new(int)},
	} {
		if err := c.WithDefaults().Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if got := (Config{Type: Token, MaxSize: 50}).WithDefaults(); got.Size != 50 || got.Validate() != nil {
		t.Errorf("the default size ignores paging.maxSize: %+v", got)
	}
}

// One request holds all: its end needs no rule, and what contradicts it fails.
func TestTheOnlyPageIsTheEnd(t *testing.T) {
	for name, tc := range map[string]struct {
		edit func(*Config)
		saw  Observation
		done bool
		err  fault.Code
	}{
		"some":                     {nil, Observation{Items: 3, New: 3}, true, ""},
		"more than a usual page":   {nil, Observation{Items: 4000, New: 4000}, true, ""},
		"none":                     {nil, Observation{}, true, ""},
		"all that was announced":   {expecting, Observation{Items: 12, New: 12, Total: ptr(int64(12))}, true, ""},
		"fewer than was announced": {expecting, Observation{Items: 12, New: 12, Total: ptr(int64(13))}, false, fault.ShortCount},
		"an estimate":              {estimating, Observation{Items: 12, New: 12, Total: ptr(int64(13))}, true, ""},
		"more follow":              {nil, Observation{Items: 12, New: 12, HasMore: ptr(true)}, false, fault.Budget},
		"no more follow":           {nil, Observation{Items: 12, New: 12, HasMore: ptr(false)}, true, ""},
		"as many as are served":    {func(c *Config) { c.MaxResults = 12 }, Observation{Items: 12, New: 12}, false, fault.Capped},
		"fewer than are served":    {func(c *Config) { c.MaxResults = 13 }, Observation{Items: 12, New: 12}, true, ""},
	} {
		c := of(One, tc.edit)
		got := c.Advance(c.First(), tc.saw)
		if code := codeOf(got.Err); got.Done != tc.done || code != tc.err {
			t.Errorf("%s: done %v, %v, want %v, %s", name, got.Done, got.Err, tc.done, tc.err)
		}
		if got.Err != nil && strings.Contains(got.Err.Error(), "paging.size") {
			t.Errorf("%s: it has no size: %v", name, got.Err)
		}
	}
	c := of(One, nil)
	if _, _, ok := c.Resize(c.First(), 5); ok {
		t.Error("the only page was made smaller")
	}
}

func codeOf(err *fault.Error) fault.Code {
	if err == nil {
		return ""
	}
	return err.Code
}
