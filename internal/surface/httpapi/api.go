package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/surface/entrance"
	"github.com/patra-ingest/patra/internal/surface/recent"
)

// Settings say how the interface is served.
type Settings struct {
	Version string
	// CallerOf tells who asks, as the entrance found out; the zero caller may do nothing.
	CallerOf func(context.Context) access.Caller
	// RequestID names a request, in answers and in the log.
	RequestID func(context.Context) string
	Log       *slog.Logger
	// Longest is how long a route that reads may take (R10); zero: as long as it likes.
	Longest time.Duration
	// Changed is called after somebody changed something here: what others keep for a moment is older. Nil:
	// nobody wants to know.
	Changed func()
}

// mostBody is how large the body of a request may be (R9).
const mostBody = 1 << 20

// api registers routes and answers them.
type api struct {
	Settings
	Services
	Actors
	huma     huma.API
	routes   []Route
	findings *recent.Answer[[]view.Finding] // of all sources
}

// Route is one row of the table of routes: what is called, and which role it needs.
type Route struct {
	Method, Path string
	Role         access.Role
	// Audited: each call leaves a row in the audit log, also one that only reads (R13).
	Audited bool
}

// Handler answers requests and knows its routes.
type Handler struct {
	http.Handler
	Routes []Route
	// Description is what /openapi.json says.
	Description *huma.OpenAPI
	api         *api
}

// Forget drops what callers share for a moment, after something changed elsewhere.
func (h *Handler) Forget() { h.api.findings.Forget() }

// New makes the handler of the interface.
func New(s Settings, from Services, by Actors) *Handler {
	shapeProblems()
	mux := http.NewServeMux()
	a := &api{Settings: s, Services: from, Actors: by, huma: humago.New(mux, newConfig(s.Version))}
	a.findings = recent.New(s.Longest, func(ctx context.Context, _ time.Time) ([]view.Finding, error) {
		found, err := from.Status.Status(ctx, "")
		return found.Findings, err
	})
	a.registerReads()
	a.registerStats()
	a.registerRecords()
	a.registerLive()
	a.registerDeclared()
	a.registerMissing()
	a.registerEvidence()
	a.registerActs()
	const fallback = "/v1/"
	mux.HandleFunc(fallback, func(w http.ResponseWriter, r *http.Request) {
		writeProblem(w, a.newProblem(r.Context(), notServed(mux, fallback, r)))
	})
	return &Handler{Handler: a.forgetAfterChanges(mux), Routes: a.routes, Description: a.huma.OpenAPI(), api: a}
}

// forgetAfterChanges makes shared answers new after each request that may have changed something: who
// acted must not read of what is over.
func (a *api) forgetAfterChanges(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			defer a.forgetAnswers()
		}
		next.ServeHTTP(w, r)
	})
}

func (a *api) forgetAnswers() {
	a.findings.Forget()
	if a.Changed != nil {
		a.Changed()
	}
}

// shapeProblems gives what the library refuses by itself the form of our problems. It keeps
// that in variables of its own.
var shapeProblems = sync.OnceFunc(func() {
	// A name in other letters is another name: "dryrun" beside "dryRun" would be read as a second
	// value of it, and done what was to be rehearsed (A16).
	huma.ValidateStrictCasing = true
	huma.NewError = func(status int, message string, found ...error) huma.StatusError {
		return newCheckProblem(status, message, found...)
	}
	huma.NewErrorWithContext = func(c huma.Context, status int, message string, found ...error) huma.StatusError {
		p := newCheckProblem(status, message, found...)
		p.Request = entrance.RequestID(c.Context())
		return p
	}
})

func newConfig(version string) huma.Config {
	registry := huma.NewMapRegistry("#/components/schemas/", nameSchema)
	for shown, alias := range aliases {
		registry.RegisterTypeAlias(shown, alias)
	}
	format := huma.Format{Marshal: encode, Unmarshal: decode}
	c := huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info:    &huma.Info{Title: "Patra Ingest", Version: version, Description: about},
			Components: &huma.Components{
				Schemas:         registry,
				SecuritySchemes: map[string]*huma.SecurityScheme{"token": {Type: "http", Scheme: "bearer", Description: "A token of `patra token create`."}},
			},
			Security: []map[string][]string{{"token": {}}},
		},
		OpenAPIPath:   "/openapi",
		Formats:       map[string]huma.Format{"application/json": format, "json": format},
		DefaultFormat: "application/json",
	}
	c.RejectUnknownQueryParameters = true
	return c
}

const about = `Read how sources stand and act on them. Answers have the shape that the command line prints with -o json. Lists come in pages: give next of one page as cursor of the next. Errors are problems (RFC 9457) with code and next, the command or call that helps.`

// encode writes JSON without the escapes that only HTML needs.
func encode(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// decode reads a body strictly (R9). A name that comes twice is read as its last value here and
// perhaps as its first by whoever looks at the request before. And null is no way to leave a
// field out: with "dryRun": null would be done what was to be rehearsed.
func decode(body []byte, into any) error {
	if err := json.Unmarshal(body, into); err != nil {
		return err
	}
	if !jsontext.Value(body).IsValid() {
		return errors.New("names must come once, and text must be UTF-8")
	}
	whole, _ := into.(*any)
	if whole == nil {
		return nil
	}
	fields, _ := (*whole).(map[string]any)
	for _, value := range fields {
		if value == nil {
			return errors.New("a field is null: leave it out instead")
		}
	}
	return nil
}

// reply is an answer with a body. It has one type for all routes, and what the body looks like
// is described beside it: the library makes more than 20 KB of code of each pair of types that
// it is given.
type reply struct {
	ETag string `header:"ETag"` // of a dry run: names what it would do
	Body any
}

// op is a route with what its documentation says.
type op struct {
	Route
	id, tag, summary string
	about            string
	errors           []int
}

// answer adds a route: whoever lacks its role does not reach the answer (R4).
func answer[I, O any](a *api, o op, find func(context.Context, access.Caller, *I) (O, error)) {
	answerMarked(a, o, func(ctx context.Context, who access.Caller, in *I) (O, string, error) {
		out, err := find(ctx, who, in)
		return out, "", err
	})
}

// answerMarked adds a route whose answer may have a name.
func answerMarked[I, O any](a *api, o op, find func(context.Context, access.Caller, *I) (out O, mark string, err error)) {
	shape := a.huma.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[O](), true, o.id+"Response")
	described := a.describe(o)
	described.Responses = map[string]*huma.Response{"200": {Content: map[string]*huma.MediaType{"application/json": {Schema: shape}}}}
	huma.Register(a.huma, described, func(ctx context.Context, in *I) (*reply, error) {
		out, mark, err := find(ctx, a.CallerOf(ctx), in)
		if err != nil {
			return nil, a.newProblem(ctx, err)
		}
		return &reply{mark, out}, nil
	})
}

// handle adds a route whose answer has headers of its own.
func handle[I, O any](a *api, o op, find func(context.Context, access.Caller, *I) (*O, error)) {
	huma.Register(a.huma, a.describe(o), func(ctx context.Context, in *I) (*O, error) {
		out, err := find(ctx, a.CallerOf(ctx), in)
		if err != nil {
			return nil, a.newProblem(ctx, err)
		}
		return out, nil
	})
}

// describe notes a route in the table and says of it what the library needs.
func (a *api) describe(o op) huma.Operation {
	a.routes = append(a.routes, o.Route)
	errors := append([]int{http.StatusUnauthorized, http.StatusForbidden, http.StatusUnprocessableEntity, http.StatusServiceUnavailable}, o.errors...)
	slices.Sort(errors)
	return huma.Operation{
		Method: o.Method, Path: o.Path, OperationID: o.id, Tags: []string{o.tag}, Summary: o.summary, Description: o.about, Errors: slices.Compact(errors),
		MaxBodyBytes: mostBody, Middlewares: huma.Middlewares{a.requireRole(o.Role)}, Extensions: map[string]any{"x-role": string(o.Role)},
	}
}

// get adds a route that reads.
func get[I, O any](a *api, o op, find func(context.Context, access.Caller, *I) (O, error)) {
	o.Method = http.MethodGet
	answer(a, o, func(ctx context.Context, who access.Caller, in *I) (O, error) {
		if a.Longest > 0 {
			bounded, cancel := context.WithTimeout(ctx, a.Longest)
			defer cancel()
			ctx = bounded
		}
		return find(ctx, who, in)
	})
}

func (a *api) requireRole(need access.Role) func(huma.Context, func(huma.Context)) {
	return func(c huma.Context, next func(huma.Context)) {
		switch who := a.CallerOf(c.Context()); {
		case who.Role == "":
			a.refuse(c, errNoCaller)
		case !who.May(need):
			a.refuse(c, roleError{who.Role, need})
		default:
			next(c)
		}
	}
}

func (a *api) refuse(c huma.Context, err error) {
	_, w := humago.Unwrap(c)
	writeProblem(w, a.newProblem(c.Context(), err))
}
