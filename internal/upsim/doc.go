// Package upsim is a simulated upstream: a seeded set of works with known
// ground truth, served over HTTP in the dialect of the Crossref REST API, and
// made to misbehave on command. The same works are served below /forms/ in every
// other way to page, with every way to sign requests. Tests use it to prove that a harvest lost
// nothing; the offline demo ships it. The room before it is the HTTP client of
// a harvester, the room after it is the test that compares the stored copy
// with Truth.
//
// It must never import any other package of this module: what judges the
// harvester may not share code with it. It must never hold rendered records:
// a work is a few bytes of state and its JSON is made when it is asked for, so
// a million works cost tens of megabytes.
//
// # Data
//
// NewDataset builds the works of a Config; the same Config gives the same
// bytes. Touch, Add and Remove change the set while it is being served. Truth,
// All, Heads and Lookup tell what is in it, and which works are served broken
// and must end in quarantine. The total is exactly PerDay times the days of
// [From, To); single days vary by weekday and some are hot.
//
// # Dialect
//
// GET /works with rows, cursor, offset, filter (from-index-date and
// until-index-date in UTC, both ends included, from a year down to a second as
// in 2025-01-05T15:55:01: at the precision written), sort (indexed or score),
// order; mailto, select, facet and query are accepted and ignored. An
// unknown parameter, filter or sort is refused with 400, so a misspelled
// request cannot pass for a full one. GET /works/{doi} gives one work. Without
// sort the order is arbitrary but fixed, as upstream promises none.
//
// A walk that starts with cursor=* reads a snapshot of that moment. With
// ScrollCursor every page of a walk carries the same cursor text and the
// position lives in the server: a page whose answer was lost cannot be asked
// for again. With ReplayableCursor every page has its own cursor text. With
// Options.Shrinking works leave the asked days while a walk reads them.
//
// # Forms
//
// GET or POST /forms/NAME lists the works as {"id", "updated", "title",
// "version"} under items, the id being the DOI and updated the indexed stamp in
// seconds. from and until, or from and through, select by it: from is included,
// until is not, through is. size (or limit) is the length of a page. Parameters
// travel in the query, in a form or in a flat JSON object; unknown ones are
// refused with 400. Refusals are {"error":{"code","message"}}. The order is that
// of the stamp, but for keyset.
//
//	offset          offset; total
//	offset-blind    offset, and nothing tells the end but a short page
//	page, page0     page from 1 or from 0; total and pages
//	more            offset; total and has_more
//	token           next in the answer, sent back as token; none on the last page
//	token-header    the same, sent back as X-Page-Token
//	token-body      the same, sent back as a member of a POST body
//	token-same      one token for all pages, always sent, the position kept here
//	links           links.next is the whole address of the next page
//	links-relative  links.next is "?…"
//	links-header    Link: <…>; rel="next" (RFC 8288), and rel="first" beside it
//	time            the window alone: a full page means that it was too wide
//	keyset          in order of id; after_id goes on behind one
//	keyset-stamp    in order of stamp and id; after_stamp with after_id
//	search          ids only, by offset; total
//	records         ids=a,b (or a list in JSON): those works that there are
//	search-xml, records-xml
//	daily           offset; total; day=2024-03-01 instead of a window
//	csv             offset, in CSV; nothing tells the end but a short page
//	repeated        as token, with field=id and field=title & more in every request
//	token-exact     as token-body, with no token on the first page: an empty one is refused
//	scroll          by POST: the first request names the window and no token, a later one the token and nothing else
//	get-body        as token-body, but asked by GET, with no token on the first page
//
// FormOptions.Lies makes them answer well and wrongly, SetLies for a while.
//
// Walks by token read the moment they began and expire as cursors do; all other
// lists read what is there now. FormOptions has the credential, the cap, the
// limits and data that moves between pages. Auth says which credential; its
// tokens come from POST /oauth/token and POST /login.
//
// # Fault scripts
//
// ParseFaults reads faults from one line:
//
//	script = fault *( ";" fault )
//	fault  = kind "@" match *( "+" match ) *( ":" param )
//	match  = "*"                 every request
//	       | n | n "-" m | n "-" request numbers, from 1, both ends included
//	       | "every:" n          each request whose number n divides
//	       | "p:" x              by chance, 0 < x <= 1, seeded, fixed per request number
//	       | "page:" n           the n-th page of any walk
//	       | "path:" prefix      paths that begin so
//	param  = "retry-after=" text seconds, an HTTP date, or "date+" duration
//	       | "delay=" duration   wait before the answer
//	       | "times=" n          at most n times
//	       | "advance=true"      the walk moves on although no page is answered
//	       | "id=" text          only requests for records that name this id; no ";" in it
//	       | "status=" n         of expire-cursor below /forms/: 200, 400, 404 or 410
//	       | "back=" n           of token-loop: the page it leads to, else the first
//	       | "total=" n          of total-wrong and total-falling
//
// All matches of a fault must hold. The first fault that applies decides the
// answer; slow faults only add their delay. For example:
//
//	429@3-5:retry-after=1;truncate-gzip@8;reset@every:50;slow@p:0.1:delay=200ms
//
// Kinds, and what happens to the position of a scroll walk:
//
//	429 500 502 503 504   HTML error page; stays unless advance=true
//	html-200, error-200   HTML or an error envelope with status 200; stays unless advance=true
//	empty-200             a well-formed page that claims there is nothing; stays unless advance=true
//	duplicate-page        the previous page of the walk once more; stays
//	expire-cursor         the walk is forgotten, 404 cursor-invalid
//	reset                 half of the answer, then a TCP reset; moves on
//	truncate-gzip         half of the gzip stream, then a clean close; moves on
//	truncate-json         half of the plain body, then a clean close; moves on
//	lost-answer           the connection closes before any byte; moves on
//	missing-id, bad-date  one item of the page is broken (see Altered); moves on
//	broken-json           half of the body as if it were all; moves on
//	slow                  only the delay; moves on
//
// Below /forms/, pages lead on as if nothing had happened unless it is said here.
// duplicate-page has the items of the page before in the place of its own, which
// are thereby lost; expire-cursor ends the walk for good. Only there:
//
//	shift-insert, shift-remove   before the page is read, a work comes in at the front, or
//	                             the first one goes; a walk by token goes on over the moved list
//	token-loop                   the next page is one that was read before
//	lost-next                    no token, no address, has_more false, though more is there
//	short-page                   half of the items; the rest is on the next page if that is named
//	empty-page                   no items; they are on the next page if that is named
//	repeat-last                  behind the end, the last page again
//	total-missing, total-wrong   no total, or the one given
//	total-falling                the total less a number for each page before, else less 1
//	pinned-item, foreign-item    one item more than was asked for stands first: the middle one of
//	                             the list, or each time another one from behind the window
//	withhold                     records leaves a known id out: that of id=, else the first
//
// A fault that cannot apply to a request (a duplicate of a first page, a broken
// item on an empty page) is passed over and not counted. A fault on page:n that
// leaves the position alone hits each repetition too; times=1 makes it pass. The
// Retry-After text is sent as it is, so a script can also send nonsense. Go's own transport
// repeats a GET by itself when a kept-alive connection closes before any byte:
// with lost-answer that costs a page unless the client turns it off.
package upsim
