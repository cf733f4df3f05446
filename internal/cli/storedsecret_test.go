package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
)

// secretKeys are all keys of a source file that lead to a secret, by the part of
// the schema they stand in. A key that is added is found here by itself.
func (d *desk) secretKeys() (out [][2]string) {
	d.Helper()
	var schema struct {
		Defs map[string]struct {
			Properties map[string]struct {
				Pattern string `json:"pattern"`
			} `json:"properties"`
		} `json:"$defs"`
	}
	d.decode(d.expect(term.ExitOK, "source", "schema").out, &schema)
	for part, def := range schema.Defs {
		for key, property := range def.Properties {
			if strings.HasPrefix(property.Pattern, "^(env|file|exec):") {
				out = append(out, [2]string{part, key})
			}
		}
	}
	return out
}

// A36: what is stolen with a database opens nothing: it holds references, and the
// value of a secret cannot be put into it. Whoever tries finds it in no file and in
// no message.
func TestNoSecretCanBeStored(t *testing.T) {
	const canary = "canary-s3cr3t-4711"
	d := newDesk(t)
	d.empty()
	keys := d.secretKeys()
	if len(keys) < 9 {
		t.Fatalf("only %d keys: %v", len(keys), keys)
	}
	refused := func(name string, args ...string) {
		t.Helper()
		r := d.run(args...)
		if r.code != term.ExitUsage || strings.Contains(r.out+r.err, canary) {
			t.Errorf("%s: exit %d: %s%s", name, r.code, r.out, r.err)
		}
	}
	for _, k := range keys {
		line, path := "", ""
		switch part, key := k[0], k[1]; part {
		case "credential":
			line, path = "credentials: {mine: {type: API_KEY, name: k, "+key+": "+canary+"}}", "credentials.mine."+key
		case "sign":
			line, path = "credentials: {mine: {type: CUSTOM, signing: hmac-sha256, sign: {"+key+": "+canary+"}}}", "credentials.mine.sign."+key
		case "http":
			line, path = "http: {baseUrl: https://api.example.org, "+key+": "+canary+"}", "http."+key
		default:
			t.Fatalf("no example for %s of %s", key, part)
		}
		text := "source: leaky\nname: Leaky\n" + line + "\n"
		if !strings.Contains(line, "baseUrl") {
			text += "http: {baseUrl: https://api.example.org}\n"
		}
		text += "endpoints: {works: {role: SEARCH, request: {path: /works}, paging: {type: NONE}, response: {items: $.items, id: $.id}}}\n"
		file := filepath.Join(t.TempDir(), "leaky.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, verb := range []string{"apply", "validate", "render", "explain", "diff"} {
			refused(verb+" of "+path, "source", verb, file)
		}
		refused("--set "+path, "harvest", "crossref", "--set", path+"="+canary)
		refused("plan --set "+path, "plan", "crossref", "--set", path+"="+canary)
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
