package paging

import (
	"testing"

	"github.com/patra-ingest/patra/internal/core/fault"
	"pgregory.net/rapid"
)

func ptr[T any](v T) *T { return &v }

func TestAdvance(t *testing.T) {
	crossref := Config{Type: Token, Size: 2, Initial: "*", EndOnShortPage: true, ExpectTotal: ptr(true)}.WithDefaults()
	plain := Config{Type: Token, Size: 2}.WithDefaults()
	few := Config{Type: Token, Size: 2, MaxPages: 1}.WithDefaults()
	short := Config{Type: Token, Size: 2, EndOnShortPage: true}.WithDefaults()
	for name, tc := range map[string]struct {
		config Config
		state  State
		seen   Observation
		done   bool
		code   fault.Code
	}{
		"token goes on":                {plain, plain.First(), Observation{Items: 2, New: 2, Token: "b"}, false, ""},
		"no token ends":                {plain, plain.First(), Observation{Items: 2, New: 2}, true, ""},
		"flag wins over token":         {plain, plain.First(), Observation{Items: 2, New: 2, Token: "b", HasMore: ptr(false)}, true, ""},
		"more is announced, not named": {plain, plain.First(), Observation{Items: 2, New: 2, HasMore: ptr(true)}, false, fault.BadBody},
		"short page is not the end":    {plain, plain.First(), Observation{Items: 1, New: 1, Token: "b"}, false, ""},
		"empty page with a token":      {plain, plain.First(), Observation{Items: 0, Token: "b"}, false, ""},
		"empty page leads to itself":   {plain, State{Pages: 1, Token: "b", Seen: 2, Total: -1, First: -1}, Observation{Items: 0, Token: "b"}, true, ""},
		"short page, total announced":  {short, short.First(), Observation{Items: 1, New: 1, Token: "b", Total: ptr(int64(5))}, false, ""},
		"short page, total delivered":  {short, short.First(), Observation{Items: 1, New: 1, Token: "b", Total: ptr(int64(1))}, true, ""},
		"same token is progress":       {crossref, State{Pages: 1, Token: "s", Seen: 2, Total: 5, First: 5}, Observation{Items: 2, New: 2, Token: "s", Total: ptr(int64(5))}, false, ""},
		"short page with total ends":   {crossref, State{Pages: 2, Token: "s", Seen: 4, Total: 5, First: 5}, Observation{Items: 1, New: 1, Token: "s", Total: ptr(int64(5))}, true, ""},
		"short page before total":      {crossref, State{Pages: 1, Token: "s", Seen: 2, Total: 5, First: 5}, Observation{Items: 1, New: 1, Token: "s", Total: ptr(int64(5))}, false, ""},
		"empty page before total":      {crossref, State{Pages: 2, Token: "s", Seen: 3, Total: 5, First: 5}, Observation{Items: 0, Token: "s", Total: ptr(int64(5))}, false, fault.ShortCount},
		"exact multiple goes on":       {crossref, State{Pages: 1, Token: "s", Seen: 2, Total: 4, First: 4}, Observation{Items: 2, New: 2, Token: "s", Total: ptr(int64(4))}, false, ""},
		"empty answer in mid-walk":     {crossref, State{Pages: 2, Token: "s", Seen: 4, Total: 9, First: 9}, Observation{Items: 0, Token: "s", Total: ptr(int64(0))}, false, fault.ShortCount},
		"total falls too far":          {crossref, State{Pages: 2, Token: "s", Seen: 500, Total: 1500, First: 1500}, Observation{Items: 1, New: 1, Token: "s", Total: ptr(int64(501))}, false, ""},
		"total falls a little":         {crossref, State{Pages: 2, Token: "s", Seen: 1495, Total: 1500, First: 1500}, Observation{Items: 1, New: 1, Token: "s", Total: ptr(int64(1496))}, true, ""},
		"no total at all":              {crossref, State{Pages: 2, Token: "s", Seen: 4, Total: -1, First: -1}, Observation{Items: 0, Token: "s"}, false, fault.ShortCount},
		"zero hits":                    {crossref, crossref.First(), Observation{Total: ptr(int64(0)), Token: "s"}, true, ""},
		"page limit":                   {few, few.First(), Observation{Items: 2, New: 2, Token: "b"}, false, fault.Budget},
	} {
		got := tc.config.Advance(tc.state, tc.seen)
		var code fault.Code
		if got.Err != nil {
			code = got.Err.Code
		}
		if got.Done != tc.done || code != tc.code {
			t.Errorf("%s: done=%v err=%v (%s)", name, got.Done, got.Err, got.Why)
		}
		if got.Next.Pages != tc.state.Pages+1 {
			t.Errorf("%s: page count %d", name, got.Next.Pages)
		}
	}
}

// A walk over any split of items into pages ends exactly when the announced
// total was delivered, never before.
func TestWalkDeliversTheTotal(t *testing.T) {
	c := Config{Type: Token, Size: 5, EndOnShortPage: true, ExpectTotal: ptr(true)}.WithDefaults()
	rapid.Check(t, func(t *rapid.T) {
		pages := rapid.SliceOfN(rapid.IntRange(1, 5), 1, 20).Draw(t, "pages")
		total := int64(0)
		for _, n := range pages {
			total += int64(n)
		}
		state := c.First()
		for i, n := range append(pages, 0) {
			d := c.Advance(state, Observation{Items: n, New: n, Token: "same", Total: &total})
			if d.Err != nil {
				t.Fatal(d.Err)
			}
			state = d.Next
			if d.Done {
				if int64(state.Seen) != total {
					t.Fatalf("ended at page %d with %d of %d", i, state.Seen, total)
				}
				return
			}
		}
		t.Fatal("never ended")
	})
}
