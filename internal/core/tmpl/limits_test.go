package tmpl

import (
	"strings"
	"testing"
)

func TestLimits(t *testing.T) {
	vars := sampleVars()
	vars.Page.Token = strings.Repeat("x", 600<<10)
	vars.Query = strings.Repeat("a,", 20_000)
	for text, want := range map[string]string{
		"${page.token}${page.token}":                          "grew beyond",
		"${concat(page.token, page.token)}":                   "grew beyond",
		"${page.token + page.token}":                          "grew beyond",
		"${replace(page.token, 'x', 'yy')}":                   "grew beyond",
		"${join([page.token, page.token], '')}":               "grew beyond",
		"${join([1, 2, 3], page.token)}":                      "grew beyond",
		"${length(base64(base64(page.token)))}":               "grew beyond",
		"${length(urlEncode(replace(page.token, 'x', 'ü')))}": "grew beyond",
		"${length(split(query, ','))}":                        "more than 10000 elements",
		"${regexFind(page.token, 'y')}":                       "longer than 65536",
	} {
		compiled, err := Compile(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, _, err := compiled.Render(vars); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %d bytes, %v, want %q", text, len(got), err, want)
		}
	}
	for text, want := range map[string]string{
		"${" + strings.Repeat("1+", 200) + "1}":                "nodes",
		strings.Repeat("x", 16<<10) + "y":                      "longer than 16384",
		"${regexFind('', '" + strings.Repeat("a", 201) + "')}": "longer than 200",
		"${regexFind('', '(a{30}){30}(b{30}){30}')}":           "too costly",
		"${regexFind('', '((a{100}){100}){100}')}":             "repeat",
	} {
		if _, err := Compile(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %q", text, err, want)
		}
	}
	if _, err := Compile("${" + strings.Repeat("1+", 60) + "1}"); err != nil {
		t.Error(err)
	}
}

// What just fits is rendered.
func TestLimitIsNotTooEarly(t *testing.T) {
	compiled, err := Compile("${concat(page.token, 'y')}")
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := compiled.Render(Vars{Page: PageVars{Token: strings.Repeat("x", maxRendered-1)}})
	if err != nil || len(got) != maxRendered {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}
