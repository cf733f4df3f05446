package tmpl

import (
	"strings"
	"testing"
)

// A19: a pattern in a source file is RE2 and small, and so is what it looks at.
func TestA19Patterns(t *testing.T) {
	for text, says := range map[string]string{
		`${regexFind(page.token, '` + strings.Repeat("a", 10_000) + `')}`:           "",
		`${regexFind(page.token, '` + strings.Repeat("(", 60) + `')}`:               "",
		`${regexFind(page.token, '((a{100}){100}){100}')}`:                          "repeat",
		`${regexFind(page.token, '(a{30}){30}(b{30}){30}')}`:                        "too costly",
		`${regexFind(page.token, '(a+)+\\1')}`:                                      "",
		`${regexFind(page.token, 'a(?=b)')}`:                                        "",
		`${regexFind(page.token, page.url)}`:                                        "",
		`${regexFind(page.token, concat('(', '` + strings.Repeat("a", 100) + `'))}`: "",
	} {
		if compiled, err := Compile(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.60s: %v %v, want %q", text, compiled, err, says)
		}
	}
	// What is dangerous elsewhere takes linear time here.
	compiled, err := Compile(`${regexFind(page.token, '(a+)+$')}`)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := compiled.Render(Vars{Page: PageVars{Token: strings.Repeat("a", 60_000) + "!"}}); err != nil {
		t.Error(err)
	}
}

// A20: a template reads the values it is given. It calls no method, sees no
// environment, and has nothing that repeats.
func TestA20TemplatesDoNothingElse(t *testing.T) {
	for _, text := range []string{
		"${env.HOME}", "${env}", "${$env}", "${$env['HOME']}", "${os.Getenv('HOME')}", "${getenv('HOME')}", "${.Page}", "${vars.Page}", "${Page.Token}",
		"${page.token.Len()}", "${page.Size.String()}", "${window.from.Add(1)}", "${now().Unix()}", "${page?.token}", "${query.(string)}",
		"${1..1000000000}", "${[1..1000000000]}", "${map(1..1000000000, # + 1)}", "${filter(ids, true)}", "${all(ids, # != '')}", "${reduce(1..9, #acc + #)}", "${sum(1..1000000000)}",
		"${repeat('x', 1000000000)}", "${let x = 1; x}", "${sort(ids)}", "${ids | map(#)}", "${toJSON(page)}", "${print(1)}", "${type(page)}", "${get(page, 'token')}",
		"${{'a': 1}}", "${func() { }}", "${page.token = 'x'}", "${import 'os'}", "${exec('id')}", "${file('/etc/passwd')}", "{{.Env}}${}", "${`${env.HOME}` + x}", "${range 1000000000}",
		"${" + strings.Repeat("-", 5000) + "1}", "${" + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + "}",
		"${'a' ** 99999999}", "${2 ** 2 ** 2 ** 99}", "${9999999999999999999999999}",
	} {
		compiled, err := Compile(text)
		if err != nil {
			continue
		}
		if got, _, err := compiled.Render(sampleVars()); err == nil {
			t.Errorf("%.60s gives %.60q", text, got)
		}
	}
	// Text that looks like another language's code is text.
	for _, text := range []string{"{{.Env}}", "$(id)", "`id`", "%{x}", "#{x}", "<%= x %>", "$env", "{page.token}"} {
		compiled, err := Compile(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, _, err := compiled.Render(sampleVars()); err != nil || got != text {
			t.Errorf("%s became %q, %v", text, got, err)
		}
	}
}

// What a value holds is never read as a template again.
func TestA20ValuesAreNoTemplates(t *testing.T) {
	compiled, err := Compile("a ${page.token} b")
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range []string{"${page.size}", "${", "}", "$${x}", "${env.HOME}"} {
		if got, _, err := compiled.Render(Vars{Page: PageVars{Token: value}}); err != nil || got != "a "+value+" b" {
			t.Errorf("%s became %q, %v", value, got, err)
		}
	}
}
