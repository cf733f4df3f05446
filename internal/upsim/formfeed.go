package upsim

import (
	"cmp"
	"slices"
	"time"
)

// feedForms returns lists that take no window at all and come newest first: by a token over
// a snapshot, by numbers of pages, by numbers of items without a total, behind the last
// item, and as one page that is all there is.
func feedForms() []form {
	return []form{
		{name: "feed", how: byToken, next: nextToken, tokenIn: tokenInQuery, total: true, feed: true},
		{name: "feed-page", how: byPage, base: 1, total: true, feed: true},
		{name: "feed-offset", how: byOffset, feed: true},
		{name: "feed-key", how: byStampKey, total: true, feed: true},
		{name: "feed-once", how: byWindow, feed: true},
	}
}

// FeedOrder is the order in which a feed really comes.
type FeedOrder int

// The orders of a feed. All but the first are lies; feed-key tells none of them.
const (
	NewestFirst FeedOrder = iota
	OldestFirst           // the other way round
	ByID                  // in no order of dates
	Pinned                // newest first, but for the oldest work, which comes first of all
	Misplaced             // newest first, but some works stand Lies.MisplacedBy too far back
)

// sortFeed puts items into the order in which a feed shows them.
func (s *Server) sortFeed(q formQuery, items []item) []item {
	lies := s.currentLies()
	if q.form.how == byStampKey {
		lies.Feed = NewestFirst
	}
	keys := make(map[uint32]key, len(items))
	for _, it := range items {
		k := key{stamp: it.indexed, id: s.data.doiOf(it.seq)}
		if lies.Feed == Misplaced && (lies.MisplacedID == k.id || lies.MisplacedID == "" && it.seq%7 == 3) {
			k.stamp -= int64(lies.MisplacedBy / time.Second)
		}
		keys[it.seq] = k
	}
	slices.SortFunc(items, func(a, b item) int {
		one, two := keys[a.seq], keys[b.seq]
		switch lies.Feed {
		case OldestFirst:
			return one.compareKeys(two)
		case ByID:
			return cmp.Compare(one.id, two.id)
		}
		return two.compareKeys(one)
	})
	if n := len(items); lies.Feed == Pinned && n > 1 {
		items = append([]item{items[n-1]}, items[:n-1]...)
	}
	return items
}

// liesBehind reports whether a key lies behind another one in the order of the form.
func (q formQuery) liesBehind(k, after key) bool {
	if q.form.feed {
		return k.compareKeys(after) < 0
	}
	return k.compareKeys(after) > 0
}
