package httpclient

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"

	"github.com/patra-ingest/patra/internal/core/fault"
)

// classifyError names what ended a request. A request that reached no server may be sent
// again whatever its token.
func (w *watch) classifyError(ctx context.Context, err error) error {
	var f *fault.Error
	switch cause := context.Cause(ctx); {
	case errors.As(cause, &f): // one of our limits
	case errors.As(err, &f): // a rule of ours
	default:
		f = fault.New(fault.Network, bareError(err))
	}
	out := *f
	out.Unsent = !w.wasSent()
	if name := ignoredProxy(); out.Code == fault.Network && out.Unsent && w.limits.Proxy.IsZero() && name != "" {
		out.Err = fmt.Errorf("%w; %s of the environment is ignored: a proxy is named by http.proxy of the source", out.Err, name)
	}
	out.Lasting = out.Code == fault.Network && isLasting(err)
	return &out
}

// ignoredProxy returns the variable that other programs would take a proxy from; empty
// if there is none. Whoever set one expects it to count, and does not find out otherwise
// why nothing is reached. Its value may hold a password and is never told (I12).
func ignoredProxy() string {
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"} {
		if os.Getenv(name) != "" {
			return name
		}
	}
	return ""
}

// isLasting reports an error that the next try will most likely meet again: the name is
// unknown, no server listens at the address, or the certificate is not one we accept. A
// time limit or a connection that broke may be over a second later.
func isLasting(err error) bool {
	var noName *net.DNSError
	var noTLS tls.RecordHeaderError
	var badCertificate *tls.CertificateVerificationError
	return errors.As(err, &noName) || errors.Is(err, syscall.ECONNREFUSED) || errors.As(err, &noTLS) || errors.As(err, &badCertificate)
}

// bareError returns an error without what others wrote into it: the URL that *url.Error
// prints, whose query may hold a key, and the words of an upstream that net/http quotes,
// which may repeat one (I12).
func bareError(err error) error {
	var u *url.Error
	for errors.As(err, &u) {
		err = u.Err
	}
	if before, _, quotes := strings.Cut(err.Error(), `"`); quotes {
		return errors.New(strings.TrimRight(before, " :") + " …")
	}
	return err
}
