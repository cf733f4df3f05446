package exchange

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/tmpl"
)

// No value of a text body ends the quotes it stands in, or adds a line: it is written as it is, escaped
// by quote(), or refused.
func TestValuesStayWithinTheirQuotes(t *testing.T) {
	compiled := func(text string) body {
		b, err := compileBodyText(RequestConfig{Body: text, ContentType: "text/plain"}, tmpl.Config{})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	raw, quoted := compiled(`search "${query}" limit 10`), compiled(`search ${quote(query)} limit 10`)
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringOf(rapid.SampledFrom([]rune(`ab"\ '${}`+"\n\tü"))).Draw(t, "value")
		vars := &tmpl.Vars{Query: value}
		out, err := raw.renderBody(vars, "")
		if harmless := !strings.ContainsAny(value, "\"\\\n\t"); harmless != (err == nil) {
			t.Fatalf("%q: %s, %v", value, out, err)
		}
		if err == nil && string(out) != `search "`+value+`" limit 10` {
			t.Fatalf("%q: %s", value, out)
		}
		out, err = quoted.renderBody(vars, "")
		if strings.ContainsAny(value, "\n\t") {
			if err == nil {
				t.Fatalf("%q: %s", value, out)
			}
			return
		}
		inner, ok := strings.CutPrefix(string(out), `search "`)
		inner, end := strings.CutSuffix(inner, `" limit 10`)
		if err != nil || !ok || !end || strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(inner) != value {
			t.Fatalf("%q: %s, %v", value, out, err)
		}
	})
}

// Types in which a value would have to be encoded in a way we do not know are refused.
func TestTypesOfTextBodies(t *testing.T) {
	for kind, good := range map[string]bool{
		"text/plain": true, "text/plain; charset=utf-8": true, "application/sparql-query": true, "application/graphql": true,
		"text/xml": false, "application/xml": false, "text/html": false, "application/soap+xml": false, "text/plain\r\nX: y": false,
	} {
		if _, err := compileBodyText(RequestConfig{Body: "a", ContentType: kind}, tmpl.Config{}); (err == nil) != good {
			t.Errorf("%s: %v", kind, err)
		}
	}
}
