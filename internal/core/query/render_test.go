package query

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/expr-lang/expr"
	"pgregory.net/rapid"
)

// pubmed, epmc and crossref are the three ways in which sources take conditions:
// text and parameters, text alone, and one parameter that holds several filters.
func pubmed() Config {
	return Config{
		Fields: map[string]Field{
			"entrez_date":      {Type: TypeDate, Ops: []string{"RANGE"}, Not: flag(false), Min: "1900-01-01"},
			"publication_date": {Type: TypeDate, Ops: []string{"RANGE"}, Not: flag(false), Min: "1900-01-01"},
			"tiab":             {Type: TypeText, Ops: []string{"TERM", "IN"}, Matches: []string{"PHRASE", "ANY"}, MinLen: 1, InMax: 1000},
		},
		Rules: map[string]Rule{
			"entrez":      {Field: "entrez_date", Op: OpRange, ValueType: ValueDate, Emit: EmitParams, OpenTo: text(""), Params: map[string]string{"from": "${from}", "to": "${to}", "datetype": "edat"}},
			"publication": {Field: "publication_date", Op: OpRange, Emit: EmitParams, Format: "yyyy/MM/dd", Params: map[string]string{"from": "${from}", "to": "${to}", "datetype": "pdat"}},
			"any":         {Field: "tiab", Op: OpTerm, Template: "${v}[TIAB]"},
			"phrase":      {Field: "tiab", Op: OpTerm, Match: MatchPhrase, Template: "${quoted}[TIAB]"},
			"list":        {Field: "tiab", Op: OpIn, ItemTemplate: "${quoted}[TIAB]", Group: true},
		},
	}
}

func epmc() Config {
	return Config{
		Fields: map[string]Field{
			"publication_date": {Type: TypeDate, Ops: []string{"RANGE"}},
			"created":          {Type: TypeDateTime, Ops: []string{"RANGE"}},
			"text":             {Type: TypeText, Ops: []string{"TERM", "IN"}},
			"year":             {Type: TypeNumber, Ops: []string{"RANGE"}, Whole: true},
			"score":            {Type: TypeNumber, Ops: []string{"RANGE"}},
			"abstract":         {Type: TypeText, Ops: []string{"EXISTS"}, Exists: true},
			"pdf":              {Type: TypeText, Ops: []string{"EXISTS"}, Exists: true, Not: flag(false)},
			"link":             {Type: TypeText, Ops: []string{"EXISTS"}, Exists: true},
			"author":           {Type: TypeToken, Ops: []string{"TOKEN"}},
		},
		Rules: map[string]Rule{
			"date":     {Field: "publication_date", Op: OpRange, Template: "FIRST_PDATE:[${from} TO ${to}]"},
			"created":  {Field: "created", Op: OpRange, Precision: Day, Bounds: HalfOpenBounds, Template: "CREATED:[${from} TO ${to}}"},
			"any":      {Field: "text", Op: OpTerm, Match: MatchAny, Template: "${v}"},
			"phrase":   {Field: "text", Op: OpTerm, Match: MatchPhrase, Template: "${quoted}"},
			"list":     {Field: "text", Op: OpIn, ItemTemplate: "${quoted}"},
			"year":     {Field: "year", Op: OpRange, Template: "YEAR:[${from} TO ${to}]", OpenFrom: text("*"), OpenTo: text("*")},
			"score":    {Field: "score", Op: OpRange, Template: "SCORE:[${from} TO ${to}]", OpenTo: text("")},
			"abstract": {Field: "abstract", Op: OpExists, Template: "HAS_ABSTRACT:${exists}"},
			"pdf":      {Field: "pdf", Op: OpExists, Template: "HAS_PDF:y"},
			"link":     {Field: "link", Op: OpExists, Template: "HAS_LINK:y"},
			"nolink":   {Field: "link", Op: OpExists, Negated: flag(true), Template: "HAS_LINK:n"},
			"author":   {Field: "author", Op: OpToken, Template: "${upper(type)}:${quoted}"},
		},
	}
}

func crossref() Config {
	return Config{
		Fields: map[string]Field{
			"publication_date": {Type: TypeDate, Ops: []string{"RANGE"}},
			"type":             {Type: TypeKeyword, Ops: []string{"IN"}, Cardinality: Single},
			"text":             {Type: TypeText, Ops: []string{"TERM"}},
			"filter":           {Type: TypeKeyword, Cardinality: Multi},
		},
		Rules: map[string]Rule{
			"date": {Field: "publication_date", Op: OpRange, Emit: EmitParams, Params: map[string]string{"filter": "from-pub-date:${from},until-pub-date:${to}"}},
			"type": {Field: "type", Op: OpIn, Emit: EmitParams, ItemTemplate: "type:${v}", Joiner: ",", Params: map[string]string{"filter": "${items}"}},
			"text": {Field: "text", Op: OpTerm, Template: "${quoted}"},
		},
	}
}

func rendered(r Rendered) string {
	parts := []string{r.Query}
	for _, key := range slices.Sorted(maps.Keys(r.Params)) {
		parts = append(parts, key+"="+r.Params[key])
	}
	return strings.Join(parts, " | ")
}

func codes(list []Finding) string {
	var out []string
	for _, f := range list {
		out = append(out, f.Code)
	}
	return strings.Join(out, " ")
}

func TestRender(t *testing.T) {
	for _, tc := range []struct {
		name  string
		cfg   Config
		exprs map[string]string // to the text, or to codes in front of a !
	}{
		{"pubmed", pubmed(), map[string]string{
			`phrase(tiab, "heart failure") and between(entrez_date, "2023-01-01", "2023-12-31")`: `"heart failure"[TIAB] | datetype=edat | from=2023-01-01 | to=2023-12-31`,
			// an exclusive end is not asked for at an inclusive upstream
			`range(entrez_date, "DATE", "[2023-01-01", "2023-12-31)")`:      ` | datetype=edat | from=2023-01-01 | to=2023-12-30`,
			`range(publication_date, "DATE", "(2023-01-01", "2023-02-01)")`: ` | datetype=pdat | from=2023/01/02 | to=2023/01/31`,
			`since(entrez_date, "2023-01-01")`:                              ` | datetype=edat | from=2023-01-01`,
			`before(entrez_date, "2023-01-01")`:                             `E-RANGE-OPEN-START!`, // said for the other end only
			`before(publication_date, "2023-01-01")`:                        `E-RANGE-OPEN-START!`,
			// lists render
			`oneOf(tiab, "a", "b")`:                        `("a"[TIAB] OR "b"[TIAB])`,
			`oneOf(tiab, "a", "b") and anyWord(tiab, "c")`: `("a"[TIAB] OR "b"[TIAB]) AND c[TIAB]`,
			`not oneOf(tiab, "a", "b")`:                    `NOT ("a"[TIAB] OR "b"[TIAB])`,
			`oneOf(tiab, "a")`:                             `"a"[TIAB]`,
			// the more specific rule wins
			`phrase(tiab, "x")`:  `"x"[TIAB]`,
			`anyWord(tiab, "x")`: `x[TIAB]`,
			// NOT over one condition stays
			`not anyWord(tiab, "x")`:                        `NOT (x[TIAB])`,
			`anyWord(tiab, "a") and not anyWord(tiab, "b")`: `a[TIAB] AND NOT (b[TIAB])`,
			// NOT over And(Or, Or) keeps its own parentheses
			`not ((anyWord(tiab, "a") or anyWord(tiab, "b")) and (anyWord(tiab, "c") or anyWord(tiab, "d")))`: `NOT ((a[TIAB] OR b[TIAB]) AND (c[TIAB] OR d[TIAB]))`,
			`phrase(tiab, "a\"b\\")`:                                 `"a\"b\\"[TIAB]`,
			`exact(tiab, "x")`:                                       `E-TERM-MATCH-UNSUPPORTED!`,
			`not since(entrez_date, "2023-01-01")`:                   `E-NOT-UNSUPPORTED!`,
			`since(entrez_date, "2023-01-01") or anyWord(tiab, "x")`: `E-PARAMS-UNDER-OR!`,
			`since(entrez_date, "2023-01-01") and between(publication_date, "2023-01-01", "2023-02-01")`: `E-PARAM-CONFLICT E-PARAM-CONFLICT!`, // datetype and from
			`true`:  ``,
			`false`: `E-CONST-FALSE!`,
			`anyWord(tiab, "x") and oneOf(tiab, " ")`: `E-IN-EMPTY!`,
		}},
		{"epmc", epmc(), map[string]string{
			`anyWord(text, "cancer") and between(publication_date, "2024-01-01", "2024-06-01")`:         `cancer AND FIRST_PDATE:[2024-01-01 TO 2024-06-01]`,
			`anyWord(text, "cancer") and range(publication_date, "DATE", "[2024-01-01", "2024-06-01)")`: `cancer AND FIRST_PDATE:[2024-01-01 TO 2024-05-31]`,
			`not between(publication_date, "2024-01-01", "2024-06-01") or phrase(text, "x")`:            `NOT (FIRST_PDATE:[2024-01-01 TO 2024-06-01]) OR "x"`,
			// a bare list gets its parentheses from the structure
			`oneOf(text, "a", "b")`:                                             `"a" OR "b"`,
			`oneOf(text, "a", "b") and anyWord(text, "c")`:                      `("a" OR "b") AND c`,
			`not oneOf(text, "a", "b")`:                                         `NOT ("a" OR "b")`,
			`anyWord(text, "a") or anyWord(text, "b") and anyWord(text, "c")`:   `a OR (b AND c)`,
			`(anyWord(text, "a") or anyWord(text, "b")) and anyWord(text, "c")`: `(a OR b) AND c`,
			`not (anyWord(text, "a") and anyWord(text, "b"))`:                   `NOT (a AND b)`,
			// a range without a bound is written as the rule says, or not at all
			`since(publication_date, "2020-01-01")`:      `E-RANGE-OPEN-END!`,
			`not before(publication_date, "2020-01-01")`: `E-RANGE-OPEN-START!`,
			`since(year, 2020)`:                          `YEAR:[2020 TO *]`,
			`before(year, 2020)`:                         `YEAR:[* TO 2019]`,
			`not since(year, 2020)`:                      `NOT (YEAR:[2020 TO *])`,
			`since(score, 0.5)`:                          `SCORE:[0.5 TO ]`,
			`before(score, 0.5)`:                         `E-RANGE-OPEN-START!`,
			// whole numbers have neighbours, others do not
			`between(year, 2020, 2022)`:                  `YEAR:[2020 TO 2022]`,
			`range(year, "NUMBER", "(2020", "2022.50)")`: `YEAR:[2021 TO 2022]`,
			`range(year, "NUMBER", "(-1.5", "-1)")`:      `YEAR:[-1 TO -2]`,
			`between(score, 0.50, 1)`:                    `SCORE:[0.5 TO 1]`,
			`range(score, "NUMBER", "[0.5", "1)")`:       `SCORE:[0.5 TO 1] W-RANGE-WIDENED`,
			`not range(score, "NUMBER", "[0.5", "1)")`:   `E-RANGE-INEXACT!`,
			// instants at an upstream that knows days, with an exclusive end
			`range(created, "DATETIME", "[2024-01-01T00:00:00Z", "2024-01-03T00:00:00Z)")`: `CREATED:[2024-01-01 TO 2024-01-03}`,
			`between(created, "2024-01-01T00:00:00Z", "2024-01-03T00:00:00Z")`:             `CREATED:[2024-01-01 TO 2024-01-04} W-RANGE-WIDENED`,
			`not between(created, "2024-01-01T00:00:00Z", "2024-01-03T00:00:00Z")`:         `E-RANGE-INEXACT!`,
			`exists(abstract)`:            `HAS_ABSTRACT:true`,
			`missing(abstract)`:           `HAS_ABSTRACT:false`,
			`not exists(abstract)`:        `HAS_ABSTRACT:false`,
			`not missing(abstract)`:       `HAS_ABSTRACT:true`,
			`missing(pdf)`:                `E-NOT-UNSUPPORTED!`,
			`exists(link)`:                `HAS_LINK:y`,
			`missing(link)`:               `HAS_LINK:n`,
			`not missing(link)`:           `HAS_LINK:y`,
			`token(author, "Orcid", "1")`: `ORCID:"1"`,
			`exact(text, "x")`:            `E-RENDER-RULE-MISSING!`, // not by the rule for phrases
		}},
		{"crossref", crossref(), map[string]string{
			`phrase(text, "machine learning") and between(publication_date, "2022-01-01", "2022-12-31")`: `"machine learning" | filter=from-pub-date:2022-01-01,until-pub-date:2022-12-31`,
			`oneOf(type, "a", "b") and between(publication_date, "2022-01-01", "2022-12-31")`:            ` | filter=type:a,type:b||from-pub-date:2022-01-01,until-pub-date:2022-12-31`,
			`oneOf(type, "a")`:                              ` | filter=type:a`,
			`phrase(type, "a")`:                             ` | filter=type:a`,
			`not oneOf(type, "a")`:                          `E-PARAMS-NEGATED!`,
			`oneOf(type, "a||b", "c") and oneOf(type, "d")`: `E-PARAM-SEPARATOR!`,
		}},
	} {
		p, err := Compile(tc.cfg, DateFilter{})
		if err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		for text, want := range tc.exprs {
			out, findings := p.Render(mustParse(t, text))
			got := rendered(out)
			switch {
			case (&report{findings}).hasErrors():
				got = codes(findings) + "!"
			case len(findings) > 0:
				got += " " + codes(findings)
			}
			if got != want {
				t.Errorf("%s: %s:\ngot  %s\nwant %s\n%v", tc.name, text, got, want, findings)
			}
		}
	}
}

func TestRenderWindow(t *testing.T) {
	slice := span(t, "2025-03-01T00:00:00Z", "2025-03-02T00:00:00Z")
	filter := DateFilter{Field: "entrez_date"}
	p, err := Compile(pubmed(), filter)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		filter DateFilter
		want   string
	}{
		{filter, ` | datetype=edat | from=2025-03-01 | to=2025-03-01`},
		{DateFilter{Field: "entrez_date", To: Exclusive}, ` | datetype=edat | from=2025-03-01 | to=2025-03-02`},
		{DateFilter{Field: "entrez_date", Zone: "America/New_York", Format: "yyyy/MM/dd"}, ` | datetype=edat | from=2025/02/28 | to=2025/03/01`},
		{DateFilter{Field: "entrez_date", Precision: Month}, ` | datetype=edat | from=2025-03 | to=2025-03`},
	} {
		p, err := Compile(pubmed(), tc.filter)
		if err != nil {
			t.Fatal(err)
		}
		out, findings := p.Render(Localise(Expr{}, "entrez_date", slice))
		if rendered(out) != tc.want || len(findings) > 0 || !out.Window {
			t.Errorf("%+v: got %s %v, want %s", tc.filter, rendered(out), findings, tc.want)
		}
	}
	early := span(t, "1899-12-31T00:00:00Z", "1900-01-02T00:00:00Z")
	if _, findings := p.Render(Range("entrez_date", early)); codes(findings) != "E-DATE-MIN" {
		t.Errorf("got %v", findings)
	}
	// Without a rule the request's own templates write the window, but only one.
	p, err = Compile(Config{Fields: map[string]Field{"t": {Type: TypeText, Ops: []string{"TERM"}}}, Rules: map[string]Rule{"t": {Field: "t", Op: OpTerm, Template: "${v}"}}}, DateFilter{Field: "indexed"})
	if err != nil {
		t.Fatal(err)
	}
	out, findings := p.Render(Localise(Phrase("t", "x"), "indexed", slice))
	if out.Query != "x" || out.Window || len(findings) > 0 {
		t.Errorf("got %+v %v", out, findings)
	}
	for _, e := range []Expr{
		And(Range("indexed", slice), Range("indexed", early)), Or(Phrase("t", "x"), Range("indexed", slice)), Not(Range("indexed", slice)),
	} {
		if out, findings := p.Render(e); codes(findings) != "E-RENDER-RULE-MISSING" || out.Query != "" {
			t.Errorf("%s: got %v", e, findings)
		}
	}
}

// Whoever asks whether the window is part of what rules write must not be
// misled by a rule that never fits it.
func TestWhoWritesTheWindow(t *testing.T) {
	slice := span(t, "2025-03-01T00:00:00Z", "2025-03-02T00:00:00Z")
	words := Rule{Field: "w", Op: OpTerm, Template: "${v}"}
	other := `phrase(w, "x") and between(other, "2020-01-01", "2020-02-01")`
	for _, tc := range []struct {
		name   string
		filter DateFilter
		rules  map[string]Rule
		where  string
		want   bool
	}{
		{"no rules at all", DateFilter{}, nil, ``, false},
		{"no rule for the field", DateFilter{}, map[string]Rule{"w": words}, `phrase(w, "x")`, false},
		{"query text", DateFilter{}, map[string]Rule{"d": {Template: "${from}-${to}"}}, ``, true},
		{"parameters", DateFilter{}, map[string]Rule{"d": {Emit: EmitParams, Params: map[string]string{"f": "${from}-${to}"}}}, ``, true},
		{"dates for days", DateFilter{}, map[string]Rule{"d": {ValueType: ValueDate, Template: "${from}-${to}"}}, ``, true},
		{"dates for seconds", DateFilter{Precision: Second}, map[string]Rule{"d": {ValueType: ValueDate, Template: "${from}-${to}"}}, ``, false},
		{"instants for seconds", DateFilter{Precision: Second}, map[string]Rule{"d": {ValueType: ValueDateTime, Template: "${from}-${to}"}}, ``, true},
		{"instants for days", DateFilter{}, map[string]Rule{"d": {ValueType: ValueDateTime, Template: "${from}-${to}"}}, ``, false},
		{"for the negation only", DateFilter{}, map[string]Rule{"d": {Negated: flag(true), Template: "NOT ${from}-${to}"}}, ``, false},
		{"for the negation, which is asked", DateFilter{}, map[string]Rule{"d": {Negated: flag(true), Template: "NOT ${from}-${to}"}}, `not between(d, "2025-03-01T00:00:00Z", "2025-03-01T23:59:59.999999Z")`, false},
		{"never for the negation", DateFilter{}, map[string]Rule{"d": {Negated: flag(false), Template: "${from}-${to}"}}, ``, true},
		{"for another date", DateFilter{}, map[string]Rule{"w": words, "o": {Field: "other", Template: "${from}-${to}"}}, other, false},
	} {
		dates := Field{Type: TypeDateTime, Ops: []string{"RANGE"}}
		cfg := Config{Rules: map[string]Rule{}, Fields: map[string]Field{"d": dates, "other": {Type: TypeDate, Ops: []string{"RANGE"}}, "w": {Type: TypeText, Ops: []string{"TERM"}}}}
		for name, r := range tc.rules {
			if r.Op == "" {
				r.Op = OpRange
			}
			if r.Field == "" {
				r.Field = "d"
			}
			cfg.Rules[name] = r
		}
		if tc.rules == nil {
			cfg = Config{}
		}
		cfg.Where = mustParse(t, tc.where)
		tc.filter.Field = "d"
		p, err := Compile(cfg, tc.filter)
		if err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		out, findings := p.Render(Localise(cfg.Where, "d", slice))
		if out.Window != tc.want || p.WritesWindow() != tc.want || len(findings) > 0 {
			t.Errorf("%s: rendered %+v %v, WritesWindow %v, want %v", tc.name, out, findings, p.WritesWindow(), tc.want)
		}
	}
	p, err := Compile(pubmed(), DateFilter{})
	if err != nil || p.WritesWindow() {
		t.Errorf("without a filter there is no window to write: %v", err)
	}
}

// The more specific rule wins whatever the rules are called.
func TestRuleNamesDoNotMatter(t *testing.T) {
	for _, names := range [][2]string{{"a", "b"}, {"b", "a"}} {
		p, err := Compile(Config{
			Fields: map[string]Field{"f": {Type: TypeText, Ops: []string{"TERM"}}},
			Rules: map[string]Rule{
				names[0]: {Field: "f", Op: OpTerm, Template: "${v}"},
				names[1]: {Field: "f", Op: OpTerm, Match: MatchPhrase, Template: "${quoted}"},
			},
		}, DateFilter{})
		if err != nil {
			t.Fatal(err)
		}
		if out, _ := p.Render(Phrase("f", "x")); out.Query != `"x"` {
			t.Errorf("%v: got %s", names, out.Query)
		}
	}
}

// A window under NOT that the filter can only widen would lose items.
func TestRenderNegatedWindow(t *testing.T) {
	cfg := epmc()
	p, err := Compile(cfg, DateFilter{Field: "publication_date"})
	if err != nil {
		t.Fatal(err)
	}
	whole, part := span(t, "2025-03-01T00:00:00Z", "2025-03-02T00:00:00Z"), span(t, "2025-03-01T00:00:01Z", "2025-03-02T00:00:00Z")
	if out, findings := p.Render(Not(Range("publication_date", whole))); out.Query != "NOT (FIRST_PDATE:[2025-03-01 TO 2025-03-01])" || len(findings) > 0 {
		t.Errorf("got %+v %v", out, findings)
	}
	if out, findings := p.Render(Range("publication_date", part)); out.Query != "FIRST_PDATE:[2025-03-01 TO 2025-03-01]" || len(findings) > 0 {
		t.Errorf("got %+v %v", out, findings)
	}
	if _, findings := p.Render(Not(Range("publication_date", part))); codes(findings) != "E-RANGE-INEXACT" {
		t.Errorf("got %v", findings)
	}
}

func TestCompileTriesTheConditions(t *testing.T) {
	for want, cfg := range map[string]func(*Config){
		"where: E-RENDER-RULE-MISSING": func(c *Config) {
			c.Where = Is(Atom{Field: "text", Op: OpTerm, Term: Term{"x", MatchExact, Insensitive}})
		},
		"where: E-CONST-FALSE":   func(c *Config) { c.Where = None() },
		"where: E-QUERY-LEN-MAX": func(c *Config) { c.Where, c.MaxLength = Phrase("text", "long text"), 5 },
		"where: E-PARAM-COUNT-LIMIT": func(c *Config) {
			c.Rules["x"] = Rule{Field: "author", Op: OpToken, Emit: EmitParams, Params: map[string]string{"a": "${v}", "b": "${v}"}}
			c.Where, c.MaxParams = mustParse(t, `phrase(text, "x") and token(author, "orcid", "1")`), 2
		},
		"where: E-RANGE-BOUND-UNUSED": func(c *Config) {
			c.Rules["score"] = Rule{Field: "score", Op: OpRange, Template: "${from}"}
			c.Where = mustParse(t, "between(score, 1, 2)")
		},
		"rules.date.openTo": func(c *Config) { c.Where = mustParse(t, `since(publication_date, "2020-01-01")`) },
		"where: E-RENDER-EMPTY": func(c *Config) {
			c.Rules["phrase"] = Rule{Field: "text", Op: OpTerm, Match: MatchPhrase, Template: `${substring(v, 0, 0)}`}
			c.Where = Phrase("text", "x")
		},
		"rules.score.op": func(c *Config) { c.Rules["score"] = Rule{Field: "score", Op: OpTerm, Template: "${v}"} },
	} {
		c := epmc()
		cfg(&c)
		if _, err := Compile(c, DateFilter{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if _, err := Compile(epmc(), DateFilter{Field: "x", Zone: "Mars"}); err == nil || !strings.HasPrefix(err.Error(), "filter.zone") {
		t.Errorf("got %v", err)
	}
}

func TestPreview(t *testing.T) {
	p, err := Compile(pubmed(), DateFilter{})
	if err != nil {
		t.Fatal(err)
	}
	out, findings := p.Preview(mustParse(t, `anyWord(tiab, "a") and not since(entrez_date, "2023-01-01")`))
	if out.Query != "a[TIAB]" || codes(findings) != "W-NOT-SKIPPED" {
		t.Errorf("got %+v %v", out, findings)
	}
	if _, findings := p.Preview(None()); codes(findings) != "W-CONST-FALSE" {
		t.Errorf("got %v", findings)
	}
	delete(p.config.Rules, "any")
	p, err = Compile(p.config, DateFilter{})
	if err != nil {
		t.Fatal(err)
	}
	out, findings = p.Preview(mustParse(t, `anyWord(tiab, "a") and phrase(tiab, "b")`))
	if out.Query != `"b"[TIAB]` || codes(findings) != "W-RENDER-RULE-MISSING" {
		t.Errorf("got %+v %v", out, findings)
	}
}

// Whatever the tree, the text means what the tree means. The text is read by
// another parser, with the usual precedence of NOT, AND and OR.
func TestRenderedTextMeansTheTree(t *testing.T) {
	names := []string{"a", "b", "c", "d"}
	for _, group := range []bool{false, true} {
		p, err := Compile(Config{
			Fields: map[string]Field{"f": {Type: TypeText, Ops: []string{"TERM", "IN"}}},
			Rules: map[string]Rule{
				"term": {Field: "f", Op: OpTerm, Template: "${v}"}, "list": {Field: "f", Op: OpIn, ItemTemplate: "${v}", Group: group},
				"never": {Field: "f", Op: OpTerm, Match: MatchExact, Negated: flag(true), Template: "(false == ${v})"},
			},
		}, DateFilter{})
		if err != nil {
			t.Fatal(err)
		}
		rapid.Check(t, func(t *rapid.T) {
			e := drawWords(t, names, 4)
			out, findings := p.Render(e)
			if codes(findings) == "E-CONST-FALSE" {
				return
			}
			if len(findings) > 0 {
				t.Fatalf("%s: %v", e, findings)
			}
			text := strings.NewReplacer(" AND ", " and ", " OR ", " or ", "NOT ", "not ").Replace(out.Query)
			if text == "" {
				text = "true"
			}
			for world := range 16 {
				env := map[string]any{}
				for i, name := range names {
					env[name] = world>>i&1 == 1
				}
				got, err := expr.Eval(text, env)
				if err != nil {
					t.Fatalf("%s: %v", text, err)
				}
				if got != worded(e, env) {
					t.Fatalf("%s renders as %s, which means something else", e, out.Query)
				}
			}
		})
	}
}

func drawWords(t *rapid.T, names []string, depth int) Expr {
	word := rapid.SampledFrom(names)
	most := 5
	if depth == 0 {
		most = 2
	}
	var children []Expr
	kind := rapid.IntRange(0, most).Draw(t, "kind")
	if kind > 2 {
		for range rapid.IntRange(1, 3).Draw(t, "children") {
			children = append(children, drawWords(t, names, depth-1))
		}
	}
	switch kind {
	case 0:
		return Phrase("f", word.Draw(t, "word"))
	case 1:
		return OneOf("f", rapid.SliceOfN(word, 1, 3).Draw(t, "words")...)
	case 2:
		return Is(Atom{Field: "f", Op: OpTerm, Term: Term{word.Draw(t, "word"), MatchExact, Insensitive}})
	case 3:
		return Not(children[0])
	case 4:
		return And(children...)
	}
	return Or(children...)
}

func worded(e Expr, env map[string]any) bool {
	switch e.Kind {
	case KindNot:
		return !worded(e.Children[0], env)
	case KindAnd:
		return !slices.ContainsFunc(e.Children, func(c Expr) bool { return !worded(c, env) })
	case KindOr:
		return slices.ContainsFunc(e.Children, func(c Expr) bool { return worded(c, env) })
	}
	if e.Atom.Op == OpIn {
		return slices.ContainsFunc(e.Atom.In.Values, func(v string) bool { return env[v].(bool) })
	}
	return env[e.Atom.Term.Text].(bool)
}
