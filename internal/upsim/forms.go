package upsim

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// FormOptions says how the lists below /forms/ behave. The zero value is a
// well-behaved upstream that asks for no credential.
type FormOptions struct {
	Auth Auth

	MaxSize int  // items per page; default 1000
	CutSize bool // a larger size is cut to MaxSize without a word instead of refused

	// Cap is how many items of one query are served by position or by token,
	// whatever the total says; 0 serves all. Keys and windows reach behind it.
	Cap       int
	CapAnswer CapAnswer

	MaxIDs      int  // ids one request for records may name; 0 any
	ListMissing bool // records names the unknown ids instead of leaving them out quietly

	// Shelf says on which shelf the work of an id stands, "" for none. Without it every work stands on one of ShelfNames.
	Shelf func(id string) string

	Changing Changing
	Lies     Lies
}

// CapAnswer is what a request for a page behind the cap gets.
type CapAnswer int

// The answers behind the cap.
const (
	CapSilent   CapAnswer = iota // an empty page that is the last
	CapError                     // status 400
	CapError200                  // an error that comes as a good answer
)

func (o FormOptions) withDefaults() FormOptions {
	if o.MaxSize <= 0 {
		o.MaxSize = maxRows
	}
	o.Auth = o.Auth.withDefaults()
	return o
}

// formPaging is how a form finds the page that is asked for.
type formPaging int

const (
	byOffset   formPaging = iota // a number of items
	byPage                       // a number of pages
	byToken                      // a token over a snapshot
	byWindow                     // nothing: only the window can be narrowed
	byKey                        // the id of the last item
	byStampKey                   // stamp and id of the last item
	byRecords                    // no list: records by id
)

// How a page names the next one, if it does.
const (
	nextToken    = "token"
	nextAbsolute = "absolute"
	nextRelative = "relative"
	nextHeader   = "header"
)

// Where the token of the asked page must travel.
const (
	tokenInQuery  = "query"
	tokenInHeader = "header"
	tokenInBody   = "body"
)

const pageTokenHeader = "X-Page-Token"

// form is one way to page.
type form struct {
	name     string
	how      formPaging
	base     int    // number of the first page
	next     string // how the next page is named; "" if it is not
	tokenIn  string
	same     bool // one token for the whole walk, the position kept by the server
	total    bool
	flag     bool // has_more
	ids      bool // ids only
	xml      bool
	day      bool // one day instead of a window
	csv      bool
	feed     bool // no window, newest first
	shelf    bool // one shelf of the list
	bodyOnly bool // by POST, with no token where there is none
	repeats  bool // a parameter is wanted several times
	scrolls  bool // the first request names the window, later ones the token and nothing else
	getBody  bool // asked by GET with a body
}

func allForms() []form {
	return []form{
		{name: "offset", how: byOffset, total: true},
		{name: "offset-blind", how: byOffset},
		{name: "page", how: byPage, base: 1, total: true},
		{name: "page0", how: byPage, total: true},
		{name: "more", how: byOffset, total: true, flag: true},
		{name: "token", how: byToken, next: nextToken, tokenIn: tokenInQuery, total: true},
		{name: "token-same", how: byToken, next: nextToken, tokenIn: tokenInQuery, same: true, total: true},
		{name: "token-header", how: byToken, next: nextToken, tokenIn: tokenInHeader, total: true},
		{name: "token-body", how: byToken, next: nextToken, tokenIn: tokenInBody, total: true},
		{name: "links", how: byToken, next: nextAbsolute, tokenIn: tokenInQuery, total: true},
		{name: "links-relative", how: byToken, next: nextRelative, tokenIn: tokenInQuery, total: true},
		{name: "links-header", how: byToken, next: nextHeader, tokenIn: tokenInQuery, total: true},
		{name: "time", how: byWindow},
		{name: "keyset", how: byKey, total: true},
		{name: "keyset-stamp", how: byStampKey, total: true},
		{name: "search", how: byOffset, total: true, ids: true},
		{name: "search-xml", how: byOffset, total: true, ids: true, xml: true},
		{name: "records", how: byRecords},
		{name: "records-xml", how: byRecords, xml: true},
	}
}

// FormNames lists what is served below /forms/, but for daily, csv, shelves, feeds and those that take one spelling only.
func FormNames() []string {
	var names []string
	for _, f := range allForms() {
		names = append(names, f.name)
	}
	return names
}

func findForm(path string) (form, bool) {
	name, below := strings.CutPrefix(path, "/forms/")
	for _, f := range slices.Concat(allForms(), []form{dailyForm(), csvForm(), shelfForm()}, feedForms(), exactForms()) {
		if below && f.name == name {
			return f, true
		}
	}
	return form{}, false
}

// byPosition reports whether the client counts and the server keeps nothing.
func (f form) byPosition() bool { return f.how == byOffset || f.how == byPage }

// Changing is data that moves while it is read: works of the asked window are
// touched between pages.
type Changing struct {
	Every  int       // before each n-th page; 0 never
	Times  int       // at most so often; 0 always
	At     time.Time // stamp of the first one, each later one a second more; default the end of the data set
	Change bool      // the content changes too
}

// formState is what the server keeps of its forms.
type formState struct {
	trails trails
	gate   gatekeeper

	mu      sync.Mutex
	pages   int // list requests so far
	touched int
	shifts  int
	gap     func(id string) bool // records that are left out; nil: none
	lies    Lies

	shrinking Shrinking // of /works, see SetShrinking

	files     []publishedFile
	published time.Time
}

func newFormState(seed uint64, opts Options) formState {
	refresh := map[string]bool{}
	if token := opts.Forms.Auth.RefreshToken; token != "" {
		refresh[token] = true
	}
	return formState{
		lies: opts.Forms.Lies, shrinking: opts.Shrinking,
		trails: trails{life: opts.CursorLife, seed: seed, open: map[uint64]*trail{}, expired: map[uint64]int{}},
		gate:   gatekeeper{Auth: opts.Forms.Auth, seed: seed, tokens: map[string]*pass{}, refresh: refresh, parent: map[string]string{}, used: map[string]bool{}},
	}
}

// changeWork moves one work of the asked window, where the options want it.
func (s *Server) changeWork(q formQuery) {
	c := s.opts.Forms.Changing
	s.forms.mu.Lock()
	defer s.forms.mu.Unlock()
	s.forms.pages++
	if c.Every == 0 || s.forms.pages%c.Every != 0 || c.Times > 0 && s.forms.touched >= c.Times {
		return
	}
	works := s.data.itemsBetween(q.from, q.to)
	if len(works) == 0 {
		return
	}
	if c.At.IsZero() {
		c.At = s.data.cfg.To
	}
	draw := newStream(s.data.cfg.Seed, 'm', uint64(s.forms.touched))
	victim := s.data.doiOf(works[draw.numberBelow(len(works))].seq)
	// It may have been removed in between; then nothing moves.
	if s.data.Touch(victim, c.At.Add(time.Duration(s.forms.touched)*time.Second), c.Change) == nil {
		s.forms.touched++
	}
}
