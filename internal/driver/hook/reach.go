// Package hook is what all webhooks have in common, whatever they carry: the way to a
// receiver, the signature of the Standard Webhooks specification, and what is said when
// no answer came.
//
// It must never follow a redirect, go through a proxy that the environment names, reach
// a private address that nobody allowed, sign with a key that can be guessed, or say
// anything in an error that is not its own words.
package hook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/driver/httpclient"
)

const (
	longestConnect = 15 * time.Second
	keepAlive      = 30 * time.Second
	idleTimeout    = 90 * time.Second
	maxHeaderBytes = 64 << 10
)

// Way is how a receiver is reached.
type Way struct {
	AllowPrivate bool        // it may be this machine, or one of its network
	Concurrent   int         // connections that are kept for the next request
	TLS          *tls.Config // nil: authorities of the system
}

// NewTransport reaches a receiver directly: a proxy of the environment would read
// what is sent, and nobody has declared it (D§5.30).
func NewTransport(w Way) *http.Transport {
	dialer := &net.Dialer{Timeout: longestConnect, KeepAlive: keepAlive}
	if !w.AllowPrivate {
		dialer.Control = httpclient.PublicOnly("set allowPrivate for this webhook")
	}
	if w.TLS == nil {
		w.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	return &http.Transport{
		Proxy:                  nil,
		DialContext:            dialer.DialContext,
		TLSClientConfig:        w.TLS,
		TLSHandshakeTimeout:    longestConnect,
		MaxResponseHeaderBytes: maxHeaderBytes,
		DisableKeepAlives:      w.Concurrent == 0,
		MaxIdleConnsPerHost:    w.Concurrent,
		IdleConnTimeout:        idleTimeout,
		ForceAttemptHTTP2:      true,
	}
}

// FollowNothing returns a client that takes a redirect for the answer: where it leads
// was not declared.
func FollowNothing(c http.Client) *http.Client {
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &c
}

// NoAnswer says why there was none within the time it had. Errors of net/http hold the
// address, which may hold a key, and words of the receiver, which may repeat one (A33):
// nothing of them is passed on.
func NoAnswer(err error, within time.Duration) error {
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("no answer: %w", context.Canceled)
	}
	return errors.New("no answer: " + WhyNot(err, within, "what came from the receiver is no answer of HTTP"))
}

// WhyNot says in our own words what was wrong with a connection, or otherwise.
func WhyNot(err error, within time.Duration, otherwise string) string {
	var (
		ours      *fault.Error
		unknown   x509.UnknownAuthorityError
		otherHost x509.HostnameError
		badCert   x509.CertificateInvalidError
		checked   *tls.CertificateVerificationError
		noTLS     tls.RecordHeaderError
		alert     tls.AlertError
		name      *net.DNSError
		network   net.Error
	)
	switch {
	case errors.As(err, &ours):
		return ours.Err.Error()
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("none within %s", within)
	case errors.As(err, &name) && name.IsNotFound:
		return "the name of the receiver is not known (DNS)"
	case errors.As(err, &name):
		return "the name of the receiver could not be looked up (DNS)"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "no server listens there (connection refused)"
	case errors.As(err, &unknown):
		return "the certificate of the receiver is not signed by an authority that this machine trusts"
	case errors.As(err, &otherHost):
		return "the certificate of the receiver is for another name"
	case errors.As(err, &badCert) && badCert.Reason == x509.Expired:
		return "the certificate of the receiver has expired, or is not valid yet"
	case errors.As(err, &badCert), errors.As(err, &checked):
		return "the certificate of the receiver is not valid"
	case errors.As(err, &noTLS):
		return "the receiver does not speak TLS at this port"
	case errors.As(err, &alert):
		return "the receiver refused the TLS connection"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "the connection was closed before one came"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "there is no way to the receiver (host or network unreachable)"
	case errors.As(err, &network) && network.Timeout():
		return "the receiver took too long"
	}
	return otherwise
}
