package tmpl

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/document"
)

const owl = `{"title":["Of Owls","x"],"n":3,"big":12345678901234567890123,"id":9007199254740993,"f":1.50,"exp":1e3,"yes":true,"no":null,
	"date":"2024-02-29","ts":1709164800000,"author":[{"family":"Strix","seq":1},{"family":"Bubo"}],"empty":[],"obj":{"a":[1,{"b":null}]},"s":"ü\u0000\"","huge":1e999}`

// eval reads the paths of a template from an item, as a mapping does.
func eval(t testing.TB, text, item string) (any, error) {
	t.Helper()
	compiled, err := CompileItem(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	reader, err := document.Compile(document.Shape{Page: compiled.Paths()})
	if err != nil {
		t.Fatal(err)
	}
	page, err := reader.Read([]byte(item), document.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return compiled.Eval(page.Values, nil)
}

func TestItemValues(t *testing.T) {
	for text, want := range map[string]any{
		"${jsonPath('$.title[0]')}":                                        "Of Owls",
		"${jsonPath('$.title')}":                                           []any{"Of Owls", "x"},
		"${jsonPath('$.n')}":                                               int64(3),
		"${jsonPath('$.id')}":                                              int64(9007199254740993),
		"${jsonPath('$.big')}":                                             "12345678901234567890123",
		"${jsonPath('$.f')}":                                               1.5,
		"${jsonPath('$.exp')}":                                             1000.0,
		"${jsonPath('$.huge')}":                                            "1e999",
		"${jsonPath('$.yes')}":                                             true,
		"${jsonPath('$.no')}":                                              nil,
		"${jsonPath('$.none')}":                                            nil,
		"${jsonPath('$.empty')}":                                           []any{},
		"${jsonPath('$.obj')}":                                             map[string]any{"a": []any{int64(1), map[string]any{"b": nil}}},
		"${jsonPath('$.s')}":                                               "ü\x00\"",
		"${jsonPath('$.author[*].family')}":                                []any{"Strix", "Bubo"},
		"${jsonPath('$..seq')}":                                            []any{int64(1)},
		"${parseDate(jsonPath('$.date'), 'yyyy-MM-dd')}":                   time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC),
		"${fromEpoch(jsonPath('$.ts'))}":                                   time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC),
		"${length(jsonPath('$.title'))}":                                   int64(2),
		"${[1, [2], jsonPath('$.f')]}":                                     []any{int64(1), []any{int64(2)}, 1.5},
		"${jsonPath('$.n') + 1}":                                           int64(4),
		"${jsonPath('$.id') + 0}":                                          int64(9007199254740993),
		"${first(jsonPath('$.title'))}":                                    "Of Owls",
		"${jsonPath('$.n') > 2 and jsonPath('$.yes')}":                     true,
		"${default(jsonPath('$.none'), jsonPath('$.n'))}":                  int64(3),
		"${upper(jsonPath('$.none'))}":                                     nil,
		"${split(jsonPath('$.date'), '-')}":                                []any{"2024", "02", "29"},
		"${join(jsonPath('$.author[*].family'), '; ')}":                    "Strix; Bubo",
		"${join(jsonPath('$.none'), '; ')}":                                nil,
		"${if(jsonPath('$.none') == nil, 'free', 'bound')}":                "free",
		"${formatDateTime(parseDate(jsonPath('$.none'), 'yyyy'), 'yyyy')}": nil,
		"${regexFind(jsonPath('$.title[0]'), '[A-Z]w')}":                   "Ow",
		"${jsonPath(\"$.title[?@ == 'x']\")}":                              []any{"x"},
		// more than one part is text
		"doi:${jsonPath('$.n')}/${jsonPath('$.id')}": "doi:3/9007199254740993",
		"<${jsonPath('$.none')}>":                    "<>",
		"plain":                                      "plain",
		"":                                           "",
	} {
		if got, err := eval(t, text, owl); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %#v, %v, want %#v", text, got, err, want)
		}
	}
}

// Whole numbers stay exact, whatever their size.
func TestWholeNumbersStayExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		digits := rapid.StringMatching(`-?[1-9][0-9]{0,30}`).Draw(t, "digits")
		template, err := CompileItem("${jsonPath('$.n')}")
		if err != nil {
			t.Fatal(err)
		}
		reader, err := document.Compile(document.Shape{Page: template.Paths()})
		if err != nil {
			t.Fatal(err)
		}
		page, err := reader.Read([]byte(`{"n":`+digits+`}`), document.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		value, err := template.Eval(page.Values, nil)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := Text(value); err != nil || text != digits {
			t.Fatalf("%s became %v, %v", digits, value, err)
		}
	})
}

func TestItemPaths(t *testing.T) {
	compiled, err := CompileItem("${jsonPath('$.a')} ${concat(jsonPath('$.b'), jsonPath('$.a'))} ${jsonPath('$.c')}")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, path := range compiled.Paths() {
		got = append(got, path.String())
	}
	if strings.Join(got, " ") != "$.a $.b $.c" {
		t.Errorf("%q", got)
	}
	if _, err := compiled.Eval(nil, nil); err == nil {
		t.Error("values are missing and nobody noticed")
	}
}

func TestItemRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"${jsonPath('x')}":               "position 1",
		"${jsonPath(concat('$', '.x'))}": "in quotes",
		"${jsonPath(jsonPath('$.x'))}":   "in quotes",
		"${jsonPath()}":                  "wrong number",
		"${title}":                       "is read with jsonPath('$.title')",
		"${page.size}":                   "knows fetched, ids, key, window.from, window.to",
		"${header(jsonPath('$.x'))}":     "in quotes",
		"${header('')}":                  "in quotes",
		"${now()}":                       "not available in an output field",
		"${jsonPath('$.x').y}":           "only variables have parts",
		"${jsonPath('$.x')[0]}":          "element(list, index)",
		"${jsonPath('$.x').Add(1)}":      "methods",
	} {
		if _, err := CompileItem(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	for text, want := range map[string]string{
		"${jsonPath('$.none') + 1}":                     "got nothing",
		"${jsonPath('$.title[0]') + 1}":                 "use concat",
		"${jsonPath('$.big') * 2}":                      "number(text)",
		"${lower(jsonPath('$.title'))}":                 "join(list",
		"x${jsonPath('$.obj')}":                         "an object has no text",
		"${formatDateTime(jsonPath('$.date'), 'yyyy')}": "use parseDate",
		"${jsonPath('$.none') > 1}":                     "invalid operation",
	} {
		if got, err := eval(t, text, owl); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, %v, want an error with %q", text, got, err, want)
		}
	}
}
