package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/source"
	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/upsim"
)

// trialPage is what -o json of a trial holds; the records' fields are whole.
type trialPage struct {
	Source     string                   `json:"source"`
	Origin     string                   `json:"origin"`
	Page       int                      `json:"page"`
	Error      string                   `json:"error"`
	Credential *view.CredentialUse      `json:"credential"`
	Request    exchange.RequestDigest   `json:"request"`
	Response   *exchange.ResponseDigest `json:"response"`
	Items      int                      `json:"items"`
	Mapped     int                      `json:"mapped"`
	Rejected   int                      `json:"rejected"`
	Total      int64                    `json:"total"`
	Decision   struct {
		Done bool   `json:"done"`
		Why  string `json:"why"`
		Next string `json:"next"`
	} `json:"decision"`
	Records []struct {
		ID     string         `json:"id"`
		Fields map[string]any `json:"fields"`
	} `json:"records"`
	Rejects []struct {
		Reason string `json:"reason"`
		Detail string `json:"detail"`
	} `json:"rejects"`
	Detail *trialPage `json:"detail"`
}

// simulated is a source file that points at a simulated Crossref of the first
// week of March 2025.
func (d *desk) simulated(faults string) (file string, server *upsim.Server) {
	d.Helper()
	server, err := startUpstream("")
	if err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() { server.Close() })
	script, err := upsim.ParseFaults(faults)
	if err != nil {
		d.Fatal(err)
	}
	if err := server.SetFaults(script); err != nil {
		d.Fatal(err)
	}
	return d.crossrefFile("simulated.yaml", "baseUrl: https://api.crossref.org", "baseUrl: "+server.URL()+"\n  allowPrivate: true",
		"perSecond: 3", "perSecond: 1000", "size: 500", "size: 5"), server
}

const firstOfMarch = "2025-03-01..2025-03-02"

func TestTrial(t *testing.T) {
	d := emptyDesk(t)
	file, server := d.simulated("")
	r := d.expect(term.ExitOK, "source", "test", file, "--window", firstOfMarch)
	d.holds(r.out, "GET "+server.URL()+"/works?cursor=%2A&filter=from-index-date%3A2025-03-01T00%3A00%3A00%2Cuntil-index-date%3A2025-03-01T23%3A59%3A59&",
		"Accept: application/json", "credential  none", "page 1 of [2025-03-01T00:00:00Z, 2025-03-02T00:00:00Z)", "HTTP 200, application/json",
		"X-Rate-Limit-Limit: ", "5: 5 mapped, 0 outside the window, 0 duplicate, 0 rejected", "total       12",
		"there is a next page, because of: next token; it is asked for with token ", "UPDATED AT")
	if n := strings.Count(r.out, "10."); n < 3 {
		t.Errorf("three records expected:\n%s", r.out)
	}
	d.holds(r.err, "crossref works HARVEST (file), fingerprint ")
	if n := len(server.Log()); n != 1 {
		t.Errorf("%d requests for one page", n)
	}
	var page trialPage
	d.decode(d.expect(term.ExitOK, "source", "test", file, "--window", firstOfMarch, "--page", "3", "-o", "json").out, &page)
	if page.Page != 3 || page.Items != 2 || page.Mapped != 2 || page.Total != 12 || !page.Decision.Done || page.Decision.Why == "" || page.Origin != "file" {
		t.Errorf("%+v", page)
	}
	if len(page.Records) != 2 || page.Records[0].ID == "" || page.Records[0].Fields["doi"] == nil {
		t.Errorf("%+v", page.Records)
	}
	missing := d.expect(term.ExitNotFound, "source", "test", file, "--window", firstOfMarch, "--page", "4")
	d.holds(missing.err, "there is no page 4")
	d.holds(missing.out, "page 3 of ")
	d.noFile()
}

// A wrong path of the next page looks like a last page: the trial must not be green.
func TestTrialFindsAWalkThatEndsTooEarly(t *testing.T) {
	d := newDesk(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"items":[{"id":"a","updated_at":"2025-03-01T01:00:00Z"}],"total":3,"next":"2"}`)
	}))
	defer server.Close()
	text := d.changed(source.SkeletonLike("", "mine", "mine.yaml"), "baseUrl: https://api.example.org/v1", "baseUrl: "+server.URL+"\n  allowHttp: true\n  allowPrivate: true")
	d.holds(d.expect(term.ExitPartial, "source", "test", d.write("mine.yaml", text), "--window", firstOfMarch).err, "SHORT_COUNT")
	text = d.changed(text, "expectTotal: true", "expectTotal: false")
	r := d.expect(term.ExitPartial, "source", "test", d.write("mine.yaml", text), "--window", firstOfMarch)
	d.holds(r.err, "announces 3 items, sent 1 and names no next page", "response.nextToken", "paging.expectTotal")
	d.expect(term.ExitOK, "source", "test", d.write("mine.yaml", d.changed(text, "$.nextCursor", "$.next")), "--window", firstOfMarch)
	d.expect(term.ExitOK, "source", "test", d.write("mine.yaml", d.changed(text, "$.total ", "$.nothing ")), "--window", firstOfMarch)
}

// Without flags the newest window that is safe to read is asked for.
func TestTrialNeedsNoFlags(t *testing.T) {
	d := newDesk(t)
	file, _ := d.simulated("")
	r := d.expect(term.ExitOK, "source", "test", file)
	d.holds(r.err, "there are no items: try another --window")
	d.holds(r.out, "page 1 of [", "0: 0 mapped")
}

func TestTrialUsesWhatIsApplied(t *testing.T) {
	d := newDesk(t)
	file, _ := d.simulated("")
	d.rows(file)
	before := d.dump()
	r := d.expect(term.ExitOK, "source", "test", "crossref", "--window", firstOfMarch, "--set", "paging.size=2")
	d.holds(r.out, "2: 2 mapped")
	d.holds(r.err, "(applied)")
	if d.dump() != before {
		t.Error("a trial changed the database")
	}
}

// What is tried has the fingerprint of what runs.
func TestTrialFingerprint(t *testing.T) {
	d := newDesk(t)
	file, server := d.simulated("500@*")
	for _, set := range [][]string{nil, {"--set", "retry.maxAttempts=3", "--set", "retry.initialDelay=PT0.001S"}} {
		explained := d.explained(append([]string{file}, set...)...)
		before := len(server.Log())
		r := d.expect(term.ExitUpstream, append([]string{"source", "test", file, "--window", firstOfMarch}, set...)...)
		d.holds(r.err, "fingerprint "+explained.Fingerprint)
		if n := len(server.Log()) - before; n != 1+len(set)/2 {
			t.Errorf("%d requests with %v", n, set)
		}
	}
}

// A total that is there and cannot be read is not passed over.
func TestTrialOfAnUnreadableTotal(t *testing.T) {
	d := newDesk(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"items":[{"id":"a","updated_at":"2025-03-01"}],"total":"1,234"}`)
	}))
	t.Cleanup(server.Close)
	text := d.changed(source.Skeleton, "baseUrl: https://api.example.org/v1", "baseUrl: "+server.URL+"\n  allowPrivate: true", "expectTotal: true", "expectTotal: false")
	r := d.expect(term.ExitOK, "source", "test", d.write("total.yaml", text), "--window", firstOfMarch)
	d.holds(r.out, `total       unreadable at $.total ("1,234")`)
	d.holds(r.err, `the announced total is unreadable at $.total ("1,234")`)
	strict := d.expect(term.ExitUsage, "source", "test", d.write("strict.yaml", text), "--window", firstOfMarch, "--set", "paging.expectTotal=true")
	d.holds(strict.err, "BAD_BODY", `total: unreadable at $.total ("1,234")`, "paging.expectTotal")
}

func TestTrialOfAMisbehavingUpstream(t *testing.T) {
	for _, c := range []struct {
		faults string
		code   int
		out    []string
		err    []string
	}{
		{"429@1:retry-after=7", term.ExitUpstream, []string{"HTTP 429", "Retry-After: 7"}, []string{"RATE_LIMITED (HTTP 429)", "next: try again in 7s"}},
		{"503@1", term.ExitUpstream, []string{"HTTP 503"}, []string{"next: the upstream has trouble of its own"}},
		{"empty-200@1", term.ExitOK, []string{"HTTP 200", "items       0: 0 mapped", "last page, because of: empty page"}, []string{"there are no items: try another --window"}},
		{"error-200@1", term.ExitUsage, []string{"HTTP 200"}, []string{"BAD_BODY", "is $.message.items the right path?", "an error with a success status"}},
		{"html-200@1", term.ExitUpstream, []string{"begins with  <"}, []string{"BAD_BODY", "next: compare"}},
		{"reset@1", term.ExitUpstream, []string{"response    none"}, []string{"NETWORK", "next: check http.baseUrl"}},
		{"missing-id@1", term.ExitPartial, []string{"1 rejected", "rejected item "}, []string{"1 item rejected"}},
		{"bad-date@1", term.ExitPartial, []string{"rejected item ", "indexed"}, []string{"rejected: a run would quarantine"}},
	} {
		t.Run(c.faults, func(t *testing.T) {
			d := newDesk(t)
			file, server := d.simulated(c.faults)
			r := d.expect(c.code, "source", "test", file, "--window", firstOfMarch)
			d.holds(r.out, append(c.out, "GET "+server.URL()+"/works?")...)
			d.holds(r.err, c.err...)
			if n := len(server.Log()); n != 1 {
				t.Errorf("%d requests: one was asked for", n)
			}
		})
	}
}

func TestTrialJSONOfAFailure(t *testing.T) {
	d := newDesk(t)
	file, _ := d.simulated("429@1;missing-id@2")
	var page trialPage
	d.decode(d.expect(term.ExitUpstream, "source", "test", file, "--window", firstOfMarch, "-o", "json").out, &page)
	if page.Response == nil || page.Response.Status != 429 || !strings.Contains(page.Error, "RATE_LIMITED") || page.Request.Method != "GET" {
		t.Errorf("%+v", page)
	}
	d.decode(d.expect(term.ExitPartial, "source", "test", file, "--window", firstOfMarch, "-o", "json").out, &page)
	if page.Rejected != 1 || len(page.Rejects) != 1 || page.Rejects[0].Reason == "" || page.Rejects[0].Detail == "" {
		t.Errorf("%+v", page)
	}
}

func TestTrialRefuses(t *testing.T) {
	d := emptyDesk(t)
	file, server := d.simulated("")
	for text, args := range map[string][]string{
		"pages count from 1": {file, "--page", "0"},
		"write both ends":    {file, "--window", "2025-03-01"},
		"leave --from":       {file, "--window", firstOfMarch, "--from", "2025-03-01"},
		"is empty":           {file, "--window", "2025-03-02..2025-03-01"},
		"not by id":          {"jstage", "--ids", "10.1/x"},
		"asked by id":        {"pubmed", "--endpoint", "efetch"},
		"leave the window":   {"pubmed", "--endpoint", "efetch", "--ids", "1", "--window", firstOfMarch},
		"E-RATE-RAISED":      {file, "--set", "rate.perSecond=100000"},
		"instant \"x\"":      {file, "--window", "x..y"},
		"cannot be read":     {d.dir + "/nothing.yaml"},
		"E-HTTPS":            {"crossref", "--set", "http.baseUrl=http://127.0.0.1:1"},
		"METRICS":            {file, "--op", "METRICS"},
	} {
		d.holds(d.expect(term.ExitUsage, append([]string{"source", "test"}, args...)...).err, text)
	}
	d.expect(term.ExitNotFound, "source", "test", "nobody")
	if n := len(server.Log()); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
	d.noFile()
}

// A new user's first upstream is one on this machine: the refusal names the key that is
// about it, for the source and for the address of its tokens.
func TestTrust12PlainHTTPToThisMachineNamesAllowPrivate(t *testing.T) {
	d := emptyDesk(t)
	for _, address := range []string{"http://127.0.0.1:1", "http://localhost:1", "http://[::1]:1", "http://10.0.0.7"} {
		r := d.expect(term.ExitUsage, "harvest", "crossref", "--set", "http.baseUrl="+address)
		d.holds(r.err, "E-HTTPS", "http.allowPrivate: true")
	}
	r := d.expect(term.ExitUsage, "harvest", "crossref", "--set", "http.baseUrl=http://api.example.org")
	d.holds(r.err, "E-HTTPS", "http.allowHttp: true")
	if strings.Contains(r.err, "allowPrivate") {
		t.Error(r.err)
	}
	d.noFile()
}

const canary = "s3cr3t/Canary&4711"

// parrot repeats the key it was sent in everything it says.
func parrot(t *testing.T, status int) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := r.URL.Query().Get("api_key") + r.Header.Get("X-Api-Key")
		if key != canary {
			t.Errorf("the key did not arrive: %q", key)
		}
		w.Header().Set("X-Api-Pool", key)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		quoted, _ := json.Marshal(key)
		fmt.Fprintf(w, `{"items":[{"id":%[1]s,"updated_at":%[1]s},{"id":%[1]s,"updated_at":"2025-03-01"}],"nextCursor":%[1]s,"total":2,"url":"%[2]s"}`, quoted, r.URL.RawQuery)
	}))
	t.Cleanup(server.Close)
	return server
}

// I12: whatever the upstream repeats, the secret is in nothing we say.
func TestTrialNeverShowsASecret(t *testing.T) {
	t.Setenv("PATRA_TEST_CANARY", canary)
	for name, place := range map[string]string{"query": "in: QUERY, name: api_key", "header": "name: X-Api-Key"} {
		for _, status := range []int{200, 400, 401, 500} {
			d := newDesk(t)
			text := d.changed(source.Skeleton, "baseUrl: https://api.example.org/v1", "baseUrl: "+parrot(t, status).URL+"\n  allowPrivate: true",
				"endpoints:", "credentials:\n  key: {type: API_KEY, "+place+", value: env:PATRA_TEST_CANARY}\nauth: {credential: key}\nendpoints:")
			file := d.write("parrot.yaml", text)
			d.trusts(file)
			for _, output := range []string{"table", "json"} {
				r := d.run("source", "test", file, "--window", firstOfMarch, "-v", "-o", output)
				if strings.Contains(r.out+r.err, "s3cr3t") { // its start is the same in every spelling
					t.Fatalf("%s %d %s: the secret is in\n%s%s", name, status, output, r.out, r.err)
				}
				d.holds(r.out, "env:PATRA_TEST_CANARY", view.SecretPresent)
				if want := map[int]int{200: term.ExitPartial, 400: term.ExitUsage, 401: term.ExitAuth, 500: term.ExitUpstream}[status]; r.code != want {
					t.Errorf("%s %d: exit code %d, want %d\n%s%s", name, status, r.code, want, r.out, r.err)
				}
			}
		}
	}
}

func TestTrialWithoutItsSecret(t *testing.T) {
	d := newDesk(t)
	t.Setenv("OPENALEX_API_KEY", "")
	r := d.expect(term.ExitAuth, "source", "test", "openalex", "--set", "http.baseUrl=http://127.0.0.1:1", "--set", "http.allowPrivate=true")
	d.holds(r.out, "credential  openalex (API_KEY in QUERY api_key, from env:OPENALEX_API_KEY, absent)")
	d.holds(r.err, "UNAUTHORIZED", "next: check the credential")
}

// A source of two steps is tried with both.
func TestTrialOfTwoSteps(t *testing.T) {
	d := newDesk(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if ids := r.URL.Query().Get("ids"); ids != "" {
			fmt.Fprint(w, `{"items":[{"id":"a","updated_at":"2025-03-01","title":"first"},{"id":"b","title":"no date"}]}`)
			return
		}
		fmt.Fprint(w, `{"items":[{"id":"a"},{"id":"b"}],"total":2}`)
	}))
	t.Cleanup(server.Close)
	file := d.write("steps.yaml", `source: steps
name: Steps
http: {baseUrl: "`+server.URL+`", allowPrivate: true}
endpoints:
  search:
    role: SEARCH
    request: {path: /search, query: {from: "${filter.from}", to: "${filter.to}", start: "${page.offset}", size: "${page.size}"}}
    filter: {field: updated}
    paging: {type: OFFSET, size: 10, stable: true}
    details: {endpoint: get, batchSize: 2}
    response: {items: $.items, id: $.id, total: $.total}
  get:
    role: DETAIL
    supports: [HARVEST, BACKFILL, UPDATE]
    request: {path: /get, query: {ids: "${join(ids, ',')}"}}
    response: {items: $.items, id: $.id, updatedAt: $.updated_at, fields: {title: $.title}}
`)
	r := d.expect(term.ExitPartial, "source", "test", file, "--window", firstOfMarch)
	d.holds(r.out, "/search?", "second step: get", "/get?ids=a%2Cb", `{"title":"first"}`, "rejected item 1 (b)", "updated_at")
	var page trialPage
	d.decode(d.expect(term.ExitPartial, "source", "test", file, "--window", firstOfMarch, "-o", "json").out, &page)
	if page.Mapped != 2 || page.Detail == nil || page.Detail.Mapped != 1 || page.Detail.Rejected != 1 {
		t.Errorf("%+v %+v", page, page.Detail)
	}
	byID := d.expect(term.ExitPartial, "source", "test", file, "--ids", "a,b")
	d.holds(byID.out, "/get?ids=a%2Cb", "page 1 of ids a, b")
	d.holds(byID.err, "steps get HARVEST (file)")
}
