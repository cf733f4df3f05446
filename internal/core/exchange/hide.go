package exchange

import (
	"errors"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/secret"
)

// HideSecrets gives an error without the secrets of a request: what went wrong may
// be told in words of the upstream, which knows them (I12). What the fault decides
// stays as it is.
func HideSecrets(err error, secrets *secret.Masker) error {
	var f *fault.Error
	if !errors.As(err, &f) || f.Err == nil {
		return secrets.Error(err)
	}
	out := *f
	out.Err = secrets.Error(f.Err)
	return &out
}

// Hidden returns an answer without the secrets of its request: what is kept of it
// as evidence, shown or quarantined must not hold them. Whoever decodes a part of
// it hides what comes out, too (D§5.30).
func (r *Response) Hidden(secrets *secret.Masker) *Response {
	out := *r
	out.Body, out.Secrets = secrets.Bytes(r.Body), secrets
	out.Header = make(Header, len(r.Header))
	for name, values := range r.Header {
		name = secrets.String(name)
		for _, value := range values {
			out.Header[name] = append(out.Header[name], secrets.String(value))
		}
	}
	return &out
}
