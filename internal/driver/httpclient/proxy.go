package httpclient

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/secret"
)

type proxyKey struct{}

// proxyOf reads what route laid down; connections are kept per proxy.
func proxyOf(r *http.Request) (*url.URL, error) {
	proxy, ok := r.Context().Value(proxyKey{}).(*url.URL)
	if !ok {
		return nil, errors.New("no proxy for a source that has one")
	}
	return proxy, nil
}

// routeRequest picks the connections a request may use. A source with a proxy is never
// asked without it.
func (c *Client) routeRequest(ctx context.Context, r *exchange.Request) (*http.Client, context.Context, error) {
	switch {
	case r.Proxy.IsZero() && r.AllowPrivate:
		return c.private, ctx, nil
	case r.Proxy.IsZero():
		return c.public, ctx, nil
	}
	if !r.AllowPrivate && !namesPublic(r.URL.Hostname()) {
		return nil, nil, markUnsent(fault.Newf(fault.Refused, "%s is a private or local name; set http.allowPrivate for this source if that is intended", r.URL.Hostname()))
	}
	proxy, err := c.proxyAddress(ctx, r)
	switch {
	case errors.Is(err, secret.ErrTrouble):
		// Next time it may be read. It is no trouble of the upstream: behind a breaker
		// it would be waited for without end, and nobody be called.
		f := fault.New(fault.Unauthorized, fmt.Errorf("http.proxy: %w", err))
		f.Level = fault.Transient
		return nil, nil, markUnsent(f)
	case err != nil:
		return nil, nil, markUnsent(fault.New(fault.Refused, fmt.Errorf("http.proxy: %w", err)))
	}
	return c.proxied, context.WithValue(ctx, proxyKey{}, proxy), nil
}

// proxyAddress returns the address behind the reference. Its errors repeat nothing of
// it: it may hold a password (I12).
func (c *Client) proxyAddress(ctx context.Context, r *exchange.Request) (*url.URL, error) {
	if c.reveal == nil {
		return nil, errors.New("this client cannot read references")
	}
	text, err := c.reveal(ctx, r.Proxy)
	if err != nil {
		return nil, err
	}
	proxy, err := url.Parse(text.Reveal())
	if err != nil || proxy.Host == "" || !slices.Contains([]string{"http", "https", "socks5", "socks5h"}, proxy.Scheme) {
		return nil, fmt.Errorf("%s does not hold the address of a proxy: http://host:port, https://… or socks5://…", r.Proxy)
	}
	if err := exchange.CheckAuthority(proxy); err != nil {
		return nil, fmt.Errorf("the address in %s: %w", r.Proxy, err)
	}
	return proxy, nil
}

// secretsOfProxy hides the password of the proxy a request goes through: a proxy
// that is in trouble answers in the place of the upstream, with what it was asked.
// It is nil if there is no password.
func secretsOfProxy(ctx context.Context) *secret.Masker {
	proxy, ok := ctx.Value(proxyKey{}).(*url.URL)
	if !ok || proxy.User == nil {
		return nil
	}
	password, _ := proxy.User.Password()
	pair := base64.StdEncoding.EncodeToString([]byte(proxy.User.Username() + ":" + password))
	return secret.NewMasker(secret.New(password), secret.New(pair))
}

// refusedByProxy returns the error of a proxy that refused, in our words: net/http
// would repeat the proxy's own.
func refusedByProxy(_ context.Context, _ *url.URL, _ *http.Request, answer *http.Response) error {
	switch answer.StatusCode {
	case http.StatusOK:
		return nil
	case http.StatusForbidden, http.StatusProxyAuthRequired:
		return fault.Newf(fault.Unauthorized, "the proxy of http.proxy does not let us through (HTTP %d)", answer.StatusCode)
	}
	return fault.Newf(fault.Network, "the proxy of http.proxy did not reach the upstream (HTTP %d)", answer.StatusCode)
}

func markUnsent(f *fault.Error) *fault.Error {
	f.Unsent = true
	return f
}

// namesPublic judges a host by its name alone. A proxy resolves names itself, so
// where they lead cannot be checked here; what names a private place outright can.
func namesPublic(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if ip, err := netip.ParseAddr(host); err == nil {
		return isPublic(ip)
	}
	labels := strings.Split(host, ".")
	last := labels[len(labels)-1]
	if len(labels) == 1 || slices.Contains([]string{"localhost", "local", "internal", "lan", "home", "corp", "intranet"}, last) {
		return false
	}
	// 127.1 and 0x7f.1 are addresses to some readers.
	return last != "" && !isDigit(last[0])
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
