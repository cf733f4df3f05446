package simulated

// Feeds gives a source file for each list that takes no date and comes newest first.
func Feeds() []Form {
	token := wholeItems + "\nnextToken: $.next"
	out := []Form{
		{Name: "feed", path: "feed", window: unasked + "\n  token: ${page.token}", paging: "type: TOKEN\nuniqueTokens: true", answer: token},
		{Name: "feed-page", path: "feed-page", window: unasked + "\n  page: ${page.number}", paging: "type: PAGE\nbase: 1"},
		{Name: "feed-offset", path: "feed-offset", window: unasked + "\n  offset: ${page.offset}", paging: "type: OFFSET", answer: onlyItems},
		{Name: "feed-key", path: "feed-key", paging: "type: TOKEN",
			window: unasked + `
  after_stamp: ${element(split(page.token, ' '), 0)}
  after_id: ${element(split(page.token, ' '), 1)}`,
			answer: wholeItems + `
nextToken: >-
  ${if(jsonPath('$.items[-1].id') == nil, '', concat(jsonPath('$.items[-1].updated'), ' ', jsonPath('$.items[-1].id')))}`},
	}
	for i := range out {
		out[i].more = newestFirst
	}
	return out
}

// newestFirst says that no request names a date, and that the newest come first.
const newestFirst = "filter: {bounds: NONE}\nwindow: {order: DESC}"

const unasked = `
query:
  size: ${page.size}`

// FeedOfOnePage is a feed that shows its newest items and no others.
func FeedOfOnePage() Form {
	return Form{Name: "feed-once", path: "feed-once", window: unasked, paging: "type: TIME", answer: onlyItems, more: newestFirst}
}

// Since gives a source file for lists that take a lower bound alone, sorted by the date and
// with its word for it.
func Since() []Form {
	query := "query:\n  from: ${filter.from}\n  size: ${page.size}"
	sorted := "filter: {bounds: FROM}\nwindow: {order: ASC}"
	return []Form{
		{Name: "since", path: "token", window: query + "\n  token: ${page.token}", paging: "type: TOKEN\nuniqueTokens: true", answer: wholeItems + "\nnextToken: $.next", more: sorted},
		{Name: "since-offset", path: "offset", window: query + "\n  offset: ${page.offset}", paging: "type: OFFSET", more: sorted},
	}
}

// Whole gives a source file for lists that take no date and are read whole by every
// harvest, by token and by offset.
func Whole() []Form {
	whole := "filter: {bounds: NONE}\nsnapshot: {every: P1D}"
	return []Form{
		{Name: "whole", path: "token", window: unasked + "\n  token: ${page.token}", paging: "type: TOKEN\nuniqueTokens: true", answer: wholeItems + "\nnextToken: $.next", more: whole},
		{Name: "whole-offset", path: "offset", window: unasked + "\n  offset: ${page.offset}", paging: "type: OFFSET", more: whole},
	}
}
