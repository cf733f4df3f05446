// Package upsim is a simulated upstream: a seeded set of works with known
// ground truth, served over HTTP in the dialect of the Crossref REST API, and
// made to misbehave on command. Tests use it to prove that a harvest lost
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
// until-index-date, whole UTC days, both ends included), sort (indexed or
// score), order; mailto, select, facet and query are accepted and ignored. An
// unknown parameter, filter or sort is refused with 400, so a misspelled
// request cannot pass for a full one. GET /works/{doi} gives one work. Without
// sort the order is arbitrary but fixed, as upstream promises none.
//
// A walk that starts with cursor=* reads a snapshot of that moment. With
// ScrollCursor every page of a walk carries the same cursor text and the
// position lives in the server: a page whose answer was lost cannot be asked
// for again. With ReplayableCursor every page has its own cursor text.
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
//	param  = "retry-after=" text seconds, an HTTP date, or "date+" duration
//	       | "delay=" duration   wait before the answer
//	       | "times=" n          at most n times
//	       | "advance=true"      the walk moves on although no page is answered
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
//	slow                  only the delay; moves on
//
// A fault that cannot apply to a request (a duplicate of a first page, a broken
// item on an empty page) is passed over and not counted. A fault on page:n that
// leaves the position alone hits each repetition too; times=1 makes it pass. The
// Retry-After text is sent as it is, so a script can also send nonsense. Go's own transport
// repeats a GET by itself when a kept-alive connection closes before any byte:
// with lost-answer that costs a page unless the client turns it off.
package upsim
