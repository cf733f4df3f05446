package query

import (
	"slices"
	"strings"
	"testing"
)

func flag(b bool) *bool { return &b }

func text(s string) *string { return &s }

// capabilities holds one field for every kind of limit.
func capabilities() Config {
	return Config{Fields: map[string]Field{
		"title":    {Type: TypeText, Ops: []string{"TERM", "IN"}, NegatableOps: []string{"TERM"}, Matches: []string{"PHRASE", "ANY"}, MinLen: 2, MaxLen: 12, Pattern: `[a-z ]+`, InMax: 2},
		"code":     {Type: TypeKeyword, Ops: []string{"TERM", "IN"}, CaseSensitive: true, InCaseSensitive: true, AllowBlank: true},
		"kind":     {Type: TypeKeyword, Ops: []string{"IN"}},
		"day":      {Type: TypeDate, Ops: []string{"RANGE"}, Not: flag(false), Min: "1900-01-01", Max: "2030-12-31"},
		"changed":  {Type: TypeDateTime, Ops: []string{"RANGE"}, Min: "2000-01-01T00:00:00Z", Max: "2030-01-01T00:00:00Z", ClosedAtInfinity: true},
		"year":     {Type: TypeNumber, Ops: []string{"RANGE"}, Min: "-10.5", Max: "3000", OpenStart: flag(false), OpenEnd: flag(false)},
		"abstract": {Type: TypeText, Ops: []string{"EXISTS"}, Exists: true},
		"note":     {Type: TypeText, Ops: []string{"EXISTS"}},
		"author":   {Type: TypeToken, Ops: []string{"TOKEN"}, TokenKinds: []string{"orcid"}, TokenPattern: `[0-9-]+`},
		"filter":   {Type: TypeKeyword},
	}}
}

func TestCheck(t *testing.T) {
	c := capabilities()
	for text, want := range map[string][]string{
		`phrase(title, "heart")`:                                   nil,
		`phrase(titel, "heart")`:                                   {"E-FIELD-NOT-FOUND@"},
		`phrase(filter, "heart")`:                                  {"E-CAPABILITY-MISSING@"},
		`exists(title)`:                                            {"E-OP-NOT-ALLOWED@"},
		`not since(day, "2020-01-01")`:                             {"E-NOT-UNSUPPORTED@child"},
		`not not since(day, "2020-01-01")`:                         nil,
		`not (phrase(title, "ab") and oneOf(title, "ab", "cd"))`:   {"E-NOT-OP-UNSUPPORTED@child.children[1]"},
		`phrase(title, "  ")`:                                      {"E-TERM-BLANK@value.text"},
		`phrase(code, "")`:                                         nil,
		`phrase(title, " a ")`:                                     {"E-TERM-LEN-MIN@value.text"},
		`phrase(title, "aaaaaaaaaaaaa")`:                           {"E-TERM-LEN-MAX@value.text"},
		`phrase(title, "a1")`:                                      {"E-TERM-PATTERN@value.text"},
		`phrase(title, "ab", "SENSITIVE")`:                         {"E-TERM-CASE-SENSITIVE@value.case"},
		`phrase(code, "ab", "SENSITIVE")`:                          nil,
		`exact(title, "ab")`:                                       {"E-TERM-MATCH-UNSUPPORTED@value.match"},
		`oneOf(title, " ", "")`:                                    {"E-IN-EMPTY@value.values"},
		`oneOf(title, "ab", "AB", "ab ")`:                          {"E-TERM-PATTERN@value.values"},
		`oneOf(title, "ab", "ac", "ad")`:                           {"E-IN-SIZE@value.values"},
		`oneOf(title, "ab", "ab ", " ab", "ac")`:                   nil,
		`oneOf(title, ["ab", "cd"], "SENSITIVE")`:                  {"E-IN-CASE-SENSITIVE@value.case"},
		`oneOf(code, ["ab", "cd"], "SENSITIVE")`:                   nil,
		`phrase(kind, "ab")`:                                       nil, // a list of one
		`exact(kind, "ab")`:                                        {"E-OP-NOT-ALLOWED@"},
		`since(day, 2020)`:                                         {"E-RANGE-KIND@value.rangeType"},
		`since(day, "2020-01-01T00:00:00Z")`:                       {"E-RANGE-KIND@value.rangeType"},
		`range(day, "DATE", "(", ")")`:                             {"E-RANGE-OPEN@value"},
		`between(day, "2020-01-02", "2020-01-01")`:                 {"E-RANGE-EMPTY@value"},
		`range(day, "DATE", "[2020-01-01", "2020-01-01)")`:         {"E-RANGE-EMPTY@value"},
		`between(day, "2020-01-01", "2020-01-01")`:                 nil,
		`range(day, "DATE", "[2020-01-01", "]")`:                   {"E-RANGE-CLOSED-INFINITY@value"},
		`range(changed, "DATETIME", "[2020-01-01T00:00:00Z", "]")`: nil,
		`since(year, 2000)`:                                        {"E-RANGE-OPEN-END@value.to"},
		`before(year, 2000)`:                                       {"E-RANGE-OPEN-START@value.from"},
		`between(day, "1899-12-31", "2031-01-01")`:                 {"E-DATE-MIN@value.from", "E-DATE-MAX@value.to"},
		`range(day, "DATE", "(1899-12-31", "2031-01-01)")`:         nil,
		`since(changed, "1999-12-31T23:59:59.999999Z")`:            {"E-DATETIME-MIN@value.from"},
		`since(changed, "2000-01-01T01:00:00+01:00")`:              nil,
		`before(changed, "2030-01-01T00:00:00.000002Z")`:           {"E-DATETIME-MAX@value.to"},
		`before(changed, "2030-01-01T00:00:00.000001Z")`:           nil,
		`between(year, -10.6, 3000.1)`:                             {"E-NUMBER-MIN@value.from", "E-NUMBER-MAX@value.to"},
		`between(year, -10.5, 3000.0)`:                             nil,
		`missing(abstract)`:                                        nil,
		`exists(note)`:                                             {"E-EXISTS-UNSUPPORTED@"},
		`token(author, "orcid", " ")`:                              {"E-TOKEN-BLANK@value"},
		`token(author, "isni", "1")`:                               {"E-TOKEN-KIND@value.tokenType"},
		`token(author, "ORCID", "x")`:                              {"E-TOKEN-PATTERN@value.tokenValue"},
		`true or phrase(titel, "x")`:                               {"E-FIELD-NOT-FOUND@children[1]"},
	} {
		var got []string
		for _, f := range c.Check(mustParse(t, text), Strict) {
			got = append(got, f.Code+"@"+f.Path)
			if f.Field == "" || f.Message == "" {
				t.Errorf("%s: %+v", text, f)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
}

func TestCheckLenient(t *testing.T) {
	c := capabilities()
	for text, want := range map[string]string{
		`not since(day, "2020-01-01")`: "W-NOT-SKIPPED",
		`not oneOf(title, "ab", "cd")`: "W-NOT-SKIPPED",
		`token(author, "orcid", "")`:   "E-TOKEN-PATTERN",
		`phrase(titel, "heart")`:       "E-FIELD-NOT-FOUND",
	} {
		got := c.Check(mustParse(t, text), Lenient)
		if len(got) != 1 || got[0].Code != want {
			t.Errorf("%s: got %v, want %s", text, got, want)
		}
	}
	if got := c.Check(Expr{Kind: "XOR"}, Strict); len(got) != 1 || got[0].Code != "E-EXPR-INVALID" {
		t.Errorf("got %v", got)
	}
}

func TestValidate(t *testing.T) {
	words := Field{Type: TypeText, Ops: []string{"TERM", "IN"}}
	dates := Field{Type: TypeDate, Ops: []string{"RANGE"}}
	with := func(f Field) Config { return Config{Fields: map[string]Field{"f": f}} }
	rule := func(rules ...Rule) Config {
		c := Config{Fields: map[string]Field{"t": words, "d": dates, "x": {Type: TypeText, Ops: []string{"EXISTS"}, Exists: true, Not: flag(false)}}, Rules: map[string]Rule{}}
		for i, r := range rules {
			c.Rules[string(rune('a'+i))] = r
		}
		return c
	}
	term := Rule{Field: "t", Op: OpTerm, Template: "${v}"}
	for want, c := range map[string]Config{
		"":                                 rule(term, Rule{Field: "t", Op: OpTerm, Match: MatchPhrase, Template: "${quoted}"}, Rule{Field: "t", Op: OpIn, ItemTemplate: "${quoted}"}),
		"fields.f.type: is missing":        with(Field{}),
		`fields.f.type: "BLOB" is unknown`: with(Field{Type: "BLOB"}),
		`fields.f.ops: "LIKE" is unknown: use TERM`:        with(Field{Type: TypeText, Ops: []string{"LIKE"}}),
		"fields.f.negatableOps: IN is not in ops":          with(Field{Type: TypeText, Ops: []string{"TERM"}, NegatableOps: []string{"IN"}}),
		"fields.f.minLen: 3 is more than maxLen 2":         with(Field{Type: TypeText, Ops: []string{"TERM"}, MinLen: 3, MaxLen: 2}),
		"fields.f.pattern: error parsing regexp":           with(Field{Type: TypeText, Ops: []string{"TERM"}, Pattern: `(?=x)`}),
		"fields.f.tokenPattern: error parsing regexp":      with(Field{Type: TypeToken, Ops: []string{"TOKEN"}, TokenPattern: `[`}),
		"fields.f.tokenKinds: \"ORCID\"":                   with(Field{Type: TypeToken, Ops: []string{"TOKEN"}, TokenKinds: []string{"ORCID"}}),
		"fields.f.range: NUMBER does not fit type DATE":    with(Field{Type: TypeDate, Ops: []string{"RANGE"}, Range: RangeNumber}),
		"fields.f.range: ops and range must agree":         with(Field{Type: TypeText, Ops: []string{"RANGE"}}),
		"fields.f.min: 2021-01-01 is more than max":        with(Field{Type: TypeDate, Ops: []string{"RANGE"}, Min: "2021-01-01", Max: "2020-01-01"}),
		`fields.f.max: "soon" is not a date`:               with(Field{Type: TypeDate, Ops: []string{"RANGE"}, Max: "soon"}),
		"fields.f.whole: only ranges of numbers":           with(Field{Type: TypeDate, Ops: []string{"RANGE"}, Whole: true}),
		"fields.f.exists: ops and exists must agree":       with(Field{Type: TypeText, Ops: []string{"EXISTS"}}),
		"fields.Bad: a field key":                          {Fields: map[string]Field{"Bad": words}},
		`rules.a.field: "tt" is not declared`:              rule(Rule{Field: "tt", Op: OpTerm, Template: "${v}"}),
		"rules.a.op: field d does not take TERM":           rule(Rule{Field: "d", Op: OpTerm, Template: "${v}"}),
		"rules.a.template: is missing":                     rule(Rule{Field: "t", Op: OpTerm}),
		`rules.a.template: template "${w}"`:                rule(Rule{Field: "t", Op: OpTerm, Template: "${w}"}),
		"rules.a.template: does not use ${v} or ${quoted}": rule(Rule{Field: "t", Op: OpTerm, Template: "all"}),
		"rules.a.template: does not use ${from} or ${to}":  rule(Rule{Field: "d", Op: OpRange, Template: "all"}),
		"rules.a.itemTemplate: an IN rule needs":           rule(Rule{Field: "t", Op: OpIn}),
		"rules.a.template: does not use ${items}":          rule(Rule{Field: "t", Op: OpIn, ItemTemplate: "${v}", Template: "${field}"}),
		"rules.a.itemTemplate: does not use ${v}":          rule(Rule{Field: "t", Op: OpIn, ItemTemplate: "x"}),
		"rules.a.itemTemplate: itemTemplate and joiner":    rule(Rule{Field: "t", Op: OpTerm, Template: "${v}", ItemTemplate: "${v}"}),
		"rules.a.params: a rule that emits PARAMS":         rule(Rule{Field: "d", Op: OpRange, Emit: EmitParams}),
		"rules.a.params.query: query is the key":           rule(Rule{Field: "d", Op: OpRange, Emit: EmitParams, Params: map[string]string{"query": "${from}${to}"}}),
		"rules.a.params: does not use ${from}":             rule(Rule{Field: "d", Op: OpRange, Emit: EmitParams, Params: map[string]string{"datetype": "edat"}}),
		"rules.a.match: only TERM":                         rule(Rule{Field: "t", Op: OpIn, ItemTemplate: "${v}", Match: MatchAny}),
		"rules.a.valueType: STRING does not fit RANGE":     rule(Rule{Field: "d", Op: OpRange, Template: "${from}", ValueType: ValueString}),
		"rules.a.negated: field x has not: false":          rule(Rule{Field: "x", Op: OpExists, Template: "x", Negated: flag(true)}),
		"rules.a.format: \"yyyy\" does not write MM":       rule(Rule{Field: "d", Op: OpRange, Template: "${from}${to}", Format: "yyyy"}),
		"rules.a.bounds: is for RANGE only":                rule(Rule{Field: "t", Op: OpTerm, Template: "${v}", Bounds: HalfOpenBounds}),
		"rules.a.openTo: is for RANGE only":                rule(Rule{Field: "t", Op: OpTerm, Template: "${v}", OpenTo: text("*")}),
		"rules.a.openTo: the rule does not use ${to}":      rule(Rule{Field: "d", Op: OpRange, Template: "${from}", OpenTo: text("*")}),
		"rules.a.openFrom: the rule does not use ${from}":  rule(Rule{Field: "d", Op: OpRange, Template: "${to}", OpenFrom: text("")}),
		"rules.a.format: \"dd MMM yyyy\" has \"MMM\"":      rule(Rule{Field: "d", Op: OpRange, Template: "${from}${to}", Format: "dd MMM yyyy"}),
		"rules.b: fits the same conditions as rules.a":     rule(term, term),
		"rules.b: fits the same conditions as rules.a and": rule(Rule{Field: "t", Op: OpTerm, Match: MatchAny, Template: "${v}"}, Rule{Field: "t", Op: OpTerm, Negated: flag(true), Template: "${v}"}),
		"where: E-FIELD-NOT-FOUND at children[0]":          {Where: And(Phrase("nope", "x"), All())},
	} {
		err := c.WithDefaults().Validate()
		if want == "" {
			if err != nil {
				t.Error(err)
			}
			continue
		}
		if err == nil || !slices.ContainsFunc(strings.Split(err.Error(), "\n"), func(line string) bool { return strings.HasPrefix(line, want) }) {
			t.Errorf("got %v, want a line that starts with %q", err, want)
		}
	}
}

func TestValidateReportsEverything(t *testing.T) {
	c := Config{
		Fields: map[string]Field{"a": {}, "b": {Type: TypeText, Ops: []string{"TERM"}, Pattern: "["}},
		Rules:  map[string]Rule{"r": {Field: "c", Op: OpTerm}},
		Where:  Phrase("zzz", "x"),
	}
	err := c.WithDefaults().Validate()
	if err == nil || len(strings.Split(err.Error(), "\n")) != 5 {
		t.Errorf("got %v", err)
	}
}

func TestTransform(t *testing.T) {
	for _, tc := range []struct{ code, value, want string }{
		{"", "a||b", "a||b"}, {"IDENTITY", "A", "A"}, {"LOWER", "A", "a"}, {"UPPER", "a", "A"},
		{"LIST_JOIN", "a||b||c", "a,b,c"}, {"FILTER_JOIN", "x:1||y:2", "x:1,y:2"},
	} {
		if got, err := Transform(tc.code, tc.value); err != nil || got != tc.want {
			t.Errorf("%s(%s): got %q, %v", tc.code, tc.value, got, err)
		}
	}
	for code, want := range map[string]string{"PUBMED_DATETYPE": "is unknown: use FILTER_JOIN", "TO_EXCLUSIVE_MINUS_1D": "filter.to: INCLUSIVE or EXCLUSIVE, or with bounds"} {
		if _, err := Transform(code, "2024-03-01"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", code, err, want)
		}
		if err := CheckTransform(code); err == nil || slices.Contains(Transforms(), code) {
			t.Errorf("%s: a source may use it", code)
		}
	}
	for _, code := range Transforms() {
		if _, err := Transform(code, "2024-03-01"); err != nil || CheckTransform(code) != nil {
			t.Error(err, CheckTransform(code))
		}
	}
}
