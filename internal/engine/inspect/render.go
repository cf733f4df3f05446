package inspect

import (
	"maps"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/paging"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

// RenderRequest writes the request that a snapshot asks with, for a window or for ids, and
// sends nothing. Secrets are masked; where the source comes from and which credential the
// request would carry is for the caller to say.
func RenderRequest(s spec.Snapshot, w window.Window, ids []string, at paging.State, now time.Time) (out view.RenderedRequest, err error) {
	out = view.RenderedRequest{Source: s.Source, Endpoint: s.Endpoint, Operation: string(s.Operation), Window: w, IDs: ids, Params: map[string]string{}}
	program, err := s.Program()
	if err != nil {
		return out, err
	}
	question := program.AskFor(ids, now)
	if len(ids) == 0 {
		if question, err = program.Ask(w, now); err != nil {
			return out, err
		}
		expr := s.Expression(w)
		said, _ := program.Select.Render(expr) // Ask has refused what cannot be said
		out.Expression, out.Query = expr.String(), said.Query
		maps.Copy(out.Params, said.Params)
	}
	prototype, err := program.Prototype()
	if err != nil {
		return out, err
	}
	if out.Prototype, err = prototype.Hash(); err != nil {
		return out, err
	}
	request, err := question.Page(at)
	if named := program.Files.Addresses; len(named) > 0 { // no list is asked for them
		request, err = program.Detail.AskFile(named[0], now)
	}
	if err != nil {
		return out, err
	}
	readDescription(&out, request.Describe())
	return out, nil
}

// readDescription takes a request from its description, in which secrets are masked.
func readDescription(r *view.RenderedRequest, description string) {
	head, body, _ := strings.Cut(description, "\n\n")
	first, headers, _ := strings.Cut(head, "\n")
	r.Method, r.URL, _ = strings.Cut(first, " ")
	r.Headers, r.Body = map[string]string{}, strings.TrimSuffix(body, "\n")
	for line := range strings.Lines(headers) {
		name, value, _ := strings.Cut(strings.TrimRight(line, "\n"), ": ")
		r.Headers[name] = value
	}
}
