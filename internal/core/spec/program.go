package spec

import (
	"bytes"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/extract"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/paging"
	"github.com/patra-ingest/patra/internal/core/query"
	"github.com/patra-ingest/patra/internal/core/sector"
	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/tmpl"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Program is a snapshot ready to run. It is safe for concurrent use.
type Program struct {
	Snapshot
	Render *exchange.Renderer
	Select *query.Program
	Read   *extract.Reader
	Detail *Program // the second step, nil if there is none

	reads  []string      // headers of answers that templates read
	sector sector.Sector // what questions ask for, see In; the first one if nobody said
	// What of a stored parent is asked for, and the same without since when.
	parent, undated *extract.Reader
	ends            query.Ends // what of a window a request names, see Ends
	sifts           bool       // items outside of a window are dropped here, since nobody else does
}

// Program compiles templates, rules and paths.
func (s Snapshot) Program() (*Program, error) {
	render, err := exchange.Compile(s.Parts())
	if err != nil {
		return nil, err
	}
	selecting, err := query.Compile(s.Query, s.Filter)
	if err != nil {
		return nil, err
	}
	reading := s.Response
	reading.Parts = sector.PartsOf(s.Partitions)
	read, err := extract.Compile(reading)
	if err != nil {
		return nil, err
	}
	if s.Paging.Expects() {
		read = read.InsistOnTotal()
	}
	p := &Program{Snapshot: s, Render: render, Select: selecting, Read: read, ends: s.Ends(), reads: s.Response.Headers()}
	if all := sector.List(s.Partitions); len(all) > 0 {
		p.sector = all[0]
		p.sector.Values = s.withCarried(all[0].Values)
	}
	if err := p.compileParent(); err != nil {
		return nil, err
	}
	p.sifts = p.siftsItself()
	if s.Detail != nil {
		p.Detail, err = s.Detail.Program()
	}
	return p, err
}

// Expression returns what a slice of a window selects: the plan's prototype with
// the window written into it (S§14).
func (s Snapshot) Expression(w window.Window) query.Expr {
	if s.Filter.Field == "" || s.ReadsWhole() {
		return s.Query.Where
	}
	return query.Localise(s.Query.Where, s.Filter.Field, w)
}

// Question is what one slice asks the upstream; pages differ only in their
// position.
type Question struct {
	program *Program
	vars    tmpl.Vars
}

// Ask renders the expression of a window. A condition that cannot be rendered
// is an error: leaving it out would select something else (D§5.15). So is a window
// of which the request would ask for a part.
func (p *Program) Ask(w window.Window, now time.Time) (*Question, error) {
	return p.askFor(w, p.Expression(w), now)
}

// AskPart asks for what of a window lies on a part of the second axis (slicing.second).
func (p *Program) AskPart(w window.Window, s slicing.AxisPart, now time.Time) (*Question, error) {
	if p.Slicing.Second == nil {
		return nil, fmt.Errorf("a part of the window was asked for by slicing.second, which the source no longer has")
	}
	on := p.Slicing.Second.Condition(s)
	if whole := p.Expression(w); !whole.IsZero() {
		on = query.And(whole, on)
	}
	return p.askFor(w, on, now)
}

func (p *Program) askFor(w window.Window, expr query.Expr, now time.Time) (*Question, error) {
	if err := p.checkUnit(w); err != nil {
		return nil, err
	}
	return p.askWindow(expr, w, now)
}

func (p *Program) askWindow(expr query.Expr, w window.Window, now time.Time) (*Question, error) {
	rendered, findings := p.Select.Render(expr)
	for _, f := range findings {
		if f.IsError() {
			return nil, fmt.Errorf("expression: %s", f)
		}
	}
	from, to := p.Filter.Bounds(w)
	return &Question{program: p, vars: tmpl.Vars{
		Filter: tmpl.FilterVars{From: p.Filter.Text(from), To: p.Filter.Text(to), At: p.Filter.Text(p.Filter.Unit(w))},
		Window: tmpl.WindowVars{From: w.From, To: w.To}, Contact: tmpl.ContactVars{Email: p.Contact.Email},
		Query: rendered.Query, Params: rendered.Params, Sector: p.sector.Values, Now: now,
	}}, nil
}

// noContent is the status of an answer without a body.
const noContent = 204

// Page reads an answer: its body, and the Link header where that names the next
// page. An answer whose end was not seen is read only if the document shows its
// end, or a total does: rows that are missing behind a cut would be missing for
// good.
func (p *Program) Page(r *exchange.Response, asked extract.Asked) (*extract.Page, error) {
	if r.OpenEnded && !p.Response.Format.ShowsItsEnd() && !p.Paging.Expects() {
		return nil, fault.Newf(fault.BadBody, "the answer ended with its connection, and %s does not show whether it was cut; declare response.total if the source announces one", p.Response.Format)
	}
	if r.Status == noContent && len(bytes.TrimSpace(r.Body)) == 0 {
		return p.Read.EmptyPage(), nil
	}
	asked.Secrets, asked.Header = r.Secrets, r.Header.Get
	page, err := p.Read.Read(r.Body, asked)
	if err != nil {
		return nil, exchange.HideSecrets(err, r.Secrets)
	}
	if none := int64(0); page.Says.Total == nil && p.SaysEmpty(r) {
		page.Says.Total = &none // as for 204
	}
	if p.Paging.LinkHeader {
		page.Says.URL = exchange.NextLink(r.Header)
	}
	return page, nil
}

// SaysEmpty reports whether an answer that is no success says that nothing was found: its status may
// mean that, and its body confirms it.
func (p *Program) SaysEmpty(r *exchange.Response) bool { return p.Read.ConfirmsEmpty(r.Status, r.Body) }

// Weigh lets the body of an answer that is no success say what its status means.
func (p *Program) Weigh(r *exchange.Response, f *fault.Error) *fault.Error {
	return fault.As(exchange.HideSecrets(p.Read.Weigh(r.Body, f), r.Secrets))
}

// AskFor asks a DETAIL endpoint for records by id.
func (p *Program) AskFor(ids []string, now time.Time) *Question {
	return &Question{program: p, vars: tmpl.Vars{Contact: tmpl.ContactVars{Email: p.Contact.Email}, IDs: ids, Now: now}}
}

// AskFile returns the request for a file. Its address must lie where the source is, as the
// address of a next page must (D§5.22).
func (p *Program) AskFile(address string, now time.Time) (*exchange.Request, error) {
	q := &Question{program: p, vars: tmpl.Vars{Contact: tmpl.ContactVars{Email: p.Contact.Email}, Now: now}}
	request, err := q.Page(p.Paging.First())
	if err != nil {
		return nil, err
	}
	request.URL, err = p.Render.FollowFile(request.URL, address)
	return request, err
}

// Now returns the instant of the question: now() of its templates.
func (q *Question) Now() time.Time { return q.vars.Now }

// Page returns the request for the page a state stands before.
func (q *Question) Page(state paging.State) (*exchange.Request, error) {
	render := q.program.Render
	if state.Pages > 0 {
		render = render.Later()
	}
	request, err := render.Render(q.varsAt(state))
	if err != nil {
		return nil, err
	}
	request.IDs, request.Reads = q.vars.IDs, q.program.reads
	if q.program.TakesForeignRecords() {
		request.Records = q.program.Parent.String()
	}
	request.Credential, request.CredentialRequired = q.program.Credential, *q.program.Auth.Required
	request.Further, request.Pool = q.program.Further, q.program.Pool
	if state.URL == "" {
		return request, nil
	}
	request.URL, err = q.program.Render.Follow(request.URL, state.URL)
	return request, err
}

// First returns the request for the first page, or for as little of it as still
// tells the announced total.
func (q *Question) First(totalOnly bool) (*exchange.Request, error) {
	if !totalOnly {
		return q.Page(q.program.Paging.First())
	}
	return q.Sized(1).Page(q.program.Paging.First())
}

// Sized asks the same with pages of another size.
func (q *Question) Sized(size int) *Question {
	if size == q.program.Paging.Size {
		return q
	}
	sized := *q.program
	sized.Paging.Size = size
	return &Question{&sized, q.vars}
}

func (q *Question) varsAt(state paging.State) tmpl.Vars {
	vars := q.vars
	vars.Page = tmpl.PageVars{Size: q.program.Paging.Size, Number: state.Number, Offset: state.Offset, Token: state.Token, URL: state.URL}
	return vars
}

// referenceWindow fills the holes of a request where only its fixed part
// matters. Any window would do; this one must never change.
var referenceWindow = window.Window{
	From: time.Date(2001, 2, 3, 0, 0, 0, 0, time.UTC), To: time.Date(2001, 2, 4, 0, 0, 0, 0, time.UTC),
}

// Prototype returns what a plan asks for, its window apart. A changed condition,
// path or fixed parameter is another prototype, hence another watermark and a
// visible gap (D§5.7, D§5.8). A filter that only became finer is not: it asks
// for the same items.
func (p *Program) Prototype() (query.Prototype, error) {
	if filter, was := p.Filter.Formerly(); was {
		selecting, err := p.Select.With(filter)
		if err != nil {
			return query.Prototype{}, err
		}
		former := *p
		former.Filter, former.Select = filter, selecting // the rest of a request does not depend on its filter
		return former.Prototype()
	}
	// In canonical order, so that rearranged conditions stay the same question.
	canonical, err := query.Canonical(p.Expression(referenceWindow))
	if err != nil {
		return query.Prototype{}, err
	}
	expr, err := query.ParseJSON(canonical)
	if err != nil {
		return query.Prototype{}, err
	}
	any := *p
	any.sector = sector.Sector{Values: placeOfSector(p.Partitions)}
	q, err := any.askWindow(expr, referenceWindow, referenceWindow.To)
	if err != nil {
		return query.Prototype{}, err
	}
	selection, err := p.Render.Selection(q.varsAt(p.Paging.First()))
	if where := p.Reading().Where; err == nil && !where.IsZero() { // what is left out here is not read either
		selection = fingerprint.Key(selection, where.String())
	}
	if expand := p.Reading().Expand; err == nil && expand != nil { // nor are parts that the path does not lead to
		selection = fingerprint.Key(selection, "expand", expand.Path.String())
	}
	return query.Prototype{Where: p.Query.Where, Selection: selection}, err
}
