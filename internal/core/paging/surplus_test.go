package paging

import (
	"fmt"
	"hash/fnv"
	"testing"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/fault"
)

// padded is an upstream that puts items on its pages that do not belong there:
// ones of the list out of their place, ones of another list, one twice.
type padded struct {
	size    int
	items   []string
	longer  int  // it ignores the size it is asked for and sends this many; 0: it does not
	foreign int  // how many were made up so far
	pinned  bool // it has shown an item of the list again, out of its place
}

// page serves what stands from a place on, with the surplus somewhere among it.
func (u *padded) page(t *rapid.T, from int) []string {
	to := min(from+max(u.size, u.longer), len(u.items))
	page := append([]string{}, u.items[min(from, to):to]...)
	for range rapid.IntRange(0, 2).Draw(t, "surplus") {
		var extra string
		switch kind := rapid.SampledFrom([]string{"pinned", "foreign", "twice"}).Draw(t, "kind"); {
		case kind == "pinned" && len(u.items) > 0:
			extra, u.pinned = rapid.SampledFrom(u.items).Draw(t, "which"), true
		case kind == "twice" && len(page) > 0:
			extra = rapid.SampledFrom(page).Draw(t, "which")
		default:
			u.foreign++
			extra = fmt.Sprint("foreign ", u.foreign)
		}
		at := rapid.IntRange(0, len(page)).Draw(t, "at")
		page = append(page[:at:at], append([]string{extra}, page[at:]...)...)
	}
	return page
}

// counted takes a page into the tally.
func counted(tally *Tally, page []string, asked int) (fresh, known int) {
	var ids []uint64
	for _, text := range page {
		h := fnv.New64a()
		_, _ = h.Write([]byte(text))
		ids = append(ids, h.Sum64())
	}
	places, known := tally.Page(ids, asked)
	return len(places), known
}

// Whatever stands on a page beyond what was asked for: every item of the list is
// served, and a list that was served whole counts as that.
func TestBelieve03SurplusSkipsNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := &padded{size: rapid.IntRange(1, 12).Draw(t, "size")}
		for i := range rapid.IntRange(0, 60).Draw(t, "items") {
			u.items = append(u.items, fmt.Sprint("item ", i))
		}
		kind := rapid.SampledFrom([]Type{Offset, Page}).Draw(t, "type")
		if kind == Offset && rapid.Bool().Draw(t, "ignores the size") {
			u.longer = rapid.IntRange(1, 40).Draw(t, "longer")
		}
		c := config(kind, u.size)
		total := int64(len(u.items))
		c.ExpectTotal = ptr(true)
		s, tally, served := c.First(), Tally{}, map[string]bool{}
		for range 1000 {
			page := u.page(t, c.Before(s))
			for _, item := range page {
				served[item] = true
			}
			o := Observation{Items: len(page), Total: &total}
			o.New, o.Known = counted(&tally, page, c.Size)
			d := c.Advance(s, o)
			if d.Err != nil && d.Err.Code == fault.TokenLoop && u.pinned {
				return // a page of nothing but repeats: the walk fails, and nothing is hidden
			}
			if d.Err != nil {
				t.Fatalf("page %d from %d on: %v", s.Pages+1, c.Before(s), d.Err)
			}
			if s = d.Next; !d.Done {
				continue
			}
			for _, item := range u.items {
				if !served[item] {
					t.Fatalf("%s was skipped, and the walk counts as whole after %d pages: %+v", item, s.Pages, s)
				}
			}
			return
		}
		t.Fatal("the walk does not end")
	})
}

// What counts: at most as many items as were asked for. A surplus item does not
// stand in for one that never came; one that comes again at its own place counts
// there; an item that cannot be used counts as any other.
func TestBelieve03WhatCountsAsDelivered(t *testing.T) {
	ten := func(from int) (out []string) {
		for i := range 10 {
			out = append(out, fmt.Sprint("item ", from+i))
		}
		return out
	}
	for name, c := range map[string]struct {
		pages [][]string
		want  int
	}{
		"as asked":                           {[][]string{ten(0), ten(10)}, 20},
		"one of another list":                {[][]string{append(ten(0), "ad"), ten(10)}, 20},
		"another one on each page":           {[][]string{append(ten(0), "ad 1"), append(ten(10), "ad 2")}, 20},
		"one of a later page":                {[][]string{append(ten(0), "item 15"), ten(10)}, 20},
		"one of an earlier page":             {[][]string{ten(0), append(ten(10), "item 3")}, 20},
		"one twice":                          {[][]string{append(ten(0), "item 3"), ten(10)}, 20},
		"a surplus item, and a page again":   {[][]string{append(ten(0), "ad"), ten(10), ten(10)}, 20},
		"a page again, one item was surplus": {[][]string{append(ten(0), "ad"), ten(0)}, 11},
		"a short page with one too many":     {[][]string{ten(0), {"item 10", "ad"}}, 12},
		"more than was asked for, in order":  {[][]string{append(ten(0), ten(10)...), append(ten(10), ten(20)...), ten(20)}, 30},
	} {
		for _, kind := range []Type{Offset, Page} {
			config, tally := of(kind, nil), Tally{}
			s := config.First()
			for _, page := range c.pages {
				o := Observation{Items: len(page)}
				o.New, o.Known = counted(&tally, page, config.Size)
				s = config.Advance(s, o).Next
			}
			if s.Seen != c.want || s.Offset > 10*len(c.pages) {
				t.Errorf("%s, %s: counted %d, want %d; the next page begins at %d", kind, name, s.Seen, c.want, s.Offset)
			}
		}
	}
}

// The size that was asked for is that of the moment: pages shrink while an item
// is searched that makes them fail.
func TestBelieve03SurplusOnSmallerPages(t *testing.T) {
	c := config(Offset, 10)
	s := c.Advance(c.First(), Observation{Items: 11, New: 11}).Next
	c, s, _ = c.Resize(s, 1)
	s = c.Advance(s, Observation{Items: 2, New: 2}).Next
	if s.Offset != 11 || s.Seen != 11 {
		t.Errorf("%+v", s)
	}
}
