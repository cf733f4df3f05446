package simulated

import (
	"fmt"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/upsim"
)

// Form is one way to page or to sign requests: what the simulator must be told,
// and the source file that reads it. Its endpoint is Endpoint.
type Form struct {
	Name    string
	Options upsim.Options     // how the server must be started
	Env     map[string]string // what the env: references of the file lead to
	Records string            // endpoint of the second step, "" if there is none

	credential string // entry of credentials; "" for none
	second     string // another entry, which requests carry too
	pool       bool   // requests carry one of both entries, and the second is refused
	method     string
	path       string
	before     string // segments before the path
	ask        string // further keys of request
	window     string // how the window and the page size are sent: query, form or body
	paging     string
	answer     string // keys of response that differ
	more       string // further sections of the endpoint
	detail     string // the DETAIL endpoint
	endpoints  string // all of them, in the place of what is said above
}

// Endpoint is the SEARCH endpoint of every form.
const Endpoint = "works"

// PageSize is what the files ask for.
const PageSize = 10

// Forms gives every way to page, then every way to sign.
func Forms() []Form { return append(PagingForms(), AuthForms()...) }

// Start serves the data as the form wants it and compiles its file. The secrets
// of the form are put into the environment. More settings are overrides.
func (f Form) Start(t *testing.T, data *upsim.Dataset, faults string, settings ...string) (*upsim.Server, *spec.Compiled) {
	t.Helper()
	server := startServer(t, data, f.Options, faults)
	for name, value := range f.Env {
		t.Setenv(name, value)
	}
	src, _, err := registry.Decode(f.Name+".yaml", []byte(f.YAML(server.URL())))
	if err != nil {
		t.Fatal(err)
	}
	return server, compileSource(t, src, Endpoint, settings)
}

// YAML is the whole source file for a simulator at this address.
func (f Form) YAML(baseURL string) string {
	var out strings.Builder
	fmt.Fprintf(&out, head, f.sourceCode(), f.Name, baseURL)
	switch {
	case f.pool:
		fmt.Fprintf(&out, "credentials:\n  good:\n%s  second:\n%s  mine: {type: POOL, members: [second, good]}\nauth: {credential: mine}\n", indentLines(4, f.credential), indentLines(4, f.second))
	case f.credential != "":
		fmt.Fprintf(&out, "credentials:\n  mine:\n%s", indentLines(4, f.credential))
		if f.second == "" {
			out.WriteString("\nauth: {credential: mine}\n")
		} else {
			fmt.Fprintf(&out, "  second:\n%s\nauth: {credentials: [mine, second]}\n", indentLines(4, f.second))
		}
	}
	if f.endpoints != "" {
		return out.String() + f.endpoints
	}
	fmt.Fprintf(&out, "endpoints:\n  %s:\n    role: SEARCH\n    request:\n      method: %s\n      path: %s/forms/%s\n", Endpoint, orElse(f.method, "GET"), f.before, f.path)
	out.WriteString(indentLines(6, orElse(f.window, inQuery)))
	out.WriteString(indentLines(6, f.ask))
	out.WriteString(indentLines(4, f.more))
	fmt.Fprintf(&out, "    paging:\n      size: %d\n%s", PageSize, indentLines(6, f.paging))
	out.WriteString("    response:\n")
	out.WriteString(indentLines(6, orElse(f.answer, wholeItems)))
	if f.Records != "" {
		fmt.Fprintf(&out, "    details: {endpoint: %s, batchSize: 8, maxIds: 50}\n  %s:\n    role: DETAIL\n%s", f.Records, f.Records, indentLines(4, f.detail))
	}
	return out.String()
}

// Silent is the same form with a file that says nothing about its total.
func (f Form) Silent() Form {
	f.paging = strings.ReplaceAll(f.paging, "\nexpectTotal: true", "")
	return f
}

// sourceCode: a code has no other signs than these.
func (f Form) sourceCode() string { return "form-" + f.Name }

// head has limits that do not slow a test down. The window is half-open, in
// seconds, as the simulator's until is.
const head = `source: %s
name: Simulated %s
http:
  baseUrl: %s
  allowHttp: true
  allowPrivate: true
rate: {perSecond: 5000, burst: 50, concurrency: 8, obeyHeaders: false}
retry: {maxAttempts: 4, initialDelay: PT0.001S, maxDelay: PT0.002S}
filter: {field: updated, precision: SECOND, from: INCLUSIVE, to: EXCLUSIVE}
slicing: {step: P1D, minStep: PT1S}
window: {minWindow: PT1S}
`

const inQuery = `
query:
  from: ${filter.from}
  until: ${filter.to}
  size: ${page.size}`

const wholeItems = onlyItems + `
total: $.total`

const onlyItems = `
items: $.items
id: $.id
updatedAt: $.updated
filtered: $.updated
version: $.version
errorWhen: [$.error]
fields: {title: $.title}
required: [title]`

func orElse(text, unset string) string {
	if text == "" {
		return unset
	}
	return text
}

// indentLines writes each line that is not empty this far in.
func indentLines(by int, text string) string {
	var out strings.Builder
	for line := range strings.Lines(strings.Trim(text, "\n")) {
		out.WriteString(strings.Repeat(" ", by) + strings.TrimRight(line, "\n") + "\n")
	}
	return out.String()
}
