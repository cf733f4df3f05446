package source

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/subject"
	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/paging"
	"github.com/patra-ingest/patra/internal/core/query"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/engine/inspect"
)

// rendering are the flags of render.
type rendering struct {
	asking
	expression, token string
}

func newSourceRender(e *term.Env) *cobra.Command {
	var r rendering
	c := &cobra.Command{
		Use:   "render SRC|FILE",
		Short: "Show the request for a window without sending it",
		Long: `Show what a source would be asked: the expression with the window written into it,
the query text and standard parameters it becomes, and the whole request. Nothing
is sent. Credentials are named, never shown.

--expr replaces query.where by the expression in a file (- is stdin), as text such
as  phrase(title, "heart failure") and oneOf(type, "article")  or as JSON. What the
source cannot express is refused with its code.`,
		Example: `  patra source render crossref --window 2025-03-01..2025-03-02
  patra source render crossref --window -2d..-1d --expr articles.txt
  patra source render pubmed --endpoint efetch --ids 31452104,31452105
  patra source render mine.yaml --page-token abc -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := subject.Find(cmd.Context(), e, args[0])
			if err != nil {
				return err
			}
			now := time.Now().UTC()
			to, w, err := r.compileAt(s, now)
			if err != nil {
				return err
			}
			snapshot := to.Compiled.Snapshot
			if r.expression != "" {
				if len(r.ids) > 0 {
					return term.Usagef("--expr is for a window, not for --ids")
				}
				if snapshot, err = withExpression(e, snapshot, r.expression, cmd.InOrStdin(), w); err != nil {
					return err
				}
			}
			out, err := r.renderRequest(e, to, snapshot, w, now)
			if err != nil {
				return err
			}
			return showRendered(e, out)
		},
	}
	r.flags(c)
	c.Flags().StringVar(&r.expression, "expr", "", "file with the expression to ask for in place of query.where; - is stdin")
	c.Flags().StringVar(&r.token, "page-token", "", "render a later page: its token, address, offset or number, by paging.type")
	return c
}

// withExpression puts an expression into a snapshot after it was held against
// what the source can express.
func withExpression(e *term.Env, s spec.Snapshot, name string, stdin io.Reader, w window.Window) (spec.Snapshot, error) {
	expr, err := readExpression(name, stdin)
	if err != nil {
		return s, err
	}
	program, err := s.Program()
	if err != nil {
		return s, err
	}
	s.Query.Where = expr
	// Held alone first: places then count from the root of what was written.
	var refused []string
	findings := program.Select.Check(expr, query.Strict)
	if !slices.ContainsFunc(findings, query.Finding.IsError) {
		_, findings = program.Select.Render(s.Expression(w))
	}
	for _, f := range findings {
		if f.IsError() {
			refused = append(refused, f.String())
		} else {
			e.Hint("warning: %s", f)
		}
	}
	if len(refused) > 0 {
		return s, term.Usagef("%s: the source cannot express this:\n%s", name, strings.Join(refused, "\n"))
	}
	return s, nil
}

func readExpression(name string, stdin io.Reader) (query.Expr, error) {
	var text []byte
	var err error
	if name == "-" {
		text, err = term.ReadSmall(stdin)
	} else {
		text, err = term.ReadSmallFile(name)
	}
	if err != nil {
		return query.Expr{}, term.Usagef("--expr %s: cannot be read: %s", name, term.PathCause(err))
	}
	expr, err := query.Parse(string(text))
	if err != nil {
		return expr, term.Usagef("%s: %w", name, err)
	}
	if expr.IsZero() {
		return expr, term.Usagef("%s holds no expression: write true to ask for everything", name)
	}
	return expr, nil
}

func (r rendering) renderRequest(e *term.Env, to subject.Selected, s spec.Snapshot, w window.Window, now time.Time) (view.RenderedRequest, error) {
	state, err := parsePosition(s.Paging, r.token)
	if err != nil {
		return view.RenderedRequest{}, err
	}
	out, err := inspect.RenderRequest(s, w, r.ids, state, now)
	if err != nil {
		return out, term.Usage(err)
	}
	out.Origin, out.Credential = to.Origin, e.Installed.CredentialUse(s.Settings)
	return out, nil
}

// parsePosition is the state before the page that a text names.
func parsePosition(c paging.Config, text string) (paging.State, error) {
	s := c.First()
	if text == "" {
		return s, nil
	}
	s.Pages = 1
	number := func(into *int) error {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return term.Usagef("--page-token %s: paging by %s needs a whole number", text, c.Type)
		}
		*into = n
		return nil
	}
	switch c.Type {
	case paging.Token:
		s.Token = text
	case paging.URL:
		s.URL = text
	case paging.Offset:
		return s, number(&s.Offset)
	case paging.Page:
		return s, number(&s.Number)
	default:
		return s, term.Usagef("--page-token %s: the endpoint has no second page", text)
	}
	return s, nil
}

func showRendered(e *term.Env, r view.RenderedRequest) error {
	if e.Output == "json" {
		return e.JSON(r)
	}
	facts := []term.Fact{{"asks for", askedFor(r.Window, r.IDs)}}
	if r.Expression != "" {
		facts = append(facts, term.Fact{"expression", r.Expression}, term.Fact{"query", wording.OrDash(r.Query)})
		for _, key := range slices.Sorted(maps.Keys(r.Params)) {
			facts = append(facts, term.Fact{"param " + key, r.Params[key]})
		}
	}
	facts = append(facts, term.Fact{"credential", r.Credential.String()})
	if err := term.PrintFacts(e, r, facts); err != nil {
		return err
	}
	fmt.Fprintf(e.Out, "\n%s\n", requestText(r.Method, r.URL, r.Headers, r.Body))
	e.Hint("%s %s %s (%s), prototype %s; nothing was sent", r.Source, r.Endpoint, r.Operation, r.Origin, r.Prototype)
	return nil
}

// requestText writes a request as it goes over the wire, safe for a terminal.
func requestText(method, address string, headers map[string]string, body string) string {
	lines := []string{method + " " + address}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		lines = append(lines, name+": "+headers[name])
	}
	if body != "" {
		lines = append(lines, "", body)
	}
	return term.Printable(strings.Join(lines, "\n"))
}
