package exchange

import (
	"encoding/json"
	"fmt"
	"maps"
	"mime"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/patra-ingest/patra/internal/core/privacy"
)

// refusalBytes is how much of an answer that refuses a request is repeated.
const refusalBytes = 200

// DescribeRefusal tells what an answer that refuses a request says about it, for people: the
// parameters it names and how it begins (§12.2). An answer that names no parameter is
// only quoted. Secrets were taken out of the answer before; addresses of people are
// hidden here.
func DescribeRefusal(r *Request, answer *Response) string {
	said := strings.Join(strings.FieldsFunc(privacy.MaskOf(answer.Body, refusalBytes), unicode.IsSpace), " ")
	if said == "" {
		return "the answer is empty"
	}
	named := namedParameters(r, string(answer.Body[:min(len(answer.Body), sampleBytes)]))
	if len(named) == 0 {
		return fmt.Sprintf("the answer begins with %q", said)
	}
	return fmt.Sprintf("the answer names the parameter %s and begins with %q", strings.Join(named, ", "), said)
}

// namedParameters returns the parameters of a request whose names stand in a text as words.
func namedParameters(r *Request, text string) (out []string) {
	words := map[string]bool{}
	for _, word := range strings.FieldsFunc(text, func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c) && c != '_' && c != '-' && c != '.'
	}) {
		words[strings.ToLower(strings.Trim(word, "-."))] = true
	}
	for _, name := range parametersOf(r) {
		if words[strings.ToLower(name)] {
			out = append(out, name)
		}
	}
	return out
}

// parametersOf returns the names a request selects by: of its query, and of its body if
// that is a form or a JSON object.
func parametersOf(r *Request) []string {
	names := map[string]bool{}
	for name := range r.URL.Query() {
		names[name] = true
	}
	switch kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind {
	case "application/x-www-form-urlencoded":
		form, _ := url.ParseQuery(string(r.Body))
		for name := range form {
			names[name] = true
		}
	case "application/json":
		var object map[string]json.RawMessage
		_ = json.Unmarshal(r.Body, &object) // an array has no names
		for name := range object {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}
