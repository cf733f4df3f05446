package exchange

import (
	"testing"

	"github.com/patra-ingest/patra/internal/core/tmpl"
)

// BenchmarkRender is one page of a request with six parameters; the aim is
// below 20 µs.
func BenchmarkRender(b *testing.B) {
	parts := crossref()
	parts.Params = nil
	delete(parts.Request.Query, "mixed") // six remain
	parts.Request.Query["filter"] = Texts{"from-index-date:${formatDateTime(window.from, 'yyyy-MM-dd')},until-index-date:${filter.to}"}
	r := compiled(b, parts)
	vars := reference()
	vars.Page = tmpl.PageVars{Size: 500, Token: "DnF1ZXJ5VGhlbkZldGNoBQAAAAAAAAABFmFiYw=="}
	vars.Contact.Email = "someone@example.org"
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Render(vars); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	parts := crossref()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Compile(parts); err != nil {
			b.Fatal(err)
		}
	}
}
