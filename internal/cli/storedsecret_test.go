package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
)

// secretKeys are all keys of a source file that lead to a secret, by the part of
// the schema they stand in. A key that is added is found here automatically.
func (d *desk) secretKeys() (out [][2]string) {
	d.Helper()
	type property struct {
		Pattern string `json:"pattern"`
		Each    any    `json:"additionalProperties"` // false, or what every member is
	}
	var schema struct {
		Defs map[string]struct {
			Properties map[string]property `json:"properties"`
		} `json:"$defs"`
	}
	d.decode(d.expect(term.ExitOK, "source", "schema").out, &schema)
	for part, def := range schema.Defs {
		for key, property := range def.Properties {
			pattern := property.Pattern
			if each, ok := property.Each.(map[string]any); ok {
				pattern, _ = each["pattern"].(string)
				key += ".mine"
			}
			if strings.HasPrefix(pattern, "^(env|file|exec):") {
				out = append(out, [2]string{part, key})
			}
		}
	}
	return out
}

// secretPlace is where a secret is written into a file: the lines that hold it, and the
// path that messages name.
type secretPlace struct{ lines, path string }

// placeSecret writes a value to a key that takes a reference, in a file that has no other fault.
func placeSecret(t *testing.T, part, key, value string) secretPlace {
	t.Helper()
	credential := func(format string) secretPlace {
		return secretPlace{"credentials: {mine: " + fmt.Sprintf(format, key+": "+value) + "}", "credentials.mine." + key}
	}
	switch part {
	case "credential":
		if name, ok := strings.CutPrefix(key, "secrets."); ok {
			at := credential("{type: SESSION, name: X-Session, %s, login: {url: /login, form: {a: \"${mine}\"}, token: $.token}}")
			at.lines = strings.Replace(at.lines, key+": "+value, "secrets: {"+name+": "+value+"}", 1)
			return at
		}
		return credential(map[string]string{
			"value":        "{type: API_KEY, name: k, %s}",
			"username":     "{type: BASIC, password: env:SECRET, %s}",
			"password":     "{type: BASIC, username: env:USER, %s}",
			"clientId":     "{type: OAUTH2, tokenUrl: /token, clientSecret: env:SECRET, %s}",
			"clientSecret": "{type: OAUTH2, tokenUrl: /token, clientId: env:USER, %s}",
			"refreshToken": "{type: OAUTH2, tokenUrl: /token, grant: REFRESH_TOKEN, clientId: env:USER, %s}",
		}[key])
	case "jwt":
		at := credential("{type: JWT, jwt: {alg: HS256, %s}}")
		if key != "key" {
			at = credential("{type: JWT, jwt: {alg: HS256, key: env:SECRET, %s}}")
		}
		at.path = "credentials.mine.jwt." + key
		return at
	case "sign":
		at := credential(map[string]string{
			"key":   "{type: CUSTOM, signing: hmac-sha256, sign: {parts: [METHOD], %s}}",
			"keyId": "{type: CUSTOM, signing: hmac-sha256, sign: {parts: [METHOD], key: env:SECRET, %s}}",
			"token": "{type: CUSTOM, signing: aws-sigv4, sign: {region: eu, service: s3, key: env:SECRET, keyId: env:USER, %s}}",
		}[key])
		at.path = "credentials.mine.sign." + key
		return at
	case "http":
		return secretPlace{"http: {baseUrl: https://api.example.org, " + key + ": " + value + "}", "http." + key}
	}
	t.Fatalf("no example for %s of %s", key, part)
	return secretPlace{}
}

// placeTexts writes a value to keys that take texts, under names that tell of a secret.
func placeTexts(value string) []secretPlace {
	credential := func(path, text string) secretPlace {
		return secretPlace{"credentials: {mine: {" + text + "}}", "credentials.mine." + path}
	}
	const (
		oauth = "type: OAUTH2, tokenUrl: /token, clientId: env:USER, clientSecret: env:SECRET, "
		login = "type: SESSION, name: X-Session, password: env:SECRET, login: {url: /login, token: $.token, form: {a: \"${password}\"}, "
	)
	return []secretPlace{
		credential("params", oauth+"params: {assertion_password: "+value+"}"),
		credential("params", oauth+"params: {api_key: [a, "+value+"]}"),
		credential("jwt.claims", "type: JWT, jwt: {alg: HS256, key: env:SECRET, claims: {password: "+value+"}}"),
		credential("login.query", login+"query: {api_key: "+value+"}}"),
		credential("login.headers", login+"headers: {X-Api-Key: "+value+"}}"),
		credential("prefix", "type: BEARER, value: env:SECRET, prefix: \""+value+" \""),
	}
}

// leakyFile is a source with nothing wrong but what these lines bring.
func leakyFile(lines string) string {
	text := "source: leaky\nname: Leaky\n" + lines + "\n"
	if !strings.Contains(lines, "baseUrl") {
		text += "http: {baseUrl: https://api.example.org}\n"
	}
	return text + "endpoints: {works: {role: SEARCH, request: {path: /works}, filter: {bounds: NONE}, snapshot: {every: P1D}, paging: {type: ONE, maxResults: 100}, response: {items: $.items, id: $.id}}}\n"
}

// A36: what is stolen with a database opens nothing: it holds references, and the
// value of a secret cannot be put into it. Whoever tries finds it in no file and in
// no message.
func TestNoSecretCanBeStored(t *testing.T) {
	const canary = "canary-s3cr3t-4711"
	d := newDesk(t)
	d.empty()
	keys := d.secretKeys()
	if len(keys) < 13 {
		t.Fatalf("only %d keys: %v", len(keys), keys)
	}
	refused := func(name string, args ...string) result {
		t.Helper()
		r := d.run(args...)
		if r.code != term.ExitUsage || strings.Contains(r.out+r.err, canary) {
			t.Errorf("%s: exit %d: %s%s", name, r.code, r.out, r.err)
		}
		return r
	}
	places := placeTexts(canary)
	for _, k := range keys {
		places = append(places, placeSecret(t, k[0], k[1], canary))
	}
	for _, at := range places {
		file := filepath.Join(t.TempDir(), "leaky.yaml")
		if err := os.WriteFile(file, []byte(leakyFile(at.lines)), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, verb := range []string{"apply", "validate", "render", "explain", "diff"} {
			r := refused(verb+" of "+at.path, "source", verb, file)
			// What is refused for another fault would prove nothing.
			if !strings.Contains(r.err, "1 problem:") || !strings.Contains(r.err, at.path+": E-SECRET-LITERAL") {
				t.Errorf("%s of %s: the secret is not the only fault: %s", verb, at.path, r.err)
			}
		}
		refused("--set "+at.path, "harvest", "crossref", "--set", at.path+"="+canary)
		refused("plan --set "+at.path, "plan", "crossref", "--set", at.path+"="+canary)
	}
	d.clean(canary)
	for _, secret := range []string{"request.headers.Authorization=Bearer " + canary, "request.query.api_key=" + canary, "http.baseUrl=https://me:" + canary + "@api.example.org"} {
		refused("--set "+secret, "harvest", "crossref", "--set", secret)
	}
	d.clean(canary)
	if !json.Valid([]byte(d.expect(term.ExitOK, "source", "list", "-o", "json").out)) {
		t.Error("no list of sources")
	}
}
