// Package link decides which connections to servers are encrypted, and reads the
// options with which an address says how (D§5.30).
//
// A connection that leaves this machine is encrypted, and the server has to prove
// who it is, unless the operator has written tls=off. It must never fall back to
// plain text on its own: whoever stands between could ask for that.
package link

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"github.com/patra-ingest/patra/internal/core/fault"
)

// Security is what an operator says of the encryption of one connection. The zero
// value leaves it to the rule: encrypted unless the server is on this machine.
type Security struct {
	TLS        string `yaml:"tls"`        // on or off; empty: by the rule
	CA         string `yaml:"ca"`         // file with certificates of authorities; empty: those of the system
	Cert       string `yaml:"cert"`       // file with our own certificate; empty: none
	Key        string `yaml:"key"`        // file with its key
	ServerName string `yaml:"serverName"` // name in the server's certificate; empty: the host
}

// The values of tls.
const (
	On  = "on"
	Off = "off"
)

// IsLocal reports whether a host is this machine: then no other machine can
// listen to what is sent to it. An empty host is a socket.
func IsLocal(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if host == "" || host == "localhost" || strings.HasPrefix(host, "/") {
		return true
	}
	at, err := netip.ParseAddr(host)
	return err == nil && at.Unmap().IsLoopback()
}

// Encrypts reports whether the connection to a host is encrypted.
func (s Security) Encrypts(host string) bool {
	switch s.TLS {
	case On:
		return true
	case Off:
		return false
	}
	return !IsLocal(host) || s.hasFiles() // who names certificates means them to be used
}

func (s Security) hasFiles() bool { return s.CA+s.Cert+s.Key+s.ServerName != "" }

// Check reports what contradicts itself.
func (s Security) Check() error {
	switch {
	case s.TLS != "" && s.TLS != On && s.TLS != Off:
		return fmt.Errorf("%w: tls=%s: expected on or off; a certificate of an authority of your own is checked with ca=FILE", fault.ErrInvalid, s.TLS)
	case s.TLS == Off && s.hasFiles():
		return fmt.Errorf("%w: tls=off and ca, cert, key or serverName exclude each other: leave tls=off out to encrypt", fault.ErrInvalid)
	case (s.Cert == "") != (s.Key == ""):
		return fmt.Errorf("%w: cert and key are the two files of one certificate: name both", fault.ErrInvalid)
	}
	return nil
}

// Exposed returns the host of an address whose connection leaves the machine
// without encryption because the address says tls=off; "" if it does not.
func Exposed(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Query().Get("tls") != Off || u.Query().Get("socket") != "" || IsLocal(u.Hostname()) {
		return ""
	}
	return u.Hostname()
}

// Warning returns what is told of a connection that leaves the machine without
// encryption.
func Warning(what, host string) string {
	return fmt.Sprintf("warning: the connection to the %s at %s is not encrypted (tls=off): passwords and data can be read and changed on the way", what, host)
}
