package cli

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/source"
	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/view"
)

func (d *desk) renders(args ...string) (r view.RenderedRequest) {
	d.Helper()
	d.decode(d.expect(term.ExitOK, append([]string{"source", "render", "-o", "json"}, args...)...).out, &r)
	return r
}

func TestRender(t *testing.T) {
	d := emptyDesk(t)
	expr := d.write("books.txt", `oneOf(type, "book", "monograph")`)
	d.golden("source_render", d.expect(term.ExitOK, "source", "render", "crossref", "--window", firstOfMarch, "--expr", expr).out)
	plain, narrow := d.renders("crossref", "--window", firstOfMarch), d.renders("crossref", "--window", firstOfMarch, "--expr", expr)
	if plain.Prototype == narrow.Prototype || plain.Method != "GET" || plain.Headers["Accept"] != "application/json" || plain.Credential != nil {
		t.Errorf("%+v", plain)
	}
	if !strings.Contains(narrow.Params["filter"], "type:book,type:monograph") || !strings.HasPrefix(narrow.Expression, `oneOf(type, "book", "monograph") and range(indexed, `) {
		t.Errorf("%+v", narrow)
	}
	form := d.renders("crossref", "--window", firstOfMarch, "--expr", d.write("books.json", `{"type":"ATOM","field":"type","op":"IN","value":{"kind":"IN","values":["monograph","book"],"case":"INSENSITIVE"}}`))
	if form.Prototype != narrow.Prototype {
		t.Error("the JSON form asks for something else than the text form")
	}
	if set := d.renders("crossref", "--window", firstOfMarch, "--set", `query.where=oneOf(type, "book", "monograph")`); set.Prototype != narrow.Prototype || set.URL != narrow.URL {
		t.Errorf("%s\n%s", set.URL, narrow.URL)
	}
	d.noFile()
}

func TestRenderPagesAndIDs(t *testing.T) {
	d := newDesk(t)
	if r := d.renders("crossref", "--page-token", "a b&c=d"); !strings.Contains(r.URL, "cursor=a+b%26c%3Dd&") {
		t.Error(r.URL)
	}
	if r := d.renders("pubmed", "--page-token", "300"); !strings.Contains(r.URL, "retstart=300") {
		t.Error(r.URL)
	}
	t.Setenv("NCBI_API_KEY", canary)
	r := d.expect(term.ExitOK, "source", "render", "pubmed", "--ids", "31452104,31452105")
	d.holds(r.out, "POST https://", "id=31452104%2C31452105", "ids 31452104, 31452105", "ncbi (API_KEY in QUERY api_key, from env:NCBI_API_KEY, present)")
	d.holds(r.err, "nothing was sent")
	if strings.Contains(r.out+r.err, "s3cr3t") {
		t.Error("the secret is shown")
	}
	if r := d.renders("pubmed", "--ids", "7"); r.Endpoint != "efetch" || !strings.Contains(r.Body, "id=7&") || r.Credential.State != view.SecretPresent || !r.Window.From.IsZero() {
		t.Errorf("%+v", r)
	}
}

func TestRenderRefuses(t *testing.T) {
	d := newDesk(t)
	bad := d.write("bad.txt", `phrase(title, "x") and not phrase(issn, "1234-5678") and oneOf(type, "Book 1")`)
	r := d.expect(term.ExitUsage, "source", "render", "crossref", "--expr", bad)
	d.holds(r.err, bad+": the source cannot express this:\nE-FIELD-NOT-FOUND at children[0]: ", "\nE-NOT-UNSUPPORTED at children[1].child: ", "\nE-TERM-PATTERN at children[2]")
	for text, args := range map[string][]string{
		"holds no expression":  {"--expr", d.write("blank.txt", " \n")},
		"cannot be read: no":   {"--expr", d.dir + "/none.txt"},
		"1:7: ":                {"--expr", d.write("broken.txt", "phrase(")},
		"E-CONST-FALSE":        {"--expr", d.write("false.txt", "false")},
		"not for --ids":        {"pubmed", "--ids", "1", "--expr", bad},
		"needs a whole number": {"pubmed", "--page-token", "x"},
		"leads away":           {d.write("url.yaml", d.changed(source.Skeleton, "type: TOKEN", "type: URL", "        cursor: ${page.token}\n", "", "nextToken: $.nextCursor", "nextUrl: $.next")), "--page-token", "https://elsewhere.example.org/"},
	} {
		if strings.HasPrefix(args[0], "-") {
			args = append([]string{"crossref"}, args...)
		}
		d.holds(d.expect(term.ExitUsage, append([]string{"source", "render"}, args...)...).err, text)
	}
}

func TestRenderReadsStdin(t *testing.T) {
	var out, side bytes.Buffer
	root := newRoot(&out, &side)
	root.SetIn(io.Reader(strings.NewReader(`oneOf(type, "book")`)))
	root.SetArgs([]string{"source", "render", "crossref", "--expr", "-", "--db", "sqlite:" + t.TempDir() + "/none.db"})
	if err := root.ExecuteContext(context.Background()); err != nil || !strings.Contains(out.String(), "type%3Abook") {
		t.Errorf("%v %s", err, out.String())
	}
}
