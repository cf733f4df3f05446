package transport

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/secret"
)

// oauth2 asks for tokens by RFC 6749: with the credentials of the client (§4.4)
// or with a refresh token (§6).
type oauth2 struct {
	credential exchange.Credential
	secrets    Secrets
	keep       *keeper
	seed, sent secret.Text // refresh token: of the reference, and as it is sent
	id, client secret.Text // name of the client, and its secret
	pair       secret.Text // both, as they are sent
}

func (o *oauth2) spentSecrets() []secret.Text {
	key := o.client
	if key.IsZero() {
		key = o.sent // a public client
	}
	return secret.WithName([]secret.Text{o.client, o.seed, o.sent, o.pair}, o.id, key)
}

func (o *oauth2) fillRequest(ctx context.Context, r *exchange.Request) error {
	c, form := o.credential, url.Values{}
	form.Set("grant_type", "client_credentials")
	if c.Grant == "REFRESH_TOKEN" {
		var err error
		if o.seed, err = o.secrets.Reveal(ctx, c.RefreshToken, sentTo(r)); err != nil {
			return err
		}
		o.sent = o.keep.refreshToken(o.seed)
		form.Set("grant_type", "refresh_token")
		form.Set("refresh_token", o.sent.Reveal())
	}
	for name, value := range map[string]string{"scope": c.Scope, "audience": c.Audience} {
		if value != "" {
			form.Set(name, value)
		}
	}
	if err := o.identifyClient(ctx, r, form); err != nil {
		return err
	}
	r.Header.Set("Content-Type", typeForm)
	r.Body = []byte(form.Encode())
	return nil
}

// identifyClient says which client asks (RFC 6749 §2.3.1). A public client has no
// secret and gives its name in the form.
func (o *oauth2) identifyClient(ctx context.Context, r *exchange.Request, form url.Values) error {
	c := o.credential
	id, err := o.secrets.Reveal(ctx, c.ClientID, sentTo(r))
	if err != nil {
		return err
	}
	o.id = id
	if c.ClientSecret.IsZero() {
		form.Set("client_id", id.Reveal())
		return nil
	}
	key, err := o.secrets.Reveal(ctx, c.ClientSecret, sentTo(r))
	if err != nil {
		return err
	}
	o.client = key
	if c.ClientAuth == "BODY" {
		form.Set("client_id", id.Reveal())
		form.Set("client_secret", key.Reveal())
		return nil
	}
	o.pair = basicPair(url.QueryEscape(id.Reveal()), url.QueryEscape(key.Reveal()))
	r.Header.Set("Authorization", "Basic "+o.pair.Reveal())
	return nil
}

// grantAnswer is RFC 6749 §5.1 and §5.2.
type grantAnswer struct {
	AccessToken  string         `json:"access_token"`
	TokenType    string         `json:"token_type"`
	ExpiresIn    jsontext.Value `json:"expires_in"`
	RefreshToken string         `json:"refresh_token"`
	Error        string         `json:"error"`
}

func (o *oauth2) readToken(r *exchange.Response, asked time.Time) (*token, error) {
	var answer grantAnswer
	if json.Unmarshal(r.Body, &answer) != nil {
		return nil, fault.Newf(fault.BadBody, "did not answer with the JSON object of RFC 6749")
	}
	switch {
	case answer.Error != "" || answer.AccessToken == "":
		return nil, o.refusalFault(answer.Error)
	case !strings.EqualFold(answer.TokenType, "bearer") && answer.TokenType != "" && o.credential.Prefix == "Bearer ":
		return nil, fault.Newf(fault.Unauthorized, "gave a token of a type other than Bearer; if the upstream takes it all the same, declare its scheme as prefix")
	}
	used := append(o.spentSecrets(), secret.New(answer.RefreshToken))
	got, err := newToken(o.credential, answer.AccessToken, used, asked, expiresIn(answer.ExpiresIn))
	if err == nil && answer.RefreshToken != "" && o.credential.Grant == "REFRESH_TOKEN" && answer.RefreshToken != o.sent.Reveal() {
		o.keep.rotateSeed(o.seed, secret.New(answer.RefreshToken))
	}
	return got, err
}

// expiresIn reads seconds, which some write as a text.
func expiresIn(value jsontext.Value) time.Duration {
	seconds, err := strconv.ParseFloat(strings.Trim(string(value), `"`), 64)
	if err != nil {
		return unlimited
	}
	return tokenLifetime(int64(max(0, min(seconds, 1e12))))
}

func (o *oauth2) explainRefusal(r *exchange.Response) *fault.Error {
	var answer grantAnswer
	_ = json.Unmarshal(r.Body, &answer) // what cannot be read names no reason
	return o.refusalFault(answer.Error)
}

// Errors of RFC 6749 §5.2 and its extensions that may be repeated. Any other
// text of the answer may be our secret (I12).
var (
	refusals  = []string{"invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type", "invalid_scope", "invalid_target", "access_denied"}
	troubles  = []string{"temporarily_unavailable", "server_error", "slow_down"}
	unnamed   = "refused to give a token, for a reason that is not in RFC 6749"
	lostToken = "refused the refresh token (invalid_grant): get a new one and put it where %s leads; one that replaced it while a process ran is not kept when the process ends"
)

func (o *oauth2) refusalFault(reason string) *fault.Error {
	switch {
	case reason == "invalid_grant" && o.credential.Grant == "REFRESH_TOKEN":
		return fault.Newf(fault.Unauthorized, lostToken, o.credential.RefreshToken)
	case slices.Contains(troubles, reason):
		return fault.Newf(fault.ServerError, "is in trouble (%s)", reason)
	case slices.Contains(refusals, reason):
		return fault.New(fault.Unauthorized, fmt.Errorf("refused to give a token (%s): check %s", reason, nameReferences(o.credential)))
	}
	return fault.Newf(fault.Unauthorized, "%s: check %s", unnamed, nameReferences(o.credential))
}
