// Package config is patra.yaml: what the person who runs an installation decides
// for all of it. Sections belong to the packages they configure; this package
// puts them together, reads them strictly and names the line of what is wrong.
//
// It is text in, values out. Where the file lies, and who may have written it,
// is judged by whoever opens it.
package config

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/patra-ingest/patra/internal/core/alert"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/threshold"
	"github.com/patra-ingest/patra/internal/core/trust"
)

// Config is the whole file. A new section is a field with its own type.
type Config struct {
	Contact  registry.Contact `json:"contact,omitzero" doc:"who we are to upstreams, where a source does not say so itself"`
	Trust    trust.Policy     `json:"trust,omitzero" doc:"what source files may use of this machine"`
	Log      Log              `json:"log,omitzero" doc:"how patra serve logs"`
	Work     Work             `json:"work,omitzero" doc:"how much a process does at once, how much is planned ahead, and what goes first"`
	Listen   Listen           `json:"listen,omitzero" doc:"where patra serve shows its metrics and its health"`
	Findings threshold.Config `json:"findings,omitzero" doc:"from when on something is a finding"`
	Remote   registry.Remote  `json:"remote,omitzero" doc:"what source files that come by HTTP may want of this machine; without it nothing"`
	Exports  Exports          `json:"exports,omitzero" doc:"files of exports that were asked for by HTTP"`
	Alerts   alert.Config     `json:"alerts,omitzero" doc:"who is told of findings, and of which"`
}

// Decode reads patra.yaml. The error, if any, is registry.Problems.
func Decode(file string, text []byte) (*Config, error) {
	c, places, err := registry.DecodeAs[Config](file, text)
	if err != nil {
		return nil, err
	}
	check := checker{places: places}
	check.contact(c.Contact)
	check.trust(c.Trust)
	check.log(c.Log)
	check.work(c.Work)
	check.findings(c.Findings)
	check.listen(c.Listen)
	check.exports(c.Exports)
	check.alertReceivers(c.Alerts.Receivers)
	check.alertRules(&c.Alerts)
	if err := check.problems.Err(); err != nil {
		return nil, err
	}
	return c, nil
}

type checker struct {
	places   registry.Origins
	problems registry.Problems
}

func (c *checker) report(path, message, hint string) {
	at := c.places[path]
	c.problems = append(c.problems, registry.Problem{File: at.File, Line: at.Line, Col: at.Col, Path: path, Code: "E-VALUE", Message: message, Hint: hint})
}

func (c *checker) contact(given registry.Contact) {
	if given.Email != "" && !IsAddress(given.Email) {
		c.report("contact.email", "is not an e-mail address", "such as you@example.org")
	}
}

// IsAddress reports that a text can be sent to upstreams as an address to write to.
func IsAddress(text string) bool {
	name, host, found := strings.Cut(text, "@")
	bad := func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune(`()<>\",;:@`, r) }
	return found && name != "" && host != "" && !strings.ContainsFunc(name, bad) && !strings.ContainsFunc(host, bad)
}

func (c *checker) trust(p trust.Policy) {
	for _, line := range p.Commands {
		if words := strings.Fields(line); len(words) == 0 || words[0] == "*" {
			c.report("trust.commands", "a command needs a name", "write the whole command line, such as: pass show ncbi")
		}
	}
	for _, folder := range p.Folders {
		if !strings.HasPrefix(folder, "/") && !isDrive(folder) {
			c.report("trust.folders", fmt.Sprintf("%q is not an absolute path", folder), "a relative path would depend on the folder that patra is started in")
		}
	}
	for _, name := range p.Environment {
		if name == "" || strings.ContainsAny(name, "= $") {
			c.report("trust.environment", fmt.Sprintf("%q is not the name of a variable", name), "such as VAULT_ADDR")
		}
	}
	for _, host := range slices.Sorted(maps.Keys(p.Secrets)) {
		if !isHost(host) {
			c.report(registry.Path{"trust", "secrets", host}.String(), "is not a host", "such as api.example.org, or api.example.org:8443 where the port is not 443; in lower case")
		}
	}
}

// isDrive reports whether a path begins with a drive, such as C:\.
func isDrive(path string) bool {
	return len(path) > 2 && path[1] == ':' && (path[2] == '\\' || path[2] == '/')
}

// isHost reports whether a use may name a host like this. A host that is never
// equal to one would be a consent that looks given and is not.
func isHost(text string) bool {
	if text == trust.Proxy {
		return true
	}
	if scheme, host, found := strings.Cut(text, "://"); found {
		u, err := url.Parse(text)
		return err == nil && u.Host == host && u.User == nil && (scheme == "https" || scheme == "tls") && trust.HostOf(u) == text
	}
	u, err := url.Parse("http://" + text)
	if err == nil && u.Port() == "" {
		u.Scheme = "https"
	}
	return err == nil && u.Host == text && u.User == nil && u.Port() != "443" && trust.HostOf(u) == text // 443 is what https has anyway
}
