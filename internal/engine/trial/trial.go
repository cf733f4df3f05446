// Package trial asks an upstream for a page the way a run would and explains
// what a run would make of the answer: the request, the response, the paging
// decision, the mapped records and the rejects (§3, `patra source test`).
//
// It goes through the same chain as a run, so every request takes its permit
// (I11) and no credential reaches what is shown (I12). It stores nothing.
package trial

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/extract"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/paging"
	"github.com/patra-ingest/patra/internal/core/privacy"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/engine/transport"
)

// Request is what to try.
type Request struct {
	Window window.Window
	IDs    []string // a DETAIL endpoint is asked for these
	Page   int      // from 1; earlier pages are walked through
	Now    time.Time
	// Attempts of one request; 0 is as many as the source says.
	Attempts int
	// Body keeps the whole answer, also one that could not be read.
	Body bool

	searched  *extract.Asked // of a second step: what the search was held against
	redirects bool           // another id is an answer to one (details.redirects)
}

// Result is one page, explained.
type Result struct {
	Endpoint   string                   `json:"endpoint"`
	Page       int                      `json:"page"`
	Window     *window.Window           `json:"window,omitempty"`
	Expression string                   `json:"expression,omitempty"`
	Request    exchange.RequestDigest   `json:"request"`
	Response   *exchange.ResponseDigest `json:"response,omitempty"`
	Attempts   int                      `json:"attempts"`
	Seen       int                      `json:"items"`
	Walked     int                      `json:"itemsSoFar"` // of all pages up to this one
	Mapped     int                      `json:"mapped"`
	Outside    int                      `json:"outside"`               // dropped: the list is filtered here
	Excluded   int                      `json:"excluded,omitempty"`    // left out by response.where
	Kept       int                      `json:"outsideKept,omitempty"` // of the mapped and the duplicates: the upstream chose them
	Duplicate  int                      `json:"duplicate"`
	Rejected   int                      `json:"rejected"`
	Total      *int64                   `json:"total,omitempty"`
	BadTotal   string                   `json:"badTotal,omitempty"` // an announced total that cannot be read
	Decision   *Decision                `json:"decision,omitempty"`
	Records    []Record                 `json:"records"`
	Rejects    []Reject                 `json:"rejects"`
	Detail     *Result                  `json:"detail,omitempty"` // the second step
	// Body is the whole answer, if it was asked for: without our secrets, and with
	// addresses and numbers of people hidden as in a sample (I12, §14.10).
	Body string `json:"body,omitempty"`
}

// Decision is what paging made of the page.
type Decision struct {
	Done bool   `json:"done"`
	Why  string `json:"why"`
	Next string `json:"next,omitempty"` // how the next page would be asked for
	// NothingAt is where the next page should be named, if nothing stands there.
	NothingAt string `json:"nothingAt,omitempty"`
	Failed    string `json:"failed,omitempty"`
}

// Record is a mapped item.
type Record struct {
	ID        string    `json:"id"`
	UpdatedAt time.Time `json:"updatedAt,omitzero"`
	Gone      bool      `json:"gone,omitempty"`
	Fields    rawJSON   `json:"fields"`
}

// Reject is an item that could not be used.
type Reject struct {
	Index  int           `json:"index"`
	ID     string        `json:"recordId,omitempty"`
	Reason record.Reason `json:"reason"`
	Path   string        `json:"path,omitempty"`
	Detail string        `json:"detail"`
}

type rawJSON []byte

// MarshalJSON writes the fields as they are.
func (r rawJSON) MarshalJSON() ([]byte, error) { return r, nil }

// shown is how many records and rejects a result holds.
const shown = 3

// Run walks to the asked page and explains it. A result comes with every error
// that happened after a request was rendered: it shows what was tried.
func Run(ctx context.Context, chain transport.Doer, p *spec.Program, r Request) (*Result, error) {
	if len(p.Files.Addresses) > 0 {
		return nil, fmt.Errorf("%w: endpoint %s reads files whose addresses its source file names: there is no page to ask for, only whole files; read them with: patra harvest %s --endpoint %s", fault.ErrInvalid, p.Endpoint, p.Source, p.Endpoint)
	}
	question, err := askQuestion(p, r)
	if err != nil {
		return nil, err
	}
	state, walked := p.Paging.First(), 0
	for page := 1; ; page++ {
		result := &Result{Endpoint: p.Endpoint, Page: page, Records: []Record{}, Rejects: []Reject{}}
		if len(r.IDs) == 0 {
			result.Window, result.Expression = &r.Window, p.Expression(r.Window).String()
		}
		read, err := fetchPage(ctx, chain, p, question, state, r, result)
		if err != nil {
			return result, err
		}
		walked += result.Seen
		result.Walked = walked
		decision := p.Paging.Advance(state, observePage(read))
		result.explainPaging(p, read.Says, decision, question)
		if others := r.checkOthers(read); others != nil {
			return result, others
		}
		if page >= r.Page {
			return result.withDetail(ctx, chain, p, read, r)
		}
		if decision.Err == nil && result.Decision.Failed != "" {
			_, err := question.Page(decision.Next)
			return result, renderFault(err)
		}
		if decision.Err != nil || decision.Done {
			return result, fmt.Errorf("%w: the walk ends with page %d (%s); there is no page %d", fault.ErrNotFound, page, decision.Why, r.Page)
		}
		state = decision.Next
	}
}

func askQuestion(p *spec.Program, r Request) (*spec.Question, error) {
	if len(r.IDs) > 0 {
		return p.AskFor(r.IDs, r.Now), nil
	}
	return p.Ask(r.Window, r.Now)
}

// observePage counts every item of the page as new: one page says nothing about
// repetition.
func observePage(page *extract.Page) paging.Observation {
	o := page.Says
	o.New = o.Items
	return o
}

func fetchPage(ctx context.Context, chain transport.Doer, p *spec.Program, q *spec.Question, state paging.State, r Request, into *Result) (page *extract.Page, err error) {
	request, err := q.Page(state)
	if err != nil {
		return nil, renderFault(err)
	}
	request.Replayable = *p.Paging.Replayable || state.FirstPage()
	into.Request = exchange.DigestRequestShowing(request, p.Request.PagingParameters())
	retry := p.Retry
	if r.Attempts > 0 {
		retry.MaxAttempts = r.Attempts
	}
	call := &transport.Call{
		Request: request, Key: p.Rate.Key(p.Source), Limits: p.Rate, Retry: retry,
		SaysEmpty: p.SaysEmpty,
		Accept: func(response *exchange.Response) (err error) {
			into.keepBody(r, response)
			expected := r.expectedItems(p)
			expected.IDs = r.IDs
			page, err = p.Page(response, expected)
			return err
		},
	}
	if r.Body {
		call.Weigh = func(response *exchange.Response, f *fault.Error) *fault.Error {
			into.keepBody(r, response)
			return f
		}
	}
	_, err = chain.Do(ctx, call)
	into.Attempts, into.Response = call.Notes.Attempts, call.Notes.Response
	if err != nil {
		return nil, err
	}
	into.countPage(page)
	return page, nil
}

// keepBody keeps the answer that came last, if somebody wants to see it.
func (r *Result) keepBody(asked Request, response *exchange.Response) {
	if asked.Body {
		r.Body = privacy.Mask(strings.ToValidUTF8(string(response.Body), "\uFFFD"))
	}
}

// expectedItems returns what items are compared with, as a run would compare them. Records
// of a second step are compared with the request of the first.
func (r Request) expectedItems(p *spec.Program) extract.Asked {
	if r.searched != nil {
		return *r.searched
	}
	if len(r.IDs) > 0 {
		return extract.Asked{FetchAt: r.Now}
	}
	return p.Expect(r.Window, r.Now, 0)
}

// checkOthers returns why a run would not believe an answer to a request by ids.
func (r Request) checkOthers(page *extract.Page) error {
	if r.searched == nil || len(r.IDs) == 1 && r.redirects {
		return nil // ids that somebody typed may be written otherwise than those of a search
	}
	if f := page.CheckAnswers(r.IDs); f != nil {
		return f
	}
	return nil
}

func (r *Result) countPage(page *extract.Page) {
	r.Seen, r.Mapped, r.Outside, r.Duplicate, r.Rejected = page.Seen, len(page.Records), page.Outside, page.Duplicate, len(page.Rejects)
	r.Kept, r.Excluded = page.Kept, page.Excluded
	r.Total, r.BadTotal = page.Says.Total, page.BadTotal
	for _, in := range page.Records[:min(shown, len(page.Records))] {
		r.Records = append(r.Records, Record{in.ProviderID, in.UpdatedAt, in.Gone, in.Fields})
	}
	for _, bad := range page.Rejects[:min(shown, len(page.Rejects))] {
		r.Rejects = append(r.Rejects, Reject{bad.Index, bad.ProviderID, bad.Reason, bad.Path, bad.Detail})
	}
}

// explainPaging tells what paging made of the page. A next page that could not be asked for,
// because its address leads to another host, is told here: a run would stop there.
func (r *Result) explainPaging(p *spec.Program, says paging.Observation, d paging.Decision, q *spec.Question) {
	r.Decision = &Decision{Done: d.Done, Why: d.Why, NothingAt: nothingAt(p, says)}
	if d.Err != nil {
		r.Decision.Failed = d.Err.Error()
		return
	}
	if d.Done {
		return
	}
	if _, err := q.Page(d.Next); err != nil {
		r.Decision.Failed = renderFault(err).Error()
		return
	}
	r.Decision.Next = nextText(p.Paging, d.Next)
}

// renderFault returns why a request could not be made: an address that leads to another host
// by its own name, and every other error as a request that does not render.
func renderFault(err error) error {
	if errors.As(err, new(*fault.Error)) {
		return err
	}
	return fault.New(fault.Render, err)
}

// nothingAt returns the place that should name the next page and does not: a path with a
// slip in it looks like the end of every list.
func nothingAt(p *spec.Program, says paging.Observation) string {
	switch {
	case p.Paging.Type == paging.URL && says.URL == "" && p.Paging.LinkHeader:
		return "the Link header (paging.linkHeader)"
	case p.Paging.Type == paging.Token, p.Paging.Type == paging.URL:
		return says.NextAt
	}
	return ""
}

func nextText(c paging.Config, s paging.State) string {
	switch c.Type {
	case paging.Offset:
		return fmt.Sprintf("offset %d", s.Offset)
	case paging.Page:
		return fmt.Sprintf("page %d", s.Number)
	case paging.URL:
		return "address " + s.URL
	}
	if s.Token == "" {
		return "no token, as the first page"
	}
	return fmt.Sprintf("token %q", s.Token)
}

// withDetail also tries the second step, for the first ids of the page.
func (r *Result) withDetail(ctx context.Context, chain transport.Doer, p *spec.Program, page *extract.Page, asked Request) (*Result, error) {
	if p.Detail == nil || p.ReadsFiles() || len(page.Records) == 0 { // a file is no page
		return r, nil
	}
	var ids []string
	for _, in := range page.Records[:min(shown, p.Details.BatchSize, len(page.Records))] {
		ids = append(ids, in.ProviderID)
	}
	var err error
	searched := asked.expectedItems(p)
	r.Detail, err = Run(ctx, chain, p.Detail, Request{Window: asked.Window, IDs: ids, Page: 1, Now: asked.Now, Attempts: asked.Attempts, searched: &searched, redirects: p.Details.Redirects})
	return r, err
}
