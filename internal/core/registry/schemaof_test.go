package registry_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/config"
	"github.com/patra-ingest/patra/internal/core/registry"
)

// Examples of patra.yaml in the pages are taken by its schema, as they are by the program.
func TestInstallationsFitTheirSchema(t *testing.T) {
	pages, err := filepath.Glob("../../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, rest := range strings.Split(string(text), "```yaml\n")[1:] {
			example, _, _ := strings.Cut(rest, "```")
			if _, err := config.Decode("patra.yaml", []byte(example)); err != nil {
				continue // of another file
			}
			tried++
			if refused := registry.RefusedBySchema(t, config.Schema(), []byte(example)); len(refused) > 0 {
				t.Errorf("%s: the schema refuses %v of\n%s", page, refused, example)
			}
		}
	}
	if tried < 4 {
		t.Errorf("only %d examples were tried", tried)
	}
}

// What the decoder finds bad by its shape the schema refuses too, at the same key.
func TestBadInstallationsDoNotFitTheirSchema(t *testing.T) {
	for _, text := range []string{
		"logs: {}", "log: {format: xml}", "log: {level: 3}", "log: text", "log: {sample: much}",
		"work: {workers: many}", "work: {priority: 3}", "work: {priority: {HARVST: 3}}", "work: {workers: -1}", "work: {worker: 1}",
		"listen: {token: hidden}", "listen: {metricsEvery: soon}", "findings: {clockOff: soon}", "findings: {clockoff: PT1S}",
		"trust: {commands: pass}", "trust: {folders: [[a]]}", "contact: {mail: a@b.example}",
		"alerts: {evry: PT1M}", "alerts: {every: 1 minute}", "alerts: {receivers: [a]}",
		"alerts: {receivers: {a: {sms: {}}}}", "alerts: {receivers: {a: {webhook: {url: 'https://a.example/', secret: [hidden]}}}}",
		"alerts: {receivers: {a: {webhook: {url: 'https://a.example/', secret: ['env:A'], body: teams}}}}",
		"alerts: {receivers: {a: {mail: {server: 'a:1', tls: maybe}}}}", "alerts: {receivers: {a: {command: {run: page}}}}",
		"alerts: {rules: {a: {severity: BAD}}}", "alerts: {rules: {a: {codes: GAP}}}", "alerts: {rules: {a: {whom: [ops]}}}",
	} {
		_, err := config.Decode("patra.yaml", []byte(text))
		found, _ := err.(registry.Problems)
		var want []string
		for _, p := range found {
			want = append(want, p.Path)
		}
		slices.Sort(want)
		got := registry.RefusedBySchema(t, config.Schema(), []byte(text))
		if want = slices.Compact(want); len(want) == 0 || !slices.Equal(got, want) {
			t.Errorf("%s: the schema refuses %v, the decoder %v", text, got, err)
		}
	}
}

// Every key of patra.yaml is described, and no section takes a key that nobody reads.
func TestTheSchemaOfInstallationsIsComplete(t *testing.T) {
	var root struct {
		Properties map[string]any
		Defs       map[string]struct {
			Properties map[string]struct{ Description string }
			Additional any `json:"additionalProperties"`
		} `json:"$defs"`
	}
	if err := json.Unmarshal(config.Schema(), &root); err != nil {
		t.Fatal(err)
	}
	for _, section := range []string{"contact", "trust", "log", "work", "listen", "findings", "alerts"} {
		if root.Properties[section] == nil || len(root.Defs[section].Properties) == 0 {
			t.Errorf("%s is missing", section)
		}
	}
	for name, def := range root.Defs {
		if def.Additional != false {
			t.Errorf("%s takes any key", name)
		}
		for key, one := range def.Properties {
			if one.Description == "" {
				t.Errorf("%s.%s has no description", name, key)
			}
		}
	}
}
