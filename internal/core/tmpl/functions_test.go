package tmpl

import (
	"strings"
	"testing"
)

// examples: every function of the list, what it gives, and its edges.
var examples = map[string]string{
	"now()": "2025-06-07T08:09:10Z",
	"formatDateTime(window.from, 'yyyy/MM/dd HH:mm:ss')":                        "2025/03/01 00:02:03",
	`formatDateTime(window.to, "yyyy-MM-dd'T'HH:mm:ss.SSSXXX")`:                 "2025-03-02T00:00:00.500Z",
	"formatDateTime(window.to, 'yyyy-MM-ddTHH:mm:ssXXX', '+05:30')":             "2025-03-02T05:30:00+05:30",
	"formatDateTime(window.to, 'EEE, d MMM yyyy h:mm a', 'UTC')":                "Sun, 2 Mar 2025 12:00 AM",
	"formatDateTime(parseDate('2024-07-01', 'yyyy-MM-dd'), 'MMMM M d yy', 'Z')": "July 7 1 24",
	"parseDate('2024-02-29', 'yyyy/MM/dd', 'yyyy-MM-dd')":                       "2024-02-29T00:00:00Z",
	"parseDate('29 feb 2024', 'd MMM yyyy')":                                    "2024-02-29T00:00:00Z",
	"parseDate('2024-02', 'yyyy-MM-dd', 'yyyy-MM')":                             "2024-02-01T00:00:00Z",
	"parseDate('2024-01-01T00:00:00+02:00', 'yyyy-MM-ddTHH:mm:ssXXX')":          "2023-12-31T22:00:00Z",
	"parseDate('2024-01-01T00:00:00Z', 'yyyy-MM-ddTHH:mm:ssXXX')":               "2024-01-01T00:00:00Z",
	"parseDate('', 'yyyy')":                                                     "",
	"epoch(window.to)":                                                          "1740873600",
	"epochMillis(window.to)":                                                    "1740873600500",
	"fromEpoch(1740873600)":                                                     "2025-03-02T00:00:00Z",
	"fromEpoch(1740873600500)":                                                  "2025-03-02T00:00:00.5Z",
	"fromEpoch('1740873600')":                                                   "2025-03-02T00:00:00Z",
	"fromEpoch(1740873600.5)":                                                   "2025-03-02T00:00:00.5Z",
	"fromEpoch(-86400)":                                                         "1969-12-31T00:00:00Z",
	"addDuration(window.to, 'P1D')":                                             "2025-03-03T00:00:00.5Z",
	"addDuration(window.to, '-PT0.5S')":                                         "2025-03-02T00:00:00Z",
	"if(page.size == 100, 'a', 'b')":                                            "a",
	"coalesce('', contact.email, page.token, 'x')":                              "*",
	"coalesce('', 0)":                                                           "0",
	"default(contact.email, 'x')":                                               "x",
	"default(false, true)":                                                      "false",
	"concat('a', 1, true, 2.5, '')":                                             "a1true2.5",
	"lower('ÄB')":                                                               "äb",
	"upper('äb')":                                                               "ÄB",
	"trim(' a\t')":                                                              "a",
	"substring('äöü', 1)":                                                       "öü",
	"substring('äöü', 1, 2)":                                                    "ö",
	"substring('äöü', -5, 99)":                                                  "äöü",
	"substring('äöü', 2, 1)":                                                    "",
	"replace('aXbX', 'X', '--')":                                                "a--b--",
	"replace('ab', '', 'x')":                                                    "ab",
	"join(split('a,b,c', ','), ' ')":                                            "a b c",
	"length(split('', ','))":                                                    "0",
	"join(ids, ' OR ')":                                                         "1 OR 2 OR 3",
	"join(['', nil, 'x', 1], '-')":                                              "-x-1",
	"regexFind('doi:10.1/x', '10\\\\.[^ ]+')":                                   "10.1/x",
	"regexFind('doi:10.1/x', '(10)\\\\.(1)', 2)":                                "1",
	"regexFind('x', '(a)|x', 1)":                                                "",
	"base64('a>')":                                                              "YT4=",
	"base64Decode('YT4=')":                                                      "a>",
	"base64Decode('YT4')":                                                       "a>",
	"base64Decode('w7w_') == base64Decode('w7w/')":                              "true",
	"sha256('')":                                                                "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
	"urlEncode('a b&c/ü')":                                                      "a+b%26c%2F%C3%BC",
	"length('äöü') + length(ids) + length(nil)":                                 "6",
	`quote('a"b')`:                                                              `"a\"b"`,
	"quote(ids)":                                                                `"1","2","3"`,
	"first(ids)":                                                                "1",
	"last(ids)":                                                                 "3",
	"first(split('', ','))":                                                     "",
	"element(ids, 1)":                                                           "2",
	"element(ids, -1)":                                                          "3",
	"element(ids, 3)":                                                           "",
	"element(ids, -4)":                                                          "",
	"string(12) + string(true)":                                                 "12true",
	"int('12') + int(3.9) + int(-3.9)":                                          "12",
	"int('')":                                                                   "",
	"number('1.5') + number('2') + number(1)":                                   "4.5",
	"lower(regexFind('x', 'y'))":                                                "", // absent stays absent
	"concat(regexFind('x', 'y'), 'z')":                                          "z",
	"regexFind('x', 'y') contains 'y'":                                          "false",
	"default(regexFind('x', 'y'), 'z') == 'z'":                                  "true",
	"if(lower(regexFind('x', 'y')) == 'y', 'a', 'b')":                           "b",
}

func TestFunctions(t *testing.T) {
	for code, want := range examples {
		if got, _ := render(t, "${"+code+"}"); got != want {
			t.Errorf("%s: got %q, want %q", code, got, want)
		}
	}
}

func TestEveryFunctionIsDocumentedAndTested(t *testing.T) {
	all := ""
	for code := range examples {
		all += " " + code
	}
	seen := map[string]bool{}
	for _, f := range Functions {
		if f.Doc == "" || !strings.HasPrefix(f.Signature, f.Name+"(") || seen[f.Name] {
			t.Errorf("%+v", f)
		}
		seen[f.Name] = true
		if f.only != itemScope && !strings.Contains(all, f.Name+"(") {
			t.Errorf("%s has no example", f.Name)
		}
	}
	for _, name := range strings.Fields(`now formatDateTime parseDate epoch coalesce default concat lower upper trim substring
		replace split join regexFind base64 sha256 urlEncode jsonPath if length first last`) {
		if !seen[name] {
			t.Errorf("%s is promised and missing", name)
		}
	}
}

func TestZones(t *testing.T) {
	for zone, ok := range map[string]bool{"UTC": true, "Z": true, "-11:00": true, "": false, "Local": false, "CET+1": false, "../etc/passwd": false, "/etc/passwd": false, "+25:00": false} {
		_, err := Compile("${formatDateTime(now(), 'HH', '" + zone + "')}")
		if (err == nil) != ok {
			t.Errorf("%q: %v", zone, err)
		}
	}
}
