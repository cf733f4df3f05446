package exchange

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/tmpl"
)

func TestSecretLiterals(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "  ": false, "Bearer": false, "${page.token}": false, "Bearer ${page.token}": false, "token=${page.token}": false,
		"${default(page.token, '*')}": false, "${if(page.token == '', '', page.token)}": false, "${concat('Bearer ', query)}": false,
		"hunter2": true, "*": true, "Bearer hunter2": true, "Bearer hunter2${contact.email}": true, "${page.token}x": true,
		`${concat("hunter2", query)}`: true, "${concat('hunter2', query)}": true, "${`hunter2`}": true, "${'a'}": true, "${12345678}": true,
		`${concat("}", "hunter2")}`: true, "$${page.token}": true, "Bearer hunter2${": true, "Bearer ${page.tokn": false, "密码": true,
	} {
		if got := SecretLiteral(text); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// However a template is built, what comes out for other values of its variables
// has no word in common unless it was found to hold one.
func TestALiteralDoesNotHideBetweenVariables(t *testing.T) {
	piece := rapid.SampledFrom([]string{"${page.token}", "Bearer ", "hunter2", `${concat("hunter2", query)}`, `${concat(page.token, '}hunter2')}`, "$${query}hunter2", " ", "="})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(piece, 0, 4).Draw(t, "pieces"), "")
		compiled, err := tmpl.CompileWith(text, tmpl.Config{})
		if err != nil {
			t.Fatal(err)
		}
		out, _, err := compiled.Render(tmpl.Vars{Query: "q", Page: tmpl.PageVars{Token: "p"}})
		if err != nil {
			t.Fatal(err)
		}
		if got := SecretLiteral(text); strings.Contains(out, "hunter2") && !got {
			t.Fatalf("%s is taken for harmless", text)
		}
	})
}

func TestSecretsInPaths(t *testing.T) {
	for path, want := range map[string]bool{
		"/apikey/hunter2": true, "/v1/api-key/hunter2/items": true, "/token/hunter2": true, "/key/hunter2": true, "/secret/x": true,
		"/apikey/${query}": false, "/key/": false, "/key": false, "/keys/x": false, "/auth/items": false, "/works/token": false, "/works": false,
	} {
		if got := SecretInPath(path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}

func TestSecretsInAddresses(t *testing.T) {
	for address, want := range map[string]bool{
		"https://u:hunter2@h": true, "https://hunter2@h": true, "https://h/?api_key=hunter2": true, "https://h/?%61pi_key=hunter2": true,
		"https://u:hunter2@h.exa mple/%zz": true, "u:hunter2@h": true, "https://h/apikey/hunter2": true,
		"https://h/?page=1": false, "https://h/docs#key": false, "": false, "https://h/a@b": false, "https://h/?api_key=": false,
	} {
		if got := SecretInAddress(address); got != want {
			t.Errorf("%s: %v", address, got)
		}
	}
}

func TestSecretsInBodies(t *testing.T) {
	for body, want := range map[string]bool{
		`{"api_key":"hunter2"}`: true, `{"a":[{"client_secret":"x${query}"}]}`: true, `{"auth":{"user":"hunter2"}}`: true,
		`{"token": 12345678}`: true, `{"token": ${concat("hunter2", query)}}`: true, `{"token": "${concat("hunter2", query)}"}`: true,
		`{"${query}": 1, "key": "hunter2"}`: true,
		`{"token": ${page.token}}`:          false, `{"token": "Bearer ${page.token}"}`: false, `{"q":"api_key","x":"hunter2"}`: false,
		`{"pageToken":"start"}`: false, `{"token":null}`: false, `{"token":""}`: false, `q=${query}`: false, "": false,
	} {
		if got := SecretInBody(body); got != want {
			t.Errorf("%s: %v", body, got)
		}
	}
}

func TestBaseURLErrorsRepeatNoUser(t *testing.T) {
	for _, address := range []string{
		"https://u:hunter2@h", "http://u:hunter2@h ", "ftp://u:hunter2@h", "https://u:hunter2@h.exa mple/%zz", "u:hunter2@h", "//u:hunter2@h",
		"http://h/apikey/hunter2", "ftp://h/?api_key=hunter2", "http://h/#hunter2",
	} {
		_, err := ParseBaseURL(Config{BaseURL: address})
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", address, err)
		}
		if got := CanonicalBaseURL(address); address[:4] != "http" && got != address {
			t.Errorf("%s became %s", address, got)
		}
	}
	if _, err := ParseBaseURL(Config{BaseURL: "http://h/v1"}); err == nil || !strings.Contains(err.Error(), `for "http://h/v1"`) {
		t.Errorf("a harmless address is not shown: %v", err)
	}
}

func TestBaseURLHasOneSpelling(t *testing.T) {
	for address, want := range map[string]string{
		"https://API.Example.org/V1/": "https://api.example.org/V1", "https://h/": "https://h", "HTTPS://h:8443/a%2Fb/": "https://h:8443/a%2Fb",
		"http://h/x": "http://h/x", "": "", "https://u@H/": "https://u@H/", "https://H/?q=1": "https://H/?q=1",
	} {
		got := CanonicalBaseURL(address)
		if got != want || CanonicalBaseURL(got) != got {
			t.Errorf("%s became %s, want %s", address, got, want)
		}
	}
}

func TestErrorsRepeatNoSecretTemplate(t *testing.T) {
	for name, p := range map[string]Parts{
		"header":  {HTTP: Config{Headers: map[string]string{"Authorization": "hunter2${"}}},
		"query":   {Request: RequestConfig{Query: map[string]Texts{"api_key": {"hunter2${nix}"}}}},
		"default": {Params: map[string]Param{"x": {Name: "api_key", Default: "${hunter2}"}}},
	} {
		p.HTTP.BaseURL, p.Request.Path = "https://h", "/"
		if _, err := Compile(p); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", name, err)
		}
	}
	failing := Parts{Request: RequestConfig{Path: "/", Query: map[string]Texts{"api_key": {"${element(ids, 0) == 'hunter2' ? query : query}"}}}, Templates: tmpl.Config{NullPolicy: tmpl.Fail}}
	if _, err := compiled(t, failing).Render(tmpl.Vars{IDs: []string{"a"}}); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Error(err)
	}
}

func TestCredentialTexts(t *testing.T) {
	good := Credential{Type: "API_KEY", In: "HEADER", Name: "X-Api-Key", Prefix: "Token "}
	for name, change := range map[string]func(*Credential){
		"prefix": func(c *Credential) { c.Prefix = "hunter2" }, "name": func(c *Credential) { c.Name = "bad name hunter2" },
		"tokenUrl": func(c *Credential) { c.TokenURL = "https://x/y?client_secret=hunter2" },
	} {
		c := good
		change(&c)
		found := c.badTexts()
		if len(found) != 1 || found[0].Key != name || strings.Contains(found[0].Message, "hunter2") {
			t.Errorf("%s: %v", name, found)
		}
	}
	for _, prefix := range []string{"", "Token ", "Bearer ", "ApiKey ", "key=", "Api-Key:"} {
		if c := (Credential{In: "HEADER", Name: "Authorization", Prefix: prefix}); len(c.badTexts()) > 0 {
			t.Errorf("%q: %v", prefix, c.badTexts())
		}
	}
	for _, prefix := range []string{"x", "Token", strings.Repeat("a", 20) + " ", "abc123 "} {
		if SchemePrefix(prefix) {
			t.Errorf("%q is taken for a scheme", prefix)
		}
	}
}
