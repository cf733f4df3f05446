package transport

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/secret"
	"github.com/patra-ingest/patra/internal/core/trust"
)

// Secrets finds the value a reference leads to, for a request to a host.
// secret.ErrAbsent means that there is none, secret.ErrTrouble that another try may
// find it, and a trust.Refusal that nobody agreed to send it there.
type Secrets interface {
	Reveal(ctx context.Context, ref secret.Ref, to secret.Purpose) (secret.Text, error)
}

// sentTo returns the purpose of a secret that a request carries.
func sentTo(r *exchange.Request) secret.Purpose { return secret.Purpose{Host: trust.HostOf(r.URL)} }

// authenticated puts credentials on requests right before they are sent. What
// stands above it, evidence and errors included, only ever sees the request
// without them (I12).
type authenticated struct {
	client  Sender
	secrets Secrets
	now     func() time.Time
}

func (a authenticated) Do(ctx context.Context, c *Call) (*exchange.Response, error) {
	if err := a.mayLeave(ctx, c.Request); err != nil {
		return nil, err
	}
	if c.Request.Credential.Type == "" {
		return a.client.Send(ctx, c.Request)
	}
	signed, mask, err := a.signRequest(ctx, c)
	switch {
	case errors.Is(err, secret.ErrAbsent) && !c.Request.CredentialRequired:
		return a.client.Send(ctx, c.Request)
	case err != nil:
		return nil, noCredential(err)
	}
	response, err := a.client.Send(ctx, &signed)
	if err != nil {
		return nil, exchange.HideSecrets(err, mask)
	}
	return response.Hidden(mask), nil
}

// Consent tells whether something of this machine may go to a host. A trust.Refusal means that nobody agreed to it.
type Consent interface {
	MaySend(ctx context.Context, u trust.Use) error
}

// mayLeave refuses a request that sends something of what is stored of another source, unless that was agreed to for its host.
// Where nobody can be asked, nobody agreed.
func (a authenticated) mayLeave(ctx context.Context, r *exchange.Request) error {
	if r.Records == "" {
		return nil
	}
	use := trust.Use{Ref: trust.OfRecords(r.Records), Host: trust.HostOf(r.URL)}
	var err error = &trust.Refusal{Use: use, Why: trust.NotAgreed}
	if asked, can := a.secrets.(Consent); can {
		err = asked.MaySend(ctx, use)
	}
	if err == nil || !errors.As(err, new(*trust.Refusal)) {
		return err
	}
	f := fault.New(fault.Unauthorized, err)
	f.Unsent = true
	return f
}

// noCredential returns the fault of a secret that could not be read. A person has to act,
// unless the keeper of the secret is in trouble: a source reads its secret with every
// request, and one failure in many must not stop it for good. The request did not leave.
func noCredential(err error) *fault.Error {
	f := fault.New(fault.Unauthorized, fmt.Errorf("credential: %w", err))
	if errors.Is(err, secret.ErrTrouble) {
		f.Level = fault.Transient
	}
	f.Unsent = true
	return f
}

// signRequest returns a copy of the request with its credential, and what hides the
// credential in an answer.
func (a authenticated) signRequest(ctx context.Context, c *Call) (exchange.Request, *secret.Masker, error) {
	request, hidden, err := a.addFurther(ctx, c)
	if err != nil {
		return exchange.Request{}, nil, err
	}
	if c.Request.Credential.Type == "CUSTOM" {
		sign, known := signingHooks()[c.Request.Credential.Signing]
		if !known {
			return exchange.Request{}, nil, fmt.Errorf("there is no signing hook %q", c.Request.Credential.Signing)
		}
		signed, used, err := sign(ctx, a.secrets, request, a.now())
		return signed, secret.NewMasker(append(hidden, used...)...), err
	}
	value, used, err := a.credentialValue(ctx, c, c.Request.Credential)
	if err != nil {
		return exchange.Request{}, nil, err
	}
	return placeValue(request, request.Credential, value), secret.NewMasker(append(hidden, used...)...), nil
}

// addFurther puts the credentials on a copy of the request that it carries beside the
// first, before that one: a signature covers them. Those whose secret is absent are left
// out where the source allows it.
func (a authenticated) addFurther(ctx context.Context, c *Call) (request exchange.Request, hidden []secret.Text, err error) {
	request, hidden = *c.Request, slices.Clone(c.hidden)
	for _, f := range c.Request.Further {
		value, used, err := a.credentialValue(ctx, c, f.Credential)
		switch {
		case errors.Is(err, secret.ErrAbsent) && f.Optional:
			continue
		case err != nil:
			return request, nil, err
		}
		request = placeValue(request, f.Credential, value)
		hidden = append(hidden, used...)
	}
	return request, hidden, nil
}

// credentialValue returns what goes behind the name of the header or parameter, and what
// has to be hidden in an answer.
func (a authenticated) credentialValue(ctx context.Context, c *Call, credential exchange.Credential) (secret.Text, []secret.Text, error) {
	switch credential.Type {
	case "API_KEY", "BEARER":
		text, err := a.secrets.Reveal(ctx, credential.Value, sentTo(c.Request))
		prefix := credential.Prefix
		if credential.Type == "BEARER" {
			prefix = "Bearer "
		}
		return secret.New(prefix + text.Reveal()), []secret.Text{text}, err
	case "BASIC":
		user, err := a.secrets.Reveal(ctx, credential.Username, sentTo(c.Request))
		if err != nil {
			return secret.Text{}, nil, err
		}
		password, err := a.secrets.Reveal(ctx, credential.Password, sentTo(c.Request))
		pair := basicPair(user.Reveal(), password.Reveal())
		hidden := secret.WithName([]secret.Text{password, pair}, user, password)
		return secret.New("Basic " + pair.Reveal()), hidden, err
	case "JWT":
		values, hidden, err := placeValues(ctx, a.secrets, credential, c.Request)
		if err != nil {
			return secret.Text{}, nil, err
		}
		signed, more, err := signJWT(ctx, a.secrets, c.Request, credential.JWT, nil, values)
		return secret.New(credential.Prefix + signed.Reveal()), append(hidden, more...), err
	case "OAUTH2", "SESSION":
		if c.token == nil {
			return secret.Text{}, nil, fmt.Errorf("no token was asked for: %w", secret.ErrAbsent)
		}
		return secret.New(credential.Prefix + c.token.text.Reveal()), append(slices.Clone(c.token.used), c.token.text), nil
	}
	return secret.Text{}, nil, fmt.Errorf("credentials of type %s are not known", credential.Type)
}

func basicPair(user, password string) secret.Text {
	return secret.New(base64.StdEncoding.EncodeToString([]byte(user + ":" + password)))
}
