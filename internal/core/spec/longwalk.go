package spec

import (
	"fmt"
	"strconv"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/paging"
	"github.com/patra-ingest/patra/internal/core/query"
	"github.com/patra-ingest/patra/internal/core/slicing"
)

// CutsBySize reports whether slices are cut by what they hold. Counting costs one
// request per slice, so it is done only where a source declares what a slice should
// or can hold.
func (s Snapshot) CutsBySize() bool {
	return s.Slicing.TargetRecords > 0 || s.Slicing.MaxPages > 0 || s.Paging.MaxResults > 0 || s.Slicing.PerDay > 0
}

// Walks that break with one lost answer should be short: of fifty pages 95 in a
// hundred walks end if one answer in a thousand is lost, of two thousand 13.
const (
	shortWalk  = 50   // pages that are advised
	longWalk   = 100  // pages from which on it is worth a warning
	lostAnswer = 1e-3 // one in a thousand: an ordinary network
)

// warnOfLongWalks does the arithmetic for a source whose token works once: a lost
// answer starts the slice over (D§5.14), so a slice of many pages may never end.
func (s Snapshot) warnOfLongWalks() (Warning, bool) {
	byToken := s.Paging.Type == paging.Token || s.Paging.Type == paging.URL
	if s.Operation == ingest.Update || !byToken || *s.Paging.Replayable {
		return Warning{}, false
	}
	cut := slicing.Request{
		Config: s.Slicing, PageSize: s.Paging.Size, Cap: int64(s.Paging.MaxResults), MaxPages: s.Paging.MaxPages,
	}
	pages := cut.MostPages(s.CutsBySize())
	if pages <= longWalk {
		return Warning{}, false
	}
	return Warning{"W-LONG-WALK", fmt.Sprintf(
		"a lost answer starts a slice over (paging.replayable: false), and a slice may have up to %d pages: if one answer in 1,000 is lost, only %s of its walks reach their end; with %d pages each, %s would; %s",
		pages, percentText(slicing.ShareOfWalksThatEnd(pages, lostAnswer)), shortWalk, percentText(slicing.ShareOfWalksThatEnd(shortWalk, lostAnswer)), s.shorterWalks())}, true
}

// shorterWalks returns what to do about it.
func (s Snapshot) shorterWalks() string {
	finest := map[query.Precision]string{query.Hour: "an hour", query.Day: "a day", query.Month: "a month", query.Year: "a year"}[s.Filter.Precision]
	switch {
	case finest != "":
		return fmt.Sprintf("its filter names no less than %s (filter.precision), so shorter slices need a finer filter%s", finest, s.orLargerPages())
	case s.Response.Total.IsZero():
		return "set a shorter slicing.step: the upstream announces no total to cut by"
	}
	return fmt.Sprintf("set slicing.maxPages: %d, and slices are counted and cut to that", shortWalk)
}

func (s Snapshot) orLargerPages() string {
	if s.Paging.FixedSize {
		return ""
	}
	return " or a larger paging.size"
}

// percentText writes a share with two digits that mean something.
func percentText(share float64) string {
	return strconv.FormatFloat(share*100, 'g', 2, 64) + " %"
}
