package webhook

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

// newTransport reaches a receiver directly: a proxy of the environment would read
// what is sent, and nobody has declared it (D§5.30).
func newTransport(o Options) *http.Transport {
	dialer := &net.Dialer{Timeout: longestConnect, KeepAlive: keepAlive}
	if !o.AllowPrivate {
		dialer.Control = httpclient.PublicOnly("set allowPrivate for this webhook")
	}
	return &http.Transport{
		Proxy:                  nil,
		DialContext:            dialer.DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    longestConnect,
		MaxResponseHeaderBytes: maxHeaderBytes,
		MaxIdleConnsPerHost:    o.Concurrent,
		IdleConnTimeout:        idleTimeout,
		ForceAttemptHTTP2:      true,
	}
}

// noAnswer says why there was none. Errors of net/http hold the address, which may
// hold a key, and words of the receiver, which may repeat one (A33): nothing of
// them is passed on.
func (p *Publisher) noAnswer(err error) error {
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("no answer: %w", context.Canceled)
	}
	return errors.New("no answer: " + p.whyNoAnswer(err))
}

func (p *Publisher) whyNoAnswer(err error) string {
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
		return fmt.Sprintf("none within %s", p.options.Timeout)
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
	return "what came from the receiver is no answer of HTTP"
}
