package config

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/alert"
	"github.com/patra-ingest/patra/internal/core/secret"
)

func TestReceiversOfAlerts(t *testing.T) {
	got, err := Decode("patra.yaml", []byte(`
alerts:
  receivers:
    ops:
      webhook: {url: "https://hooks.example.org/patra", secret: ['env:ALERT_SECRET', "file:/run/secrets/old"]}
    chat:
      webhook: {url: env:CHAT_URL, body: dingtalk, secret: ['env:CHAT_SECRET']}
    here:
      webhook: {url: "http://127.0.0.1:8080/alerts", secret: ['env:ALERT_SECRET'], allowPrivate: true}
    night:
      mail: {server: "smtp.example.org:587", from: patra@example.org, to: [oncall@example.org, b@example.org], user: patra, password: env:SMTP_PASSWORD}
    local:
      mail: {server: "localhost:25", tls: "off", from: patra@example.org, to: [root@localhost]}
    pager:
      command: {run: [/usr/local/bin/page, --urgent], environment: [PAGER_TOKEN]}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]alert.Receiver{
		"ops":   {Webhook: &alert.Webhook{URL: "https://hooks.example.org/patra", Secret: []secret.Ref{ref(t, "env:ALERT_SECRET"), ref(t, "file:/run/secrets/old")}}},
		"chat":  {Webhook: &alert.Webhook{URL: "env:CHAT_URL", Body: "dingtalk", Secret: []secret.Ref{ref(t, "env:CHAT_SECRET")}}},
		"here":  {Webhook: &alert.Webhook{URL: "http://127.0.0.1:8080/alerts", Secret: []secret.Ref{ref(t, "env:ALERT_SECRET")}, AllowPrivate: true}},
		"night": {Mail: &alert.Mail{Server: "smtp.example.org:587", From: "patra@example.org", To: []string{"oncall@example.org", "b@example.org"}, User: "patra", Password: ref(t, "env:SMTP_PASSWORD")}},
		"local": {Mail: &alert.Mail{Server: "localhost:25", TLS: "off", From: "patra@example.org", To: []string{"root@localhost"}}},
		"pager": {Command: &alert.Command{Run: []string{"/usr/local/bin/page", "--urgent"}, Environment: []string{"PAGER_TOKEN"}}},
	}
	if !reflect.DeepEqual(got.Alerts.Receivers, want) {
		t.Errorf("%+v", got.Alerts.Receivers)
	}
	if want["night"].Mail.Encryption() != alert.StartTLS || (alert.Mail{Server: "a:465"}).Encryption() != alert.ImplicitTLS || want["local"].Mail.Encryption() != alert.NoTLS {
		t.Error("encryption is not what was written")
	}
}

// Every mistake has its line, and no secret that stands in the file is repeated.
func TestReceiversOfAlertsAreStrict(t *testing.T) {
	const hook = "webhook: {url: 'https://a.example/', secret: ['env:A']}"
	const mail = "server: 'smtp.example.org:587', from: a@example.org, to: [b@example.org]"
	for receiver, says := range map[string]string{
		"a: {}":      "patra.yaml:3:5: alerts.receivers.a: E-VALUE: expected exactly one of",
		"'a b': {}":  `patra.yaml:3:5: alerts.receivers["a b"]: E-VALUE: is not a name`,
		"a: {sms: }": "alerts.receivers.a.sms: E-UNKNOWN-KEY",
		"a: {" + hook + ", mail: {" + mail + "}}":                                      "exactly one of",
		"a: {webhook: {url: 'https://me:canary@a.example/', secret: ['env:A']}}":       "alerts.receivers.a.webhook.url: E-VALUE: must not hold a password",
		"a: {webhook: {url: 'http://a.example/canary', secret: ['env:A']}}":            "must be https",
		"a: {webhook: {url: 'https://127.0.0.1/canary', secret: ['env:A']}}":           "allowPrivate: true",
		"a: {webhook: {url: 'https://10.0.0.1/canary', secret: ['env:A']}}":            "allowPrivate: true",
		"a: {webhook: {url: 'https://a.example:99999/', secret: ['env:A']}}":           "ports are numbers",
		"a: {webhook: {url: canary, secret: ['env:A']}}":                               "expected an address",
		"a: {webhook: {secret: ['env:A']}}":                                            "alerts.receivers.a.webhook",
		"a: {webhook: {url: 'https://a.example/'}}":                                    "patra.yaml:3:9: alerts.receivers.a.webhook.secret: E-VALUE: is missing",
		"a: {webhook: {url: 'https://a.example/', secret: [canary]}}":                  "E-SECRET-LITERAL",
		"a: {webhook: {url: 'https://a.example/', secret: ['env:A', 'env:A']}}":        "twice",
		"a: {webhook: {url: 'https://a.example/', secret: ['env:A'], ca: a.pem}}":      "is not an absolute path",
		"a: {webhook: {url: 'https://a.example/', secret: ['env:A'], body: teams}}":    "E-DICT-CODE",
		"a: {webhook: {url: env:A, body: slack, secret: ['env:B']}}":                   "Slack checks no signature",
		"a: {webhook: {url: 'https://hooks.slack.example/canary', body: slack}}":       "whoever knows a slack address",
		"a: {webhook: {url: env:A, body: feishu, secret: ['env:B', 'env:C']}}":         "takes one signature",
		"a: {mail: {server: 'smtp.example.org', from: a@b, to: [a@b]}}":                "patra.yaml:3:24: alerts.receivers.a.mail.server: E-VALUE: expected host and port",
		"a: {mail: {server: 'smtp://me:canary@smtp.example.org:25', from: a@b}}":       "expected host and port",
		"a: {mail: {server: 'smtp.example.org:0', from: a@b, to: [a@b]}}":              "from 1 to 65535",
		"a: {mail: {server: 'smtp.example.org:25', tls: 'off', from: a@b, to: [a@b]}}": "this machine only",
		"a: {mail: {server: 'localhost:25', tls: 'off', ca: /a, from: a, to: [a@b]}}":  "has no use where tls is off",
		"a: {mail: {server: 'a:1', from: 'P <a@b>', to: [a@b]}}":                       "alerts.receivers.a.mail.from: E-VALUE: is not an e-mail address",
		"a: {mail: {server: 'a:1', from: a@b, to: ['a@b, c@d']}}":                      "alerts.receivers.a.mail.to: E-VALUE",
		"a: {mail: {server: 'a:1', from: a@b}}":                                        "alerts.receivers.a.mail",
		"a: {mail: {" + mail + ", user: me}}":                                          "user and password go together",
		"a: {mail: {" + mail + ", password: env:A}}":                                   "user and password go together",
		"a: {mail: {" + mail + ", user: me, password: canary}}":                        "E-SECRET-LITERAL",
		"a: {command: {run: []}}":                                                      "needs a program",
		"a: {command: {run: [bin/page]}}":                                              "is not an absolute path",
		"a: {command: {run: page me}}":                                                 "E-TYPE",
		"a: {command: {run: [page], environment: ['A=canary b']}}":                     "is not the name of a variable",
	} {
		_, err := Decode("patra.yaml", []byte("alerts:\n  receivers:\n    "+receiver))
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %s", receiver, err, says)
		}
		if err != nil && strings.Contains(err.Error(), "canary") && !strings.Contains(receiver, "A=canary") {
			t.Errorf("%s: the secret is repeated: %v", receiver, err)
		}
	}
}

// The example of the page is one that is taken.
func TestTheExampleOfThePageIsRead(t *testing.T) {
	page, err := os.ReadFile("../../../docs/receivers.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```yaml\n")
	example, _, _ := strings.Cut(rest, "```")
	got, err := Decode("patra.yaml", []byte(example))
	if err != nil || len(got.Alerts.Receivers) != 5 {
		t.Errorf("%+v, %v", got, err)
	}
}
