package tmpl

import (
	"strings"
	"testing"
	"time"
)

func TestRender(t *testing.T) {
	vars := Vars{
		Page:    PageVars{Size: 100, Token: "*"},
		Filter:  FilterVars{From: "2025-03-01", To: "2025-03-02"},
		Window:  WindowVars{From: time.Date(2025, 3, 1, 1, 2, 3, 0, time.FixedZone("x", 3600))},
		Contact: ContactVars{},
	}
	for text, want := range map[string]string{
		"plain":          "plain",
		"":               "",
		"${page.size}":   "100",
		"${page.token}":  "*",
		"a${page.size}b": "a100b",
		"from-index-date:${filter.from},until-index-date:${filter.to}": "from-index-date:2025-03-01,until-index-date:2025-03-02",
		`${formatDateTime(window.from, "yyyy/MM/dd HH:mm:ss")}`:        "2025/03/01 00:02:03",
		`${coalesce(contact.email, "nobody")}`:                         "nobody",
		`${concat(upper("ab"), trim(" c "), string(page.size + 1))}`:   "ABc101",
	} {
		compiled, err := Compile(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		got, present, err := compiled.Render(vars)
		if err != nil || got != want || !present {
			t.Errorf("%q: got %q present=%v err=%v, want %q", text, got, present, err, want)
		}
	}
	absent, err := Compile("${contact.email}")
	if err != nil {
		t.Fatal(err)
	}
	if _, present, _ := absent.Render(vars); present {
		t.Error("an empty value must be left out")
	}
}

func TestCompileRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"${page.sise}":                "sise",
		"${env.HOME}":                 "env",
		"${now()}":                    "now",
		"${page.size":                 "closing",
		"${1 +}":                      "unexpected",
		"${formatDateTime(1, \"a\")}": "formatDateTime",
		`${map([1], # + 1)}`:          "map",
		`${len(1..1000000000)}`:       "range",
	} {
		if _, err := Compile(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want an error naming %q", text, err, want)
		}
	}
}

func FuzzCompile(f *testing.F) {
	f.Add("${page.size}")
	f.Add("a${filter.from}b${")
	f.Fuzz(func(t *testing.T, text string) {
		compiled, err := Compile(text)
		if err != nil {
			return
		}
		_, _, _ = compiled.Render(Vars{})
	})
}
