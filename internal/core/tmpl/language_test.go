package tmpl

import (
	"strings"
	"testing"
)

// A template reaches its variables and the listed functions, and nothing else.
func TestCompileRefuses(t *testing.T) {
	for text, want := range map[string]string{
		// misspelt
		"${page.sise}":                     "did you mean page.size",
		"${page}":                          "unknown name page",
		"${page.Size}":                     "did you mean page.size",
		"${Page.Size}":                     "did you mean page.size",
		"${env.HOME}":                      "unknown name env",
		"${page.size":                      "closing",
		"${1 +}":                           "unexpected",
		"${}":                              "unexpected",
		"${formatDatetime(now(), 'yyyy')}": "did you mean formatDateTime? (the list is closed)",
		"${getenv('HOME')}":                "unknown function getenv: the list is closed: now, formatDateTime",
		"${len('x')}":                      "did you mean length",
		"${contains(page.token, 'x')}":     "between two texts",
		"${now}":                           "write now()",
		// wrong types and counts
		`${formatDateTime(1, "yyyy")}`:          "formatDateTime wants an instant as argument 1, got a number",
		"${formatDateTime(page.token, 'yyyy')}": "wants an instant",
		"${formatDateTime(now())}":              "wrong number of arguments: formatDateTime(instant, 'pattern'[, 'zone'])",
		"${lower(ids)}":                         "wants a text",
		"${join('x', ',')}":                     "wants a list",
		"${now() + 1}":                          "wants a number or a text",
		"${now() - now()}":                      "got an instant",
		"${page.token + page.size}":             "cannot be mixed",
		"${page.token * 2}":                     "got a text",
		"${page.size ? 1 : 2}":                  "non-bool",
		"${page.size and true}":                 "mismatched",
		"${now(1)}":                             "wrong number",
		"${if(true, 1)}":                        "wrong number",
		// constants
		"${formatDateTime(now(), page.token)}":   "in quotes",
		"${formatDateTime(now(), 'qqq')}":        "qqq has no meaning",
		"${formatDateTime(now(), 'yyyy', 'No')}": "not a time zone",
		"${addDuration(now(), 'P1M')}":           "no fixed length",
		"${regexFind(page.token, page.token)}":   "in quotes",
		"${regexFind(page.token, '(')}":          "missing closing",
		// no methods, fields, indexes
		"${page.Size.String()}":    "methods",
		"${page.size.String()}":    "methods",
		"${now().Add(1)}":          "methods",
		"${now().Unix}":            "no methods",
		"${window.from.Unix()}":    "methods",
		"${window.from.wall}":      "unknown name window.from.wall",
		"${window.from['Unix']()}": "unexpected",
		"${window?.from}":          "not allowed",
		"${ids[0]}":                "element(list, index)",
		"${ids[page.size]}":        "element(list, index)",
		"${page.token[0:1]}":       "substring",
		"${params.a.b}":            "params.a.b",
		"${params}":                "unknown name params",
		"${params[page.token]}":    "not allowed",
		"${$env}":                  "$env",
		"${$env.page}":             "$env.page",
		"${$env['page']}":          "$env.page",
		"${'x'.y}":                 "no methods",
		"${{'a': 1}}":              "not allowed",
		"${{'a': 1}.a}":            "only variables",
		"${concat}":                "unknown name concat",
		"${string.Name}":           "unknown name string.Name",
		"${b'abc'}":                "not allowed",
		// no loops, closures, sequences
		`${map([1], # + 1)}`:                 "unknown function map",
		`${filter(ids, # != "")}`:            "unknown function filter",
		"${reduce(ids, #acc + #)}":           "unknown function reduce",
		"${all(ids, {true})}":                "unknown function all",
		`${length(1..1000000000)}`:           "range",
		"${let a = 1; a}":                    "not allowed",
		"${1; 2}":                            "not allowed",
		"${if page.size > 1 { 1 } else {2}}": "unexpected",
		// operators outside the list
		"${2 ** 64}":                    "operator **",
		"${2 ^ 64}":                     "operator ^",
		"${page.token matches '^a'}":    "regexFind",
		"${page.token not matches 'a'}": "regexFind",
		// functions of the library that are not ours
		"${repeat('x', 1000000000)}": "unknown function repeat",
		"${abs(-1)}":                 "unknown function abs",
		"${toJSON(ids)}":             "unknown function toJSON",
		"${date('2024-01-01')}":      "unknown function date",
		"${get(ids, 0)}":             "unknown function get",
		"${::trim('x')}":             "without ::",
		"${::now()}":                 "without ::",
		// of another place
		"${jsonPath('$.x')}": "not available in a request",
	} {
		if _, err := Compile(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error with %q", text, err, want)
		} else if strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: more than one line: %v", text, err)
		}
	}
}

// The part of a condition that is not chosen is not evaluated: it may be wrong.
func TestOperatorsAndConditions(t *testing.T) {
	for text, want := range map[string]string{
		"${page.size > 50 ? 'many' : 'few'}":                            "many",
		"${if(page.size > 50, 'many', 'few')}":                          "many",
		"${if(page.size < 50, 1, 'few')}":                               "few",
		"${page.size == 100 && page.token != '' || false}":              "true",
		"${not (page.size >= 100) and true}":                            "false",
		"${query contains 'owl'} ${query contains ''}":                  "true false",
		"${query startsWith 'owl'} ${query endsWith 'owl'}":             "true false",
		"${query not contains 'cat'}":                                   "true",
		"${'2' in ids} ${'9' in ids} ${page.size in [1, 100]}":          "true false true",
		"${window.from < window.to} ${now() == now()}":                  "true true",
		"${page.offset + page.size * 2 - 1} ${7 / 2} ${6 / 2} ${7 % 4}": "399 3.5 3 3",
		"${1.5 + 1} ${-page.size} ${1e21}":                              "2.5 -100 1000000000000000000000",
		"${'a' + 'b'}":                                                  "ab",
		"${nil ?? 'x'} ${if(true, 'a', substring('x', 1.5))}":           "x a",
		"${regexFind(query, 'cat') == nil}":                             "true",
	} {
		if got, _ := render(t, text); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

func TestRunTimeErrors(t *testing.T) {
	for text, want := range map[string]string{
		"${1 / (page.size - 100)}":                       "division by zero",
		"${1 % (page.size - 100)}":                       "division by zero",
		"${9223372036854775807 + page.size}":             "too large",
		"${-9223372036854775807 - page.size}":            "too large",
		"${4611686018427387904 * 2}":                     "too large",
		"${1e308 * 10}":                                  "too large",
		"${number(query)}":                               "not a number",
		"${ids}":                                         "join(list",
		"${parseDate(query, 'yyyy')}":                    "fits none",
		"${base64Decode('?')}":                           "not base64",
		"${base64Decode('/w==')}":                        "not text",
		"${split(query, '')}":                            "separator is empty",
		"${regexFind(query, 'o', 1)}":                    "no group 1",
		"${if(regexFind(query, 'cat'), 1, 2)}":           "default(value, false)",
		"${substring(query, 0.5)}":                       "not a whole number",
		"${string(regexFind(query, 'owl')) + page.size}": "use concat",
		"${formatDateTime(parseDate('2024', 'yyyy') ?? 1, 'yyyy')} ${formatDateTime(coalesce(query), 'yyyy')}": "use parseDate",
	} {
		compiled, err := Compile(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, _, err := compiled.Render(sampleVars()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %q, %v, want an error with %q", text, got, err, want)
		}
	}
}
