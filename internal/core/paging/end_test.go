package paging

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/patra-ingest/patra/internal/core/fault"
)

// An end that coincides with what the upstream serves at most is none, unless a
// smaller total says so; nor is one by a total that fell or that one page misses.
func TestEndsThatSayNothing(t *testing.T) {
	capped := func(k Type) Config {
		return of(k, func(c *Config) { c.MaxResults = 20 })
	}
	total := func(n int64) *int64 { return &n }
	second := func(first int64) State {
		return State{Pages: 1, Offset: 10, Number: 2, Seen: 10, Token: "b", URL: "/b", Total: first, First: first}
	}
	for name, c := range map[string]struct {
		config Config
		state  State
		saw    Observation
		done   bool
		code   fault.Code
	}{
		"no next token at the cap":     {capped(Token), second(-1), Observation{Items: 10, New: 10}, false, fault.Capped},
		"no next address at the cap":   {capped(URL), second(-1), Observation{Items: 10, New: 10}, false, fault.Capped},
		"no more at the cap":           {capped(Offset), second(-1), Observation{Items: 10, New: 10, HasMore: new(bool)}, false, fault.Capped},
		"the total is the cap":         {capped(Offset), second(20), Observation{Items: 10, New: 10, Total: total(20)}, false, fault.Capped},
		"pages up to the cap":          {capped(Page), second(20), Observation{Items: 10, New: 10, Total: total(20)}, false, fault.Capped},
		"one below the cap":            {capped(Offset), second(19), Observation{Items: 9, New: 9, Total: total(19)}, true, ""},
		"a short page below the cap":   {capped(Page), second(-1), Observation{Items: 9, New: 9}, true, ""},
		"behind the cap, after a stop": {capped(Offset), State{Pages: 2, Offset: 20, Seen: 20, Total: -1, First: -1}, Observation{}, false, fault.Capped},
		"the total fell, pages full":   {of(Offset, nil), second(100), Observation{Items: 10, New: 10, Total: total(20)}, false, ""},
		"the total fell, page short":   {of(Offset, nil), second(100), Observation{Items: 9, New: 9, Total: total(19)}, true, ""},
		"one page misses the total":    {of(Time, nil), of(Time, nil).First(), Observation{Items: 3, New: 3, Total: total(4)}, false, fault.Budget},
		"one page has the total":       {of(Time, nil), of(Time, nil).First(), Observation{Items: 3, New: 3, Total: total(3)}, true, ""},
	} {
		d := c.config.Advance(c.state, c.saw)
		var code fault.Code
		if d.Err != nil {
			code = d.Err.Code
		}
		if d.Done != c.done || code != c.code {
			t.Errorf("%s: done=%v err=%v (%s)", name, d.Done, d.Err, d.Why)
		}
	}
}

// Empty pages that never end are noticed.
func TestEmptyPagesForEver(t *testing.T) {
	c := of(Token, nil)
	state := c.First()
	for i := range 2 * desert {
		d := c.Advance(state, Observation{Token: strings.Repeat("x", i+1)})
		if d.Err != nil {
			if d.Err.Code != fault.TokenLoop || i != desert-1 {
				t.Errorf("page %d: %v", i, d.Err)
			}
			return
		}
		state = d.Next
	}
	t.Error("never noticed")
}

func TestPositionFitsTheLedger(t *testing.T) {
	c := of(Token, nil)
	long := strings.Repeat("é", maxPosition)
	one, other := c.Position(State{Token: long + "1"}), c.Position(State{Token: long + "2"})
	if len(one) > maxPosition || !utf8.ValidString(one) || one == other || !strings.HasPrefix(one, "éé") {
		t.Errorf("%d bytes: %.20s", len(one), one)
	}
	if fits := strings.Repeat("x", maxPosition); c.Position(State{Token: fits}) != fits {
		t.Error("a token that fits was cut")
	}
}
