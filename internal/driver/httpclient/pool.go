package httpclient

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/patra-ingest/patra/internal/core/secret"
)

// Options is what a client takes from its surroundings.
type Options struct {
	// Reveal reads the address of a proxy. Without it a source with a proxy is refused.
	Reveal func(ctx context.Context, ref secret.Ref) (secret.Text, error)

	// For tests: what replaces the network, the names and the trusted certificates.
	Dial     func(ctx context.Context, network, address string) (net.Conn, error)
	Resolver *net.Resolver
	Roots    *x509.CertPool
}

const (
	longestConnect  = 2 * time.Minute // http.connectTimeout ends it sooner
	maxHeaderBytes  = 64 << 10
	connsPerHost    = 16
	idleConnTimeout = 90 * time.Second
	keepAlive       = 30 * time.Second
	pingTimeout     = 15 * time.Second
)

func newClient(o Options, control controlFunc, proxy func(*http.Request) (*url.URL, error)) *http.Client {
	dial := o.Dial
	if dial == nil {
		dial = newDialer(o.Resolver, control).DialContext
	}
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                  proxy, // nil is none: HTTP_PROXY in the environment must not reroute requests
			DialContext:            dial,
			TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: o.Roots},
			TLSHandshakeTimeout:    longestConnect,
			MaxResponseHeaderBytes: maxHeaderBytes,
			MaxIdleConnsPerHost:    connsPerHost,
			IdleConnTimeout:        idleConnTimeout,
			DisableCompression:     true, // decoded here, with caps
			ForceAttemptHTTP2:      true,
			// A kept connection whose other end is gone looks alive until somebody asks.
			HTTP2:                  &http.HTTP2Config{SendPingTimeout: keepAlive, PingTimeout: pingTimeout},
			OnProxyConnectResponse: refusedByProxy,
		},
		Jar:           nil, // no cookies: a session nobody declared would change what is served
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func newDialer(names *net.Resolver, control controlFunc) *net.Dialer {
	return &net.Dialer{Timeout: longestConnect, KeepAlive: keepAlive, Control: control, Resolver: names}
}
