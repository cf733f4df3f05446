package exchange

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/patra-ingest/patra/internal/core/tmpl"
)

// body is what a POST carries: a form, a text, or nothing.
type body struct {
	form        []field
	text        *tmpl.Template
	json        bool
	contentType string
	// Of a JSON text: that members may be left out, and which ${…} stand in them.
	optional, namedByValue bool
	excused                []bool
}

const (
	typeForm  = "application/x-www-form-urlencoded"
	typeJSON  = "application/json"
	typePlain = "text/plain"
)

func compileBody(p Parts, form []field) (body, error) {
	request := p.Request
	switch {
	case request.Body != "" && len(form) > 0:
		return body{}, fmt.Errorf("request.body and %s: a request has one body; inside request.body use ${params.name}", form[0].where)
	case request.Body != "":
		return compileBodyText(request, p.Templates)
	case request.ContentType != "" && request.ContentType != typeForm:
		return body{}, fmt.Errorf("request.contentType: %s needs request.body", request.ContentType)
	case len(form) > 0:
		return body{form: form, contentType: typeForm}, nil
	}
	return body{}, nil
}

// compileBodyText knows how to encode values for two kinds of text only; in any
// other a value could break out of its place.
func compileBodyText(request RequestConfig, c tmpl.Config) (body, error) {
	out := body{contentType: request.ContentType}
	if out.contentType == "" {
		out.contentType = typeJSON
	}
	kind, _, _ := strings.Cut(strings.ToLower(out.contentType), ";")
	kind = strings.TrimSpace(kind)
	out.json = kind == typeJSON || strings.HasSuffix(kind, "+json")
	if !out.json && !isQueryText(kind) || strings.ContainsAny(out.contentType, "\r\n\x00$") {
		return body{}, fmt.Errorf("request.contentType: %q: a body is %s, or a text such as %s or application/sparql-query; for a form use request.form", out.contentType, typeJSON, typePlain)
	}
	var err error
	if out.text, err = tmpl.CompileWith(request.Body, c); err != nil {
		return body{}, fmt.Errorf("request.body: %w", err)
	}
	if !out.json {
		return out, nil
	}
	sample, err := out.text.Sample("x", new(jsonPlaces).appendValue)
	if err == nil && !jsontext.Value(sample).IsValid() {
		err = errors.New("is not JSON with every ${…} standing for a value or a part of a text")
	}
	if err == nil {
		err = out.findOptional()
	}
	if err != nil {
		return body{}, fmt.Errorf("request.body: %w", err)
	}
	return out, nil
}

// renderBody gives the body, nil if there is none.
func (b *body) renderBody(vars *tmpl.Vars, policy tmpl.NullPolicy) ([]byte, error) {
	switch {
	case b.form != nil:
		out, err := appendPairs(nil, b.form, vars, policy)
		return out, err
	case b.text == nil:
		return nil, nil
	}
	encode := tmpl.AppendText
	if b.json {
		encode = new(jsonPlaces).appendValue
	} else {
		encode = new(textPlaces).appendValue
	}
	if policy == tmpl.Fail {
		encode = b.refuseNothing(encode)
	}
	out, _, err := b.text.Append(nil, vars, encode)
	if err != nil {
		return nil, fmt.Errorf("request.body: %w", err)
	}
	if !b.optional {
		return out, nil
	}
	if out, err = leaveOutEmpty(out); err != nil {
		return nil, fmt.Errorf("request.body: %w", err)
	}
	return out, nil
}

// isQueryText reports whether a type is a plain text or a query language. In markup a value would
// have to be encoded otherwise.
func isQueryText(kind string) bool {
	return slices.Contains([]string{typePlain, "application/sparql-query", "application/graphql", "text/csv"}, kind)
}

// textPlaces holds values of a text to their place: within double quotes a value must not end them.
type textPlaces struct {
	inQuotes bool
	scanned  int
}

func (p *textPlaces) appendValue(dst []byte, value any) ([]byte, error) {
	for ; p.scanned < len(dst); p.scanned++ {
		switch dst[p.scanned] {
		case '"':
			p.inQuotes = !p.inQuotes
		case '\\':
			p.scanned++
		}
	}
	out, err := tmpl.AppendText(dst, value)
	if err != nil {
		return nil, err
	}
	if written := string(out[min(len(dst), len(out)):]); p.inQuotes && (strings.ContainsAny(written, `"\`) || strings.ContainsFunc(written, unicode.IsControl)) {
		return nil, fmt.Errorf("%.60q stands within quotes and has a quote, a backslash or a line break in it: write ${quote(…)} without quotes around it", written)
	}
	if p.inQuotes {
		p.scanned = len(out)
	}
	return out, nil
}
