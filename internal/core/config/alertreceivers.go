package config

import (
	"fmt"
	"maps"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/patra-ingest/patra/internal/core/alert"
	"github.com/patra-ingest/patra/internal/core/link"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/secret"
)

// receiverName is what stands in rules, commands and lists.
var receiverName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$`)

func (c *checker) alertReceivers(receivers map[string]alert.Receiver) {
	for _, name := range c.keysBelow("alerts.receivers") {
		r, at := receivers[name], registry.Path{"alerts", "receivers", name}
		if !receiverName.MatchString(name) {
			c.report(at.String(), "is not a name of a receiver", "1 to 32 letters, digits, - and _")
		}
		kinds := 0
		for _, is := range []bool{r.Webhook != nil, r.Mail != nil, r.Command != nil} {
			if is {
				kinds++
			}
		}
		if kinds != 1 {
			c.report(at.String(), "expected exactly one of webhook, mail and command", "declare one receiver for each way to be told")
		}
		if r.Webhook != nil {
			c.webhookReceiver(*r.Webhook, append(at, "webhook"))
		}
		if r.Mail != nil {
			c.mailReceiver(*r.Mail, append(at, "mail"))
		}
		if r.Command != nil {
			c.commandReceiver(*r.Command, append(at, "command"))
		}
	}
}

// keysBelow returns the keys that stand below one, also those with nothing in them,
// which lead to no value.
func (c *checker) keysBelow(path string) (out []string) {
	for _, place := range slices.Sorted(maps.Keys(c.places)) {
		rest, below := strings.CutPrefix(place, path)
		if key, dotted := strings.CutPrefix(rest, "."); below && dotted && !strings.ContainsAny(key, ".[") {
			out = append(out, key)
		} else if quoted, err := strconv.QuotedPrefix(strings.TrimPrefix(rest, "[")); below && err == nil && rest == "["+quoted+"]" {
			key, _ := strconv.Unquote(quoted) // which it is
			out = append(out, key)
		}
	}
	return out
}

func (c *checker) webhookReceiver(w alert.Webhook, at registry.Path) {
	report := c.reportBelow(at)
	if !IsReference(w.URL) {
		if err := link.CheckReceiver(w.URL, w.AllowPrivate); err != nil {
			report("url", err.Error(), "an address that holds a secret is named by a reference, such as env:ALERT_URL")
		}
	}
	switch shape := w.Shape(); {
	case shape == alert.Standard && len(w.Secret) == 0:
		report("secret", "is missing: without a signature a receiver cannot tell who sent a message", "a reference such as env:ALERT_SECRET; `openssl rand -base64 32` makes one")
	case shape == alert.Slack && len(w.Secret) > 0:
		report("secret", "has no use: Slack checks no signature", "leave it out; Slack knows us by the address alone, so give that as a reference, such as url: env:ALERT_URL")
	case shape != alert.Standard && len(w.Secret) > 1:
		report("secret", "has several references, and "+shape+" takes one signature", "name one; change the secret here and at the receiver at the same time")
	}
	if shape := w.Shape(); shape != alert.Standard && !IsReference(w.URL) {
		report("url", "stands in the file, and whoever knows a "+shape+" address can write to your people", "a reference such as env:ALERT_URL")
	}
	for i, ref := range w.Secret {
		if slices.Contains(w.Secret[:i], ref) {
			report("secret", "names the same reference twice", "")
		}
	}
	c.authorityFile(w.CA, report)
}

func (c *checker) authorityFile(ca string, report func(key, message, hint string)) {
	if ca != "" && !strings.HasPrefix(ca, "/") && !isDrive(ca) {
		report("ca", fmt.Sprintf("%q is not an absolute path", ca), "a relative path would depend on the folder that patra is started in")
	}
}

func (c *checker) mailReceiver(m alert.Mail, at registry.Path) {
	report := c.reportBelow(at)
	host, port, err := net.SplitHostPort(m.Server)
	number, bad := strconv.ParseUint(port, 10, 16)
	switch {
	case err != nil || host == "" || strings.ContainsFunc(host, func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune("/@", r) }):
		report("server", "expected host and port, such as smtp.example.org:587", "") // not repeated: it may hold a password
	case bad != nil || number == 0:
		report("server", "ports are numbers from 1 to 65535", "such as smtp.example.org:587")
	case m.Encryption() == alert.NoTLS && !link.IsLocal(host):
		report("tls", "off is allowed for a server on this machine only", "use starttls or implicit; without them passwords and messages could be read on the way")
	}
	if m.TLS == alert.NoTLS && m.CA != "" {
		report("ca", "has no use where tls is off", "")
	}
	if !IsAddress(m.From) {
		report("from", "is not an e-mail address", "such as patra@example.org, without a name")
	}
	if len(m.To) == 0 {
		report("to", "is missing", "addresses of those who are told, such as [oncall@example.org]")
	}
	for _, to := range m.To {
		if !IsAddress(to) {
			report("to", fmt.Sprintf("%q is not an e-mail address", to), "such as oncall@example.org, without a name")
		}
	}
	if (m.User == "") != m.Password.IsZero() {
		report("user", "user and password go together", "leave both out if the server takes mail without a login")
	}
	c.authorityFile(m.CA, report)
}

func (c *checker) commandReceiver(r alert.Command, at registry.Path) {
	report := c.reportBelow(at)
	if len(r.Run) == 0 || strings.TrimSpace(r.Run[0]) == "" {
		report("run", "needs a program", "such as [/usr/local/bin/page-me, --urgent]")
	} else if program := r.Run[0]; strings.ContainsAny(program, `/\`) && !strings.HasPrefix(program, "/") && !isDrive(program) {
		report("run", fmt.Sprintf("%q is not an absolute path", program), "a relative path would depend on the folder that patra is started in; a name without / is looked for in PATH")
	}
	for _, name := range r.Environment {
		if name == "" || strings.ContainsAny(name, "= $") {
			report("environment", fmt.Sprintf("%q is not the name of a variable", name), "such as PAGER_TOKEN")
		}
	}
}

// reportBelow reports problems of the keys of one section. One that is missing is
// reported where the section stands.
func (c *checker) reportBelow(at registry.Path) func(key, message, hint string) {
	return func(key, message, hint string) {
		path := append(slices.Clone(at), key).String()
		if _, known := c.places[path]; !known {
			c.places[path] = c.places[at.String()]
		}
		c.report(path, message, hint)
	}
}

// IsReference reports that a text names a secret instead of being one.
func IsReference(text string) bool {
	var ref secret.Ref
	return ref.UnmarshalText([]byte(text)) == nil
}
