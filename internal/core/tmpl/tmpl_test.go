package tmpl

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

func sampleVars() Vars {
	return Vars{
		Page:   PageVars{Size: 100, Number: 3, Offset: 200, Token: "*", URL: "https://h/next"},
		Filter: FilterVars{From: "2025-03-01", To: "2025-03-02"},
		Window: WindowVars{
			From: time.Date(2025, 3, 1, 1, 2, 3, 0, time.FixedZone("x", 3600)),
			To:   time.Date(2025, 3, 2, 0, 0, 0, 500_000_000, time.UTC),
		},
		Query: "owl AND mouse", Params: map[string]string{"term": "owl", "sort-by": "date"},
		IDs: []string{"1", "2", "3"}, Now: time.Date(2025, 6, 7, 8, 9, 10, 0, time.UTC),
	}
}

func render(t testing.TB, text string) (string, bool) {
	t.Helper()
	compiled, err := Compile(text)
	if err != nil {
		t.Fatal(err)
	}
	got, present, err := compiled.Render(sampleVars())
	if err != nil {
		t.Fatal(err)
	}
	return got, present
}

func TestRender(t *testing.T) {
	for text, want := range map[string]string{
		"plain":          "plain",
		"":               "",
		"${page.size}":   "100",
		"${page.token}":  "*",
		"a${page.size}b": "a100b",
		"from-index-date:${filter.from},until-index-date:${filter.to}": "from-index-date:2025-03-01,until-index-date:2025-03-02",
		"${page.number}/${page.offset} ${page.url}":                    "3/200 https://h/next",
		"${window.from} ${window.to}":                                  "2025-03-01T00:02:03Z 2025-03-02T00:00:00.5Z",
		"${now()}":                                                     "2025-06-07T08:09:10Z",
		"${query}":                                                     "owl AND mouse",
		"${params.term} ${params['sort-by']} [${params.none}]":         "owl date []",
		"${ join(ids, ',') }":                                          "1,2,3",
		`${coalesce(contact.email, "nobody")}`:                         "nobody",
		`${concat(upper("ab"), trim(" c "), string(page.size + 1))}`:   "ABc101",
		`${page.token | concat('x') | upper()}`:                        "*X",
	} {
		if got, present := render(t, text); got != want || !present {
			t.Errorf("%q: got %q present=%v, want %q", text, got, present, want)
		}
	}
}

func TestAbsentOnlyIfTheWholeIsEmpty(t *testing.T) {
	for text, want := range map[string]bool{
		"${contact.email}":                  false,
		"${params.none}":                    false,
		"${coalesce(contact.email)}":        false,
		"${regexFind(page.token, '[a-z]')}": false,
		"by ${contact.email}":               true,
		"${contact.email}${contact.email}":  true,
		"":                                  true,
	} {
		if got, present := render(t, text); present != want {
			t.Errorf("%q gave %q, present %v", text, got, present)
		}
	}
}

func TestNames(t *testing.T) {
	for text, want := range map[string][]string{
		"plain":                                    nil,
		"${1 + 2}":                                 nil,
		"${page.token}":                            {"page.token"},
		"a${page.size}b${page['token']}":           {"page.size", "page.token"},
		"${page.size > 1 ? filter.from : ''}":      {"page.size", "filter.from"},
		"${if(page.size > 1, filter.from, 'x')}":   {"page.size", "filter.from"},
		"${formatDateTime(now(), 'yyyy')}":         {"now"},
		"${join([params.a, params.b, query], '')}": {"params.a", "params.b", "query"},
		"${!(page.number == 1) ? -page.size : 0}":  {"page.number", "page.size"},
		"${page.size}${page.size + page.size}":     {"page.size"},
	} {
		compiled, err := Compile(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
		} else if got := compiled.Names(); !slices.Equal(got, want) {
			t.Errorf("%q reads %q, want %q", text, got, want)
		}
	}
}

// Everything the structs declare can be named, under the name of its tag, and
// gives the value of that field.
func TestEveryVariableHasItsName(t *testing.T) {
	vars := sampleVars()
	vars.Contact.Email = "me@example.org"
	atom := AtomVars{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", true, true}
	for _, c := range []struct {
		vars     variables
		declared any
		known    map[string]any
	}{{&vars, vars, requestVariables}, {&atom, atom, atomVariables}} {
		fields := map[string]any{}
		leaves("", reflect.ValueOf(c.declared), fields)
		for name, want := range fields {
			got, err := c.vars.variableValue(name)
			if sample, ok := c.known[name]; err != nil || !ok || reflect.TypeOf(sample) != reflect.TypeOf(want) || !reflect.DeepEqual(got, want) {
				t.Errorf("%s is %v, %v, want %v", name, got, err, want)
			}
		}
		if len(fields) != len(c.known) {
			t.Errorf("%d fields, %d names", len(fields), len(c.known))
		}
	}
}

func leaves(prefix string, v reflect.Value, out map[string]any) {
	for i := range v.NumField() {
		name := prefix + v.Type().Field(i).Tag.Get("expr")
		switch f := v.Field(i); {
		case f.Kind() == reflect.Map: // its keys are open
		case f.Kind() == reflect.Struct && f.Type() != reflect.TypeFor[time.Time]():
			leaves(name+".", f, out)
		default:
			out[name] = f.Interface()
		}
	}
}

// One template serves many goroutines; run with -race.
func TestTemplatesAreSharedSafely(t *testing.T) {
	compiled, err := Compile("${concat(page.token, '-', page.number)}")
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			for i := range 200 {
				vars := Vars{Page: PageVars{Token: strings.Repeat("x", worker), Number: i}}
				want := vars.Page.Token + "-" + strconv.Itoa(i)
				if got, _, err := compiled.Render(vars); err != nil || got != want {
					t.Errorf("got %q, %v, want %q", got, err, want)
				}
			}
		})
	}
	group.Wait()
}

func TestClosingBraceAndEscape(t *testing.T) {
	for text, want := range map[string]string{
		`${concat('}', "x")}`:               "}x",
		`${concat("{", '}}', "\"}")}.`:      `{}}"}.`,
		"${concat(`}\\`, '{')}":             `}\{`,
		`${concat('\'}', 'a')}`:             `'}a`,
		`${page.size /* } */}`:              "100",
		"${page.size // }\n}":               "100",
		`${page.size / 2}`:                  "50",
		`$${page.size}`:                     "${page.size}",
		`a$${b} ${page.size} $${c`:          "a${b} 100 ${c",
		`$$${page.size}`:                    "$${page.size}",
		`$ {x} $x }{ ${'$'}{page.size}`:     "$ {x} $x }{ ${page.size}",
		`${concat('$${', "${", '$' + '{')}`: "$${${${",
	} {
		if got, _ := render(t, text); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
	for _, text := range []string{"${", "${page.size", "${concat('}", "a${concat(\"}", "${/* }", "${page.size // }", "${`}", "${{}"} {
		if _, err := Compile(text); err == nil || !strings.Contains(err.Error(), "closing") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestSampleAndMapLiterals(t *testing.T) {
	compiled, err := Compile("a${page.size}b${parseDate('nonsense', 'yyyy')}")
	if err != nil {
		t.Fatal(err)
	}
	upper := compiled.MapLiterals(strings.ToUpper)
	for template, want := range map[*Template]string{compiled: "a?b?", upper: "A?B?"} {
		if got, err := template.Sample("?", AppendText); err != nil || string(got) != want {
			t.Errorf("%q, %v", got, err)
		}
	}
}

// Compile checks a request template against every function.
func Compile(text string) (*Template, error) { return CompileWith(text, Config{}) }
