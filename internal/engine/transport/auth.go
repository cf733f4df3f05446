package transport

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/url"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/secret"
)

// Secrets finds the value a reference leads to. secret.ErrAbsent means that
// there is none.
type Secrets interface {
	Reveal(ctx context.Context, ref secret.Ref) (secret.Text, error)
}

// Authenticate puts credentials on requests right before they are sent. What
// stands above it, evidence and errors included, only ever sees the request
// without them (I12).
func Authenticate(next Sender, secrets Secrets) Sender { return authenticated{next, secrets} }

type authenticated struct {
	next    Sender
	secrets Secrets
}

func (a authenticated) Send(ctx context.Context, r *exchange.Request) (*exchange.Response, error) {
	if r.Credential.Type == "" {
		return a.next.Send(ctx, r)
	}
	value, mask, err := a.value(ctx, r.Credential)
	switch {
	case errors.Is(err, secret.ErrAbsent) && !r.CredentialRequired:
		return a.next.Send(ctx, r)
	case err != nil:
		f := fault.New(fault.Unauthorized, fmt.Errorf("credential: %w", err))
		f.Unsent = true
		return nil, f
	}
	signed := sign(*r, value)
	response, err := a.next.Send(ctx, &signed)
	if err != nil {
		return nil, err
	}
	return masked(response, mask), nil
}

// masked is an answer without the secrets of its request: what is kept of it as
// evidence, shown or quarantined must not hold them.
func masked(r *exchange.Response, mask *secret.Masker) *exchange.Response {
	out := *r
	out.Body = mask.Bytes(r.Body)
	out.Header = exchange.Header{}
	for name, values := range r.Header {
		for _, value := range values {
			out.Header[name] = append(out.Header[name], mask.String(value))
		}
	}
	return &out
}

// value is what goes behind the name of the header or parameter, with what hides
// it in an answer.
func (a authenticated) value(ctx context.Context, c exchange.Credential) (secret.Text, *secret.Masker, error) {
	switch c.Type {
	case "API_KEY", "BEARER":
		text, err := a.secrets.Reveal(ctx, c.Value)
		prefix := c.Prefix
		if c.Type == "BEARER" {
			prefix = "Bearer "
		}
		return secret.New(prefix + text.Reveal()), secret.NewMasker(text), err
	case "BASIC":
		user, err := a.secrets.Reveal(ctx, c.Username)
		if err != nil {
			return secret.Text{}, nil, err
		}
		password, err := a.secrets.Reveal(ctx, c.Password)
		pair := secret.New(base64.StdEncoding.EncodeToString([]byte(user.Reveal() + ":" + password.Reveal())))
		return secret.New("Basic " + pair.Reveal()), secret.NewMasker(password, pair), err
	}
	return secret.Text{}, nil, fmt.Errorf("credentials of type %s cannot be used yet", c.Type)
}

// sign works on a copy: the caller's request stays free of the value.
func sign(r exchange.Request, value secret.Text) exchange.Request {
	c := r.Credential
	switch c.In {
	case "QUERY":
		target := *r.URL
		values := target.Query()
		values.Set(c.Name, value.Reveal())
		target.RawQuery = values.Encode()
		r.URL = &target
	case "BODY":
		form, _ := url.ParseQuery(string(r.Body)) // the renderer wrote it
		form.Set(c.Name, value.Reveal())
		r.Body = []byte(form.Encode())
	default:
		r.Header = maps.Clone(r.Header)
		r.Header.Set(c.Name, value.Reveal())
	}
	return r
}
