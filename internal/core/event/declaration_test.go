package event

import (
	"strings"
	"testing"
)

const good = `
destinations:
  - name: files
    jsonl: {dir: events, fileEvents: 1000}
  - name: hook
    content: fields
    webhook: {url: "https://receiver.example/events", secret: "env:HOOK_SECRET"}
  - name: bus
    maxBytes: 100000
    nats: {url: "nats://one:4222, tls://two:4222", stream: PATRA}
routes:
  - {sources: [crossref], endpoints: [works], events: [inserted, updated], to: bus}
  - {sources: [pubmed], to: hook}
  - {sources: [private]}
  - {to: files}
`

func TestRoutesOfADeclaration(t *testing.T) {
	d, err := ReadDeclaration([]byte(good))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		source, endpoint string
		op               Op
		want             string
	}{
		{"crossref", "works", Inserted, "bus"}, {"crossref", "works", Removed, "files"}, {"crossref", "members", Updated, "files"},
		{"pubmed", "search", Removed, "hook"}, {"private", "x", Inserted, ""}, {"other", "x", Updated, "files"},
	} {
		if got, ok := d.Destination(c.source, c.endpoint, c.op); got != c.want || ok != (c.want != "") {
			t.Errorf("%+v: %q", c, got)
		}
	}
	if f := d.Destinations[1].Form(); f.Content != FieldsOnly || f.MaxBytes != defaultMaxBytes {
		t.Errorf("%+v", f)
	}
}

func TestWrongDeclarations(t *testing.T) {
	files := "destinations: [{name: files, jsonl: {dir: events}}]\nroutes: [{to: files}]\n"
	for text, want := range map[string]string{
		"": "none is declared, so events could not be delivered",
		"destinations: [{name: a, jsonl: {dir: x}}]": "routes: none is declared",
		files + "more: 1": "more",
		strings.ReplaceAll(files, "name: files", "name: 'a b'"):                                                              "name \"a b\": expected 1 to 32",
		strings.Replace(files, "to: files", "to: file", 1):                                                                   "did you mean files?",
		strings.Replace(files, "{to: files}", "{to: files, events: [Inserted]}", 1):                                          "expected inserted, updated or removed",
		strings.Replace(files, "jsonl: {dir: events}", "", 1):                                                                "expected exactly one of jsonl, webhook and nats",
		strings.Replace(files, "dir: events", "fileBytes: 5", 1):                                                             "dir is needed",
		strings.Replace(files, "jsonl", "content: all, jsonl", 1):                                                            "expected record, fields or none",
		strings.Replace(files, "jsonl", "maxBytes: 100, jsonl", 1):                                                           "maxBytes 100",
		strings.Replace(files, "[{", "[{name: files, jsonl: {dir: x}}, {", 1):                                                "a second destination is called files",
		strings.Replace(files, "jsonl: {dir: events}", "webhook: {url: 'http://far.example/canary', secret: 'env:X'}", 1):    "must be https",
		strings.Replace(files, "jsonl: {dir: events}", "webhook: {url: 'https://u:canary@far.example', secret: 'env:X'}", 1): "must not hold a password",
		strings.Replace(files, "jsonl: {dir: events}", "webhook: {url: 'https://far.example'}", 1):                           "secret is needed",
		strings.Replace(files, "jsonl: {dir: events}", "webhook: {url: 'https://far.example', secret: canary}", 1):           "",
		strings.Replace(files, "jsonl: {dir: events}", "webhook: {url: 'https://far.example:99999', secret: 'env:X'}", 1):    "ports are numbers from 1 to 65535",
		strings.Replace(files, "jsonl: {dir: events}", "nats: {url: 'nats://far:4222,nats://far:99999', stream: S}", 1):      "ports are numbers from 1 to 65535",
		strings.Replace(files, "jsonl: {dir: events}", "nats: {url: 'http://x', stream: S}", 1):                              "expected nats://host:4222",
		strings.Replace(files, "jsonl: {dir: events}", "nats: {url: 'nats://x', stream: 'a.b'}", 1):                          "expected the name of a stream",
		strings.Replace(files, "jsonl: {dir: events}", "nats: {url: 'nats://x', stream: S, subject: 'a.>'}", 1):              "expected words of letters",
	} {
		_, err := ReadDeclaration([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s\ngave %v, want %q", text, err, want)
		}
	}
	if _, err := ReadDeclaration([]byte(files)); err != nil {
		t.Error(err)
	}
}

// An address that is private by what it is called is told when the file is read,
// not when the first event is sent.
func TestTrust04PrivateWebhooksAreDeclared(t *testing.T) {
	file := func(webhook string) []byte {
		return []byte("destinations: [{name: a, webhook: {secret: 'env:A', " + webhook + "}}]\nroutes: [{to: a}]\n")
	}
	for _, url := range []string{"http://localhost:1/canary", "http://127.0.0.1/canary", "http://[::1]/canary", "https://10.0.0.1/canary", "https://[fd00::1]/canary", "https://169.254.169.254/canary", "https://0.0.0.0/canary"} {
		_, err := ReadDeclaration(file("url: '" + url + "'"))
		if err == nil || !strings.Contains(err.Error(), "allowPrivate: true") || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", url, err)
		}
		if d, err := ReadDeclaration(file("allowPrivate: true, url: '" + url + "'")); err != nil || !d.Destinations[0].Webhook.AllowPrivate {
			t.Errorf("%s: %v", url, err)
		}
	}
	if _, err := ReadDeclaration(file("url: 'https://93.184.216.34/'")); err != nil {
		t.Error(err)
	}
	if _, err := ReadDeclaration(file("url: 'https://x.example/', oldSecret: 'env:A'")); err == nil || !strings.Contains(err.Error(), "same reference") {
		t.Error(err)
	}
	if d, err := ReadDeclaration(file("url: 'https://x.example/', oldSecret: 'env:B'")); err != nil || d.Destinations[0].Webhook.OldSecret.String() != "env:B" {
		t.Error(err)
	}
}

// A33: whatever is wrong with a file, a secret that stands in it is not repeated.
func TestWrongDeclarationsTellNoSecret(t *testing.T) {
	for name, text := range map[string]string{
		"a literal":         "destinations:\n- name: a\n  webhook: {url: https://x.example/, secret: canary-4711}\nroutes: [{to: a}]\n",
		"an unknown key":    "destinations:\n- name: a\n  nats: {url: nats://x, stream: S, password: canary-4711}\nroutes: [{to: a}]\n",
		"a wrong type":      "destinations:\n- name: a\n  webhook: {url: [\"https://x.example/canary-4711\"], secret: env:A}\nroutes: [{to: a}]\n",
		"a broken line":     "destinations:\n- name: a\n  webhook: {secret: canary-4711\n",
		"two of one key":    "destinations:\n- name: a\n  webhook: {url: a, url: canary-4711}\nroutes: [{to: a}]\n",
		"a password":        "destinations:\n- name: a\n  nats: {url: 'nats://me:canary-4711@host:4222', stream: S}\nroutes: [{to: a}]\n",
		"a broken address":  "destinations:\n- name: a\n  nats: {url: 'nats://me:canary-4711@ho st:x', stream: S}\nroutes: [{to: a}]\n",
		"a broken webhook":  "destinations:\n- name: a\n  webhook: {url: 'https://me:canary-4711@ho st', secret: env:A}\nroutes: [{to: a}]\n",
		"a webhook with it": "destinations:\n- name: a\n  webhook: {url: 'https://me:canary-4711@host/', secret: env:A}\nroutes: [{to: a}]\n",
	} {
		_, err := ReadDeclaration([]byte(text))
		if err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
