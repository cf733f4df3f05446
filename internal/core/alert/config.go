// Package alert decides which findings call a person, when, and what is told. It is pure:
// findings and the time go in, messages and the state to keep come out.
package alert

import (
	"strings"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/secret"
)

// Config is the section `alerts` of patra.yaml.
type Config struct {
	Receivers map[string]Receiver `json:"receivers,omitempty" doc:"who is told, by a name of your choice"`
	Rules     map[string]Rule     `json:"rules,omitempty" doc:"which findings are told to whom, by a name of your choice; without rules every finding of at least WARNING goes to all receivers"`

	Every        duration.Duration `json:"every,omitzero" doc:"how often findings are looked at; without it PT30S"`
	ResolveAfter duration.Duration `json:"resolveAfter,omitzero" doc:"how long a finding must be absent before it counts as resolved; without it PT5M"`
}

// Rule is which findings are told to whom, and how often.
type Rule struct {
	Name     string            `json:"-"` // the key it stands under
	Severity string            `json:"severity,omitempty" enum:"CRITICAL,WARNING,NOTICE" doc:"the least severity; without it WARNING"`
	Codes    []string          `json:"codes,omitempty" doc:"only findings with these codes; without it all"`
	Sources  []string          `json:"sources,omitempty" doc:"only findings about these sources; without it all"`
	Healing  bool              `json:"healing,omitempty" doc:"also findings that heal automatically"`
	For      duration.Duration `json:"for,omitzero" doc:"how long a finding must last before it is told; without it PT2M"`
	Repeat   duration.Duration `json:"repeat,omitzero" doc:"after what time it is told again while it lasts; without it PT4H"`
	GroupBy  []string          `json:"groupBy,omitempty" doc:"what alerts of one message have in common: source, endpoint, operation, code; without it source"`
	Notify   []string          `json:"notify,omitempty" doc:"names of receivers; without it all"`
}

// Receiver is one way to reach people. Exactly one of its fields is set.
type Receiver struct {
	Webhook *Webhook `json:"webhook,omitempty" doc:"an HTTP address"`
	Mail    *Mail    `json:"mail,omitempty" doc:"mail by SMTP"`
	Command *Command `json:"command,omitempty" doc:"a program of this machine"`
}

// Webhook is an HTTP address that messages are posted to.
type Webhook struct {
	URL          string       `json:"url" doc:"address; a reference such as env:ALERT_URL where it holds a secret"`
	Body         string       `json:"body,omitempty" enum:"standard,slack,dingtalk,feishu" doc:"shape of the body; without it standard"`
	Secret       []secret.Ref `json:"secret,omitempty" doc:"references to secrets that sign each message, the newest first; while one is replaced both sign"`
	AllowPrivate bool         `json:"allowPrivate,omitempty" doc:"the address may be this machine, or one of its network"`
	CA           string       `json:"ca,omitempty" doc:"file with certificates of authorities of your own; without it those of the system"`
}

// Shapes of bodies.
const (
	Standard = "standard"
	Slack    = "slack"
	DingTalk = "dingtalk"
	Feishu   = "feishu"
)

// Shape returns the shape of the body.
func (w Webhook) Shape() string {
	if w.Body == "" {
		return Standard
	}
	return w.Body
}

// Mail is a mailbox.
type Mail struct {
	Server   string     `json:"server" doc:"host and port of the SMTP server"`
	TLS      string     `json:"tls,omitempty" enum:"starttls,implicit,off" doc:"how the connection is encrypted; without it starttls, and implicit on port 465; off for a server of this machine only"`
	CA       string     `json:"ca,omitempty" doc:"file with certificates of authorities of your own; without it those of the system"`
	From     string     `json:"from" doc:"address of the sender"`
	To       []string   `json:"to" doc:"addresses of the receivers"`
	User     string     `json:"user,omitempty" doc:"name to log in with"`
	Password secret.Ref `json:"password,omitzero" doc:"reference to the password, such as env:SMTP_PASSWORD"`
}

// How a connection to a server of mail is encrypted.
const (
	StartTLS    = "starttls" // it begins in the clear, and nothing is sent before it is encrypted
	ImplicitTLS = "implicit" // from the first byte
	NoTLS       = "off"
)

// Encryption returns how the connection is encrypted.
func (m Mail) Encryption() string {
	switch {
	case m.TLS != "":
		return m.TLS
	case strings.HasSuffix(m.Server, ":465"):
		return ImplicitTLS
	}
	return StartTLS
}

// Command is a program that gets the message as JSON on its standard input.
type Command struct {
	Run         []string `json:"run" doc:"program with its arguments; no shell is between"`
	Environment []string `json:"environment,omitempty" doc:"variables it gets beside PATH, HOME, USER, LANG and a few others"`
}
