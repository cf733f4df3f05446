package config

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/secret"
	"github.com/patra-ingest/patra/internal/core/threshold"
	"github.com/patra-ingest/patra/internal/core/trust"
)

func ref(t *testing.T, text string) secret.Ref {
	t.Helper()
	var r secret.Ref
	if err := r.UnmarshalText([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestDecode(t *testing.T) {
	got, err := Decode("patra.yaml", []byte(`
contact: {email: you@example.org}
trust:
  commands: [pass show ncbi, vault read *]
  folders: [/etc/patra/secrets]
  environment: [VAULT_ADDR]
  secrets:
    api.example.org: [env:EXAMPLE_KEY, "exec:pass show ncbi", "records:crossref/works"]
    localhost:8443: [env:OTHER]
    (proxy): [env:HTTPS_PROXY]
log: {format: json, level: warn, file: /var/log/patra.log, sample: 0.5}
findings: {circuitOpens: 9}
listen: {address: "127.0.0.1:9464", cert: /etc/patra/cert.pem, key: /etc/patra/key.pem, token: env:METRICS_TOKEN, metricsEvery: PT1M}
`))
	want := &Config{Contact: registry.Contact{Email: "you@example.org"}, Trust: trust.Policy{
		Commands: []string{"pass show ncbi", "vault read *"}, Folders: []string{"/etc/patra/secrets"}, Environment: []string{"VAULT_ADDR"},
		Secrets: map[string][]trust.Ref{
			"api.example.org": {trust.OfSecret(ref(t, "env:EXAMPLE_KEY")), trust.OfSecret(ref(t, "exec:pass show ncbi")), trust.OfRecords("crossref/works")},
			"localhost:8443":  {trust.OfSecret(ref(t, "env:OTHER"))}, "(proxy)": {trust.OfSecret(ref(t, "env:HTTPS_PROXY"))},
		},
	}, Log: Log{Format: "json", Level: "warn", File: "/var/log/patra.log", Sample: new(0.5)}, Findings: threshold.Config{CircuitOpens: new(9)},
		Listen: Listen{Address: "127.0.0.1:9464", Cert: "/etc/patra/cert.pem", Key: "/etc/patra/key.pem", Token: ref(t, "env:METRICS_TOKEN"), MetricsEvery: duration.Duration(time.Minute)}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, empty := range []string{"", "\n# nothing yet\n\t\n", "\ufeff# a mark\r\n"} {
		if got, err := Decode("patra.yaml", []byte(empty)); err != nil || !reflect.DeepEqual(got, &Config{}) {
			t.Errorf("%q: %+v, %v", empty, got, err)
		}
	}
}

// Every mistake is named with its line: a key that is not known must not look as if
// it were in force.
func TestDecodeIsStrict(t *testing.T) {
	for text, says := range map[string]string{
		"contact: {email: you@example.org}\ntrsut: {}":           "patra.yaml:2:1: trsut: E-UNKNOWN-KEY",
		"trust:\n  comands: [a]":                                 "patra.yaml:2:3: trust.comands: E-UNKNOWN-KEY",
		"trust:\n  commands: pass show ncbi":                     "patra.yaml:2:13: trust.commands: E-TYPE",
		"contact:\n  email: nobody":                              "patra.yaml:2:10: contact.email: E-VALUE",
		"contact: {}\ncontact: {}":                               "patra.yaml:2:1: contact: E-DUPLICATE-KEY",
		"trust:\n  folders: [secrets]":                           "patra.yaml:2:3: trust.folders: E-VALUE",
		"trust:\n  commands: ['* show']":                         "patra.yaml:2:3: trust.commands: E-VALUE",
		"trust:\n  environment: ['A=B']":                         "patra.yaml:2:3: trust.environment: E-VALUE",
		"trust:\n  secrets:\n    api.example.org: [hunter2]":     "E-SECRET-LITERAL",
		"trust:\n  secrets:\n    https://a.example: [env:KEY]":   "is not a host",
		"trust:\n  secrets:\n    API.example.org: [env:KEY]":     "is not a host",
		"trust:\n  secrets:\n    api.example.org:443: [env:KEY]": "is not a host",
		"trust:\n  secrets:\n    api.example.org/v1: [env:KEY]":  "is not a host",
		"log:\n  format: xml":                                    "patra.yaml:2:11: log.format: E-DICT-CODE",
		"log:\n  level: INFO":                                    "patra.yaml:2:10: log.level: E-DICT-CODE",
		"log:\n  file: patra.log":                                "patra.yaml:2:9: log.file: E-VALUE",
		"log:\n  sample: 1.5":                                    "patra.yaml:2:11: log.sample: E-VALUE",
		"log:\n  sample: -0.1":                                   "patra.yaml:2:11: log.sample: E-NEGATIVE",
		"log:\n  rotate: true":                                   "patra.yaml:2:3: log.rotate: E-UNKNOWN-KEY",
		"listen:\n  address: 9464":                               "patra.yaml:2:12: listen.address: E-VALUE",
		"listen:\n  address: localhost":                          "patra.yaml:2:12: listen.address: E-VALUE",
		"listen:\n  address: 127.0.0.1:99999":                    "patra.yaml:2:12: listen.address: E-VALUE",
		"listen:\n  token: hunter2":                              "E-SECRET-LITERAL",
		"listen:\n  token: env:TOKEN":                            "patra.yaml:1:1: listen: E-VALUE",
		"listen:\n  address: 10.0.0.1:1\n  cert: cert.pem":       "patra.yaml:3:9: listen.cert: E-VALUE",
		"findings:\n  clockOf: PT1S":                             "patra.yaml:2:3: findings.clockOf: E-UNKNOWN-KEY",
		"findings:\n  clockOff: 30":                              "patra.yaml:2:13: findings.clockOff: E-",
		"findings:\n  planIdle: -PT1H":                           "patra.yaml:2:13: findings.planIdle: E-",
		"trust: [":                                               "E-SYNTAX",
		"just words":                                             "E-TYPE",
	} {
		_, err := Decode("patra.yaml", []byte(text))
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v, want %s", text, err, says)
		}
	}
}

func TestIsAddress(t *testing.T) {
	for text, want := range map[string]bool{
		"you@example.org": true, "a.b+c@x": true, "": false, "you": false, "@x": false, "a@": false, "a@b@c": false, "a b@x": false, "a@x>\r\nX: y": false, "ä@x": false,
	} {
		if IsAddress(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}
