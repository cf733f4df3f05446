package query

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestText(t *testing.T) {
	for text, want := range map[string]string{
		`phrase(title, "heart failure") and not oneOf(type, "editorial", "letter") and between(year, 2020, 2022) and exists(abstract)`: "",
		`exists(a) and exists(b) or exists(c)`:                 `(exists(a) and exists(b)) or exists(c)`,
		`exists(a) and (exists(b) or exists(c))`:               "",
		`(exists(a) and exists(b)) and exists(c)`:              `exists(a) and exists(b) and exists(c)`,
		`exists(a) && !exists(b) || missing(c)`:                `(exists(a) and not exists(b)) or missing(c)`,
		`not (exists(a) or exists(b))`:                         "",
		`not not exists(a)`:                                    "",
		`allOf()`:                                              "",
		`anyOf(exists(a))`:                                     "",
		`exact(title, "a", "SENSITIVE")`:                       "",
		`anyWord(title, 'a "b"')`:                              `anyWord(title, "a \"b\"")`,
		`oneOf(type, ["a", "b"], "SENSITIVE")`:                 "",
		`oneOf(type, ["a"])`:                                   `oneOf(type, "a")`,
		`since(at, "2025-03-01T00:00:00Z")`:                    "",
		`before(day, "2025-03-01")`:                            "",
		`range(day, "DATE", "(2025-03-01", "2025-04-01]")`:     "",
		`range(n, "NUMBER", "(", "5]")`:                        "",
		`range(day, "DATE", "[2025-03-01", "2025-04-01]")`:     `between(day, "2025-03-01", "2025-04-01")`,
		`between(n, -1.50, "12345678901234567890")`:            "",
		`token(author, "orcid", "0000-0001")`:                  "",
		`phrase("in", "x")`:                                    "",
		"exists(a)\n  and exists(b) // both\n":                 `exists(a) and exists(b)`,
		`true`:                                                 "",
		` `:                                                    "",
		`{"type":"NOT","child":{"type":"CONST","value":true}}`: `not true`,
	} {
		if want == "" {
			want = strings.TrimSpace(text)
		}
		e, err := Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := e.String(); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

func TestTextRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`phrase(title`:                                 "1:12: unexpected token EOF",
		`phrase(title, )`:                              "phrase has 1 arguments, expected a field and one value or two values",
		`exists(title) and`:                            "unexpected token EOF",
		`prase(title, "x")`:                            "1:1: function prase is unknown: did you mean phrase?",
		`len(title)`:                                   "function len is unknown",
		`any(title, # > 1)`:                            "function any is unknown",
		`title`:                                        "expected a condition",
		`title == "x"`:                                 "expected a condition",
		`exists(a) and 1`:                              "1:15: expected a condition",
		`exists(a) ? true : false`:                     "expected a condition",
		`exists(a.b)`:                                  "expected the name of a field",
		"exists(a)\nand exists(Bad)":                   `children[1].field: "Bad" is not a field key`,
		"exists(a)\nand exists(1)":                     "2:12: expected the name of a field",
		`phrase(title, 5)`:                             "expected text in quotes, found 5",
		`phrase(title, "x", "sensitive")`:              `expected "SENSITIVE" or "INSENSITIVE"`,
		`between(year, 2020, "2021-01-01")`:            "a range from a NUMBER to a DATE",
		`between(year, 1e3, 2)`:                        "1e3 is not a plain decimal number",
		`between(year, 0x10, 2)`:                       "0x10 is not a plain decimal number",
		`since(day, "2025-02-30")`:                     "expected a number, a date",
		`range(day, "DAY", "[2025-01-01", ")")`:        `value.rangeType: "DAY" is unknown: use DATE, DATETIME or NUMBER`,
		`range(day, "DATE", "2025-01-01", ")")`:        "range is written",
		`range(day, "DATE", "[2025-01", ")")`:          `value.from: "2025-01" is not a date`,
		`let x = 1; exists(a)`:                         "expected a condition",
		`exists(a); exists(b)`:                         "expected a condition",
		`oneOf(a)`:                                     "oneOf has 1 arguments",
		`oneOf(a, [])`:                                 "value.values: the list needs at least one value",
		strings.Repeat("(", 100_000):                   "nested deeper",
		strings.Repeat("not ", 50_000) + "true":        "nested deeper",
		strings.Repeat("!", 100_000):                   "nested deeper",
		strings.Repeat("not ", 70) + "true":            "nested deeper than 64",
		"exists(a)" + strings.Repeat(" ", maxSource):   "more than the limit",
		"phrase(a, \"\xff\")":                          "valid UTF-8",
		`phrase(a, "\x00")`:                            "without NUL",
		`oneOf(a` + strings.Repeat(`,"v"`, 6000) + `)`: "more than 5000",
	} {
		_, err := Parse(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: got %v, want an error with %q", text, err, want)
		}
	}
}

// An expression is one scalar in a snapshot; none is nothing.
func TestScalarInJSON(t *testing.T) {
	type section struct {
		Where Expr `json:"where"`
	}
	for _, text := range []string{`{"where":"exists(a) and exists(b)"}`, `{"where":""}`} {
		var s section
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			t.Fatal(err)
		}
		back, err := json.Marshal(s)
		if err != nil || string(back) != text {
			t.Errorf("%s becomes %s (%v)", text, back, err)
		}
		if s.Where.IsZero() != (text == `{"where":""}`) {
			t.Errorf("%s: IsZero is %v", text, s.Where.IsZero())
		}
	}
}

func TestJSONForm(t *testing.T) {
	e := mustParse(t, `phrase(title, "x") and not between(year, 2020, 2021) and missing(a) and (oneOf(b, "u") or token(c, "orcid", "1")) and since(d, "2025-01-01")`)
	got, err := e.JSON()
	if err != nil {
		t.Fatal(err)
	}
	want := `{"type":"AND","children":[` +
		`{"type":"ATOM","field":"title","op":"TERM","value":{"kind":"TERM","text":"x","match":"PHRASE","case":"INSENSITIVE"}},` +
		`{"type":"NOT","child":{"type":"ATOM","field":"year","op":"RANGE","value":{"kind":"RANGE","rangeType":"NUMBER","from":"2020","to":"2021","fromBoundary":"CLOSED","toBoundary":"CLOSED"}}},` +
		`{"type":"ATOM","field":"a","op":"EXISTS","value":{"kind":"EXISTS","shouldExist":false}},` +
		`{"type":"OR","children":[{"type":"ATOM","field":"b","op":"IN","value":{"kind":"IN","values":["u"],"case":"INSENSITIVE"}},` +
		`{"type":"ATOM","field":"c","op":"TOKEN","value":{"kind":"TOKEN","tokenType":"orcid","tokenValue":"1"}}]},` +
		`{"type":"ATOM","field":"d","op":"RANGE","value":{"kind":"RANGE","rangeType":"DATE","from":"2025-01-01","fromBoundary":"CLOSED","toBoundary":"OPEN"}}]}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestJSONRefuses(t *testing.T) {
	term := func(value string) string { return `{"type":"ATOM","field":"a","op":"TERM","value":` + value + `}` }
	for text, want := range map[string]string{
		`[]`:                              "expected an object, found an array",
		`{"type":"XOR"}`:                  `type: "XOR" is unknown`,
		`{}`:                              "type: is missing",
		`{"type":"AND","children":{}}`:    "children: expected an array, found an object",
		`{"type":"AND","childs":[]}`:      "childs: unknown member: this node has type, children",
		`{"type":"NOT"}`:                  "child: is missing",
		`{"type":"NOT","child":null}`:     "child: expected an object, found null",
		`{"type":"CONST","value":"yes"}`:  "value: expected true or false, found text",
		`{"type":"CONST","value":true} x`: "not valid JSON",
		`{"type":"CONST","value":true,"value":false}`: "not valid JSON",
		`{"type":"AND","children":[{"type":"CONST","value":true},{"type":"CONST","value":true},` + term(`{"kind":"TERM","text":"x","match":"PREFIX","case":"INSENSITIVE"}`) + `]}`: `children[2].value.match: "PREFIX" is unknown: use PHRASE, EXACT or ANY`,
		term(`{"kind":"TERM","text":"x","match":"PHRASE"}`):                              "value.case: is missing",
		term(`{"kind":"TERM","text":null,"match":"PHRASE","case":"SENSITIVE"}`):          "value.text: expected text, found null",
		term(`{"kind":"TERM","text":"x","match":"PHRASE","case":"sensitive"}`):           `value.case: "sensitive" is unknown`,
		term(`{"kind":"IN","values":["x"],"case":"SENSITIVE"}`):                          `value.kind: "IN" does not fit op TERM`,
		term(`{"kind":"TERM","text":"x","match":"PHRASE","case":"SENSITIVE","boost":2}`): "value.boost: unknown member",
		term(`"x"`): "value: expected an object, found text",
		`{"type":"ATOM","field":"A","op":"EXISTS","value":{"kind":"EXISTS","shouldExist":true}}`:                                                                                 `field: "A" is not a field key`,
		`{"type":"ATOM","field":"a","op":"LIKE","value":{"kind":"LIKE"}}`:                                                                                                        `op: "LIKE" is unknown`,
		`{"type":"ATOM","field":"a","op":"IN","value":{"kind":"IN","values":[],"case":"SENSITIVE"}}`:                                                                             "value.values: the list needs at least one value",
		`{"type":"ATOM","field":"a","op":"IN","value":{"kind":"IN","values":["x",1],"case":"SENSITIVE"}}`:                                                                        "value.values[1]: expected text, found a number",
		`{"type":"ATOM","field":"a","op":"RANGE","value":{"kind":"RANGE","rangeType":"DATE","from":"2025-13-01","fromBoundary":"OPEN","toBoundary":"OPEN"}}`:                     `value.from: "2025-13-01" is not a date`,
		`{"type":"ATOM","field":"a","op":"RANGE","value":{"kind":"RANGE","rangeType":"DATE","from":"","fromBoundary":"OPEN","toBoundary":"OPEN"}}`:                               "value.from: is empty",
		`{"type":"ATOM","field":"a","op":"RANGE","value":{"kind":"RANGE","rangeType":"DATETIME","to":"2025-01-01T00:00:00.1234567Z","fromBoundary":"OPEN","toBoundary":"OPEN"}}`: "value.to:",
		`{"type":"ATOM","field":"a","op":"RANGE","value":{"kind":"RANGE","rangeType":"NUMBER","to":"1e5","fromBoundary":"OPEN","toBoundary":"OPEN"}}`:                            "plain decimal",
		strings.Repeat(`{"type":"NOT","child":`, 9000) + `{"type":"CONST","value":true}` + strings.Repeat("}", 9000):                                                             "nested deeper than 64",
		strings.Repeat(`{"a":`, 20000): "not valid JSON",
		`{"type":"AND","children":[` + strings.Repeat(`{"type":"CONST","value":true},`, 6000) + `{"type":"CONST","value":true}]}`: "more than 5000",
	} {
		_, err := ParseJSON([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.150s: got %v, want an error with %q", text, err, want)
		}
	}
}
