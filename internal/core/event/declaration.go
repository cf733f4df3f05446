package event

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/link"
	"github.com/patra-ingest/patra/internal/core/secret"
	"github.com/patra-ingest/patra/internal/core/spelling"
)

// Declaration says who gets which events. It belongs to an installation, like the
// address of its database, and not to a source: a source file is shared, and where
// its events go must not change what is asked of an upstream.
type Declaration struct {
	Destinations []Destination `yaml:"destinations"`
	Routes       []Route       `yaml:"routes"`
}

// Destination is a receiver. Exactly one of its kinds is given.
type Destination struct {
	Name     string   `yaml:"name"`
	Content  Content  `yaml:"content"`
	MaxBytes int      `yaml:"maxBytes"`
	JSONL    *JSONL   `yaml:"jsonl"`
	Webhook  *Webhook `yaml:"webhook"`
	NATS     *NATS    `yaml:"nats"`
}

// JSONL is a folder of files with one event a line.
type JSONL struct {
	Dir        string `yaml:"dir"`
	FileBytes  int64  `yaml:"fileBytes"`  // a file that is larger is closed, and the next one begun
	FileEvents int    `yaml:"fileEvents"` // the same by lines
}

// Webhook is an address that takes one event a request.
type Webhook struct {
	URL        string     `yaml:"url"`
	Secret     secret.Ref `yaml:"secret"`    // of the signature
	OldSecret  secret.Ref `yaml:"oldSecret"` // signs too, until all receivers know the other one
	Concurrent int        `yaml:"concurrent"`
	// AllowPrivate lets events go to this machine or its network.
	AllowPrivate bool `yaml:"allowPrivate"`
}

// NATS is a JetStream stream.
type NATS struct {
	URL         string     `yaml:"url"`
	Stream      string     `yaml:"stream"`
	Subject     string     `yaml:"subject"` // what subjects begin with
	Token       secret.Ref `yaml:"token"`
	Credentials string     `yaml:"credentials"` // a file as nsc writes it

	link.Security `yaml:",inline"` // tls, ca, cert, key, serverName
}

// Route leads events to a destination. Empty lists fit all; of several routes that
// fit, the first counts.
type Route struct {
	Sources   []string `yaml:"sources"`
	Endpoints []string `yaml:"endpoints"`
	Events    []string `yaml:"events"` // inserted, updated, removed
	To        string   `yaml:"to"`     // empty: they go to no destination
}

// Form returns how a destination wants events.
func (d Destination) Form() Form { return Form{Content: d.Content, MaxBytes: d.MaxBytes} }

// Defaults of what is not declared.
const (
	defaultMaxBytes   = 512 << 10 // half of what a NATS server takes unless told otherwise
	defaultFileBytes  = 128 << 20
	defaultConcurrent = 8
	mostConcurrent    = 64
	leastMaxBytes     = 16 << 10 // an envelope with the longest id that is stored, every byte of it escaped
)

// ReadDeclaration reads the text of a file, strictly, and reports all that is wrong
// with it.
func ReadDeclaration(text []byte) (Declaration, error) {
	var d Declaration
	err := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict(), yaml.DisallowUnknownField()).Decode(&d)
	if err != nil && !errors.Is(err, io.EOF) {
		// Line and column, not the lines themselves: they may hold a secret (I12).
		text := strings.TrimSpace(yaml.FormatError(err, false, false))
		if strings.Contains(text, "[]interface") && strings.Contains(text, "Declaration.Routes of type string") { // several names in `to`
			text += ": " + oneReceiver
		}
		return d, fmt.Errorf("%w: %s", fault.ErrInvalid, text)
	}
	d = d.withDefaults()
	return d, d.Validate()
}

func (d Declaration) withDefaults() Declaration {
	d.Destinations = slices.Clone(d.Destinations)
	for i := range d.Destinations {
		to := &d.Destinations[i]
		if to.Content == "" {
			to.Content = WholeRecord
		}
		if to.MaxBytes == 0 {
			to.MaxBytes = defaultMaxBytes
		}
		if to.JSONL != nil && to.JSONL.FileBytes == 0 {
			to.JSONL.FileBytes = defaultFileBytes
		}
		if to.Webhook != nil && to.Webhook.Concurrent == 0 {
			to.Webhook.Concurrent = defaultConcurrent
		}
		if to.NATS != nil && to.NATS.Subject == "" {
			to.NATS.Subject = "patra.records"
		}
	}
	return d
}

// Validate tells all that is wrong, one line each.
func (d Declaration) Validate() error {
	var problems []string
	bad := func(where, format string, args ...any) {
		problems = append(problems, where+": "+fmt.Sprintf(format, args...))
	}
	if len(d.Destinations) == 0 {
		bad("destinations", "none is declared, so events could not be delivered")
	}
	if len(d.Routes) == 0 {
		bad("routes", "none is declared, so no event would be published: for all events of all sources say `- to: NAME`")
	}
	var names []string
	for i, to := range d.Destinations {
		where := fmt.Sprintf("destinations[%d]", i)
		if !name.MatchString(to.Name) {
			bad(where, "name %q: expected 1 to 32 letters, digits, - and _", to.Name)
		}
		if slices.Contains(names, to.Name) {
			bad(where, "a second destination is called %s", to.Name)
		}
		names = append(names, to.Name)
		to.checkDestination(func(format string, args ...any) { bad(where, format, args...) })
	}
	for i, r := range d.Routes {
		r.checkRoute(names, func(format string, args ...any) { bad(fmt.Sprintf("routes[%d]", i), format, args...) })
	}
	if len(problems) == 0 { // what is misspelled fits nothing, and is told first
		problems = d.unreachableRoutes()
	}
	if len(problems) > 0 {
		return fmt.Errorf("%w: %s", fault.ErrInvalid, strings.Join(problems, "\n  "))
	}
	return nil
}

var (
	name    = regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`)
	subject = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)
)

func (to Destination) checkDestination(bad func(string, ...any)) {
	kinds := 0
	for _, is := range []bool{to.JSONL != nil, to.Webhook != nil, to.NATS != nil} {
		if is {
			kinds++
		}
	}
	if kinds != 1 {
		bad("expected exactly one of jsonl, webhook and nats")
	}
	if !slices.Contains([]Content{WholeRecord, FieldsOnly, NoData}, to.Content) {
		bad("content %q: expected record, fields or none", to.Content)
	}
	if to.MaxBytes < leastMaxBytes {
		bad("maxBytes %d: an event without its data takes up to %d", to.MaxBytes, leastMaxBytes)
	}
	if j := to.JSONL; j != nil && (j.Dir == "" || j.FileBytes < 0 || j.FileEvents < 0) {
		bad("jsonl: dir is needed, fileBytes and fileEvents cannot be negative")
	}
	if w := to.Webhook; w != nil {
		w.checkWebhook(bad)
	}
	if n := to.NATS; n != nil {
		n.checkNATS(bad)
	}
}

func (w Webhook) checkWebhook(bad func(string, ...any)) {
	if err := link.CheckReceiver(w.URL, w.AllowPrivate); err != nil {
		bad("webhook: url: %v", err)
	}
	if w.Secret.IsZero() {
		bad("webhook: secret is needed, as a reference such as env:HOOK_SECRET: without a signature a receiver cannot tell who sent an event")
	}
	if !w.OldSecret.IsZero() && w.OldSecret == w.Secret {
		bad("webhook: oldSecret is the same reference as secret: name the one that leads to the secret that receivers knew before")
	}
	if w.Concurrent < 1 || w.Concurrent > mostConcurrent {
		bad("webhook: concurrent %d: expected 1 to %d", w.Concurrent, mostConcurrent)
	}
}

func (n NATS) checkNATS(bad func(string, ...any)) {
	for server := range strings.SplitSeq(n.URL, ",") {
		if u, err := url.Parse(strings.TrimSpace(server)); err != nil || u.Host == "" || u.Scheme != "nats" && u.Scheme != "tls" || u.User != nil {
			bad("nats: url: expected nats://host:4222 or tls://host:4222, without a password: use token or credentials")
			break
		} else if err := exchange.CheckAuthority(u); err != nil {
			bad("nats: url: %v", err)
			break
		}
	}
	n.checkSecurity(bad)
	if !name.MatchString(n.Stream) {
		bad("nats: stream %q: expected the name of a stream: 1 to 32 letters, digits, - and _", n.Stream)
	}
	if !subject.MatchString(n.Subject) {
		bad("nats: subject %q: expected words of letters, digits, - and _ with dots between them", n.Subject)
	}
}

func (r Route) checkRoute(names []string, bad func(string, ...any)) {
	if r.To != "" && !slices.Contains(names, r.To) {
		hint := ""
		if near := spelling.Nearest(r.To, names); near != "" {
			hint = ": did you mean " + near + "?"
		}
		bad("to: %q is not the name of a declared destination%s", r.To, hint)
	}
	for _, e := range r.Events {
		if !slices.Contains([]string{"inserted", "updated", "removed"}, e) {
			bad("events: %q: expected inserted, updated or removed", e)
		}
	}
}

// Destination finds where an event goes; false is nowhere.
func (d Declaration) Destination(source, endpoint string, op Op) (string, bool) {
	for _, r := range d.Routes {
		if r.fitsChange(source, endpoint, op) {
			return r.To, r.To != ""
		}
	}
	return "", false
}
