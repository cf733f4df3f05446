package blackbox

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/paging"
	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/window"
)

// role is which step of its source a batch belongs to.
type role int

const (
	listPage   role = iota // records of a list
	searchPage             // ids of a search; the records come with the details
	detailPage
	remapped // read from the answer to another batch
)

// Role is how a batch was come by under a program.
type Role struct {
	role
	context Context
	known   bool // its context is; a batch of an earlier program kept none
	window  window.Window
	sector  map[string]string // what the slice asks for, where the list is asked for in parts
	parent  *AskedParent      // what of it the batch asked for, where the parts are stored records
}

// programIn returns the program that asks for the part of the list that the batch did.
func (r Role) programIn(p *spec.Program) (*spec.Program, error) {
	in, err := p.In(r.sector)
	if err != nil || r.parent == nil {
		return in, err
	}
	return in.InParent(spec.AskedParent{Name: r.parent.Name, Values: r.parent.Values}), nil
}

// anyTime keeps what was asked for by id, whatever its date.
var anyTime = window.Window{From: time.Date(1000, 1, 1, 0, 0, 0, 0, time.UTC), To: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}

// RoleUnder finds out what the batch did.
func (b *Box) RoleUnder(p *spec.Program) (Role, error) {
	context, known, from := b.keptContext()
	r := Role{context: context, known: known, window: b.Window}
	var slice slicing.Spec
	if err := json.Unmarshal(b.Slice, &slice); err != nil {
		return r, fmt.Errorf("specification of slice %d: %w", b.Keys.SliceID, err)
	}
	r.sector = slice.Sector
	if context.Parent != nil {
		r.parent = context.Parent
	}
	if slice.Window.Asked != nil {
		r.window = *slice.Window.Asked
	}
	if r.parent != nil && !r.parent.Window.Empty() {
		r.window = r.parent.Window
	}
	if slice.Refresh != nil && slice.Range != nil {
		r.window = anyTime
	}
	switch {
	case from != nil:
		r.role, r.window = remapped, anyTime
	case known && context.Detail:
		r.role = detailPage
	case !p.SearchesIDs():
	case !known && !b.askedAt(p):
		r.role = detailPage
	default:
		r.role = searchPage
	}
	return r, nil
}

// askedAt reports whether the kept request went to the path of a program.
func (b *Box) askedAt(p *spec.Program) bool {
	kept := b.Request()
	return kept == nil || strings.Contains(kept.URL, p.Request.Path)
}

// readerOf returns the part of a program that reads the answer.
func (r Role) readerOf(p *spec.Program) *spec.Program {
	detail := r.role == detailPage || r.role == remapped && (p.SearchesIDs() || r.context.Detail)
	if p.Detail != nil && detail {
		return p.Detail
	}
	return p
}

var (
	errNobodyAsked = errors.New("no request was sent: it was read from the answer to another batch")
	errOfFile      = errors.New("no request was sent for it alone: it is a part of a file")
	errNoIDs       = errors.New("the ids it asked for were not kept")
	errCutPosition = errors.New("its token is too long for the ledger, which has only the beginning")
)

// Ask renders the request of the batch anew. The error says why that cannot be
// done from what was kept.
func (b *Box) Ask(p *spec.Program, r Role) (*exchange.Request, error) {
	switch r.role {
	case remapped:
		return nil, errNobodyAsked
	case detailPage:
		if r.context.File != nil {
			return nil, errOfFile
		}
		if len(r.context.IDs) == 0 {
			return nil, errNoIDs
		}
		request, err := r.readerOf(p).AskFor(r.context.IDs, r.context.At).Page(r.readerOf(p).Paging.First())
		return b.withCorrelation(request), err
	}
	state, err := b.stateBefore(p.Paging, r)
	if err != nil {
		return nil, err
	}
	question, err := b.questionOf(p, r)
	if err != nil {
		return nil, err
	}
	request, err := question.Page(state)
	if err == nil {
		request.Replayable = *p.Paging.Replayable || state.FirstPage()
	}
	return b.withCorrelation(request), err
}

// withCorrelation gives a request the id under which the upstream may have logged it (§14.2).
func (b *Box) withCorrelation(r *exchange.Request) *exchange.Request {
	if r != nil {
		r.Correlate(b.Keys.Correlation)
	}
	return r
}

// questionOf returns what the slice of the batch asks.
func (b *Box) questionOf(p *spec.Program, r Role) (*spec.Question, error) {
	asked := r.context.Asked
	if asked.IsZero() {
		asked = r.context.At
	}
	p, err := r.programIn(p)
	if err != nil {
		return nil, err
	}
	question, err := askPart(p, r.window, r.context.AxisPart, asked)
	if err != nil {
		return nil, err
	}
	if size := cmp.Or(r.context.Size, b.PageSize); size > 0 {
		question = question.Sized(size)
	}
	return question, nil
}

// askPart asks for a window, or for what of it lies on a part of the second axis.
func askPart(p *spec.Program, w window.Window, on *slicing.AxisPart, now time.Time) (*spec.Question, error) {
	if on == nil {
		return p.Ask(w, now)
	}
	return p.AskPart(w, *on, now)
}

// stateBefore returns where the walk stood before the page.
func (b *Box) stateBefore(c paging.Config, r Role) (paging.State, error) {
	s := r.context.Paging
	if !r.known {
		s = c.First()
		s.Pages = max(b.Batch.Page-1, 0)
	}
	position := b.Batch.BeforeToken
	switch c.Type {
	case paging.Token:
		s.Token = cmp.Or(s.Token, position)
	case paging.URL:
		s.URL = cmp.Or(s.URL, position)
	case paging.Offset:
		return s, parseNumber(position, "offset ", &s.Offset)
	case paging.Page:
		return s, parseNumber(position, "page ", &s.Number)
	}
	if c.Position(s) != position {
		return s, errCutPosition
	}
	return s, nil
}

func parseNumber(position, unit string, into *int) (err error) {
	*into, err = strconv.Atoi(strings.TrimPrefix(position, unit))
	if err != nil {
		return fmt.Errorf("position %q does not belong to this kind of paging", position)
	}
	return nil
}

// Walk returns how the place of a page is reached when its token is dead: from the
// first page on.
func (b *Box) Walk(p *spec.Program, r Role) (question *spec.Question, first paging.State, steps int, err error) {
	question, err = b.questionOf(p, r)
	return question, p.Paging.First(), max(b.Batch.Page-1, 0), err
}

// TokenDead says why the token of the page cannot be sent again; empty if it can.
func (b *Box) TokenDead(p *spec.Program, r Role, now time.Time) string {
	first := b.Batch.Page <= 1
	life := p.Paging.TokenLife.Std()
	switch {
	case first || r.role == detailPage || p.Paging.Type != paging.Token && p.Paging.Type != paging.URL:
		return ""
	case !*p.Paging.Replayable:
		return "a token of this source works once"
	case life > 0 && now.Sub(b.At()) >= life:
		return fmt.Sprintf("its token lives %s and is %s old", life, now.Sub(b.At()).Round(time.Second))
	}
	return ""
}

// AsksDetail reports that a DETAIL endpoint was asked.
func (r Role) AsksDetail() bool { return r.role == detailPage }
