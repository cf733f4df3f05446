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

// oauth2 asks for tokens by RFC 6749: with the credentials of the client (§4.4), with a
// refresh token (§6), with a password (§4.3) or with an assertion that we sign (RFC 7523).
type oauth2 struct {
	credential exchange.Credential
	secrets    Secrets
	keep       *keeper
	seed, sent secret.Text       // refresh token: of the reference, and as it is sent
	next       secret.Text       // the one that replaces it; zero if it stays
	id, client secret.Text       // name of the client, and its secret
	user       secret.Text       // of the PASSWORD grant
	values     map[string]string // what ${…} of params and claims stand for
	others     []secret.Text     // what else was sent: the pair of the client, assertions, passwords
	signed     bool              // an assertion was sent, which has a time in it
}

func (o *oauth2) spentSecrets() []secret.Text {
	key := o.client
	if key.IsZero() {
		key = o.sent // a public client
	}
	for _, other := range o.others {
		if key.IsZero() {
			key = other
		}
	}
	hidden := append([]secret.Text{o.client, o.seed, o.sent}, o.others...)
	return secret.WithName(secret.WithName(hidden, o.id, key), o.user, key)
}

const (
	grantByJWT  = "urn:ietf:params:oauth:grant-type:jwt-bearer"
	clientByJWT = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
)

func (o *oauth2) fillRequest(ctx context.Context, r *exchange.Request) error {
	c := o.credential
	if err := o.revealValues(ctx, r); err != nil {
		return err
	}
	form := url.Values(c.FillParams(o.values))
	for name, value := range map[string]string{"scope": c.Scope, "audience": c.Audience} {
		if value != "" {
			form.Set(name, value)
		}
	}
	if err := o.identifyClient(ctx, r, form); err != nil {
		return err
	}
	if err := o.fillGrant(ctx, r, form); err != nil {
		return err
	}
	r.Header.Set("Content-Type", typeForm)
	r.Body = []byte(form.Encode())
	return nil
}

// revealValues reads what ${…} of params and claims stand for.
func (o *oauth2) revealValues(ctx context.Context, r *exchange.Request) (err error) {
	var hidden []secret.Text
	o.values, hidden, err = placeValues(ctx, o.secrets, o.credential, r)
	o.others = append(o.others, hidden...)
	return err
}

// fillGrant says what the token is asked for with.
func (o *oauth2) fillGrant(ctx context.Context, r *exchange.Request, form url.Values) (err error) {
	c := o.credential
	switch c.Grant {
	case "REFRESH_TOKEN":
		if o.seed.IsZero() { // else it was given to be spent
			if o.seed, err = o.secrets.Reveal(ctx, c.RefreshToken, sentTo(r)); err != nil {
				return err
			}
		}
		o.sent = o.keep.refreshToken(o.seed)
		form.Set("grant_type", "refresh_token")
		form.Set("refresh_token", o.sent.Reveal())
	case "PASSWORD":
		if o.user, err = o.secrets.Reveal(ctx, c.Username, sentTo(r)); err != nil {
			return err
		}
		password, err := o.secrets.Reveal(ctx, c.Password, sentTo(r))
		if err != nil {
			return err
		}
		o.others = append(o.others, password)
		form.Set("grant_type", "password")
		form.Set("username", o.user.Reveal())
		form.Set("password", password.Reveal())
	case "JWT_BEARER":
		usual := map[string]string{"aud": r.URL.String()}
		if !o.id.IsZero() {
			usual["iss"] = o.id.Reveal()
		}
		assertion, err := o.signAssertion(ctx, r, c.JWT, usual)
		if err != nil {
			return err
		}
		form.Set("grant_type", grantByJWT)
		form.Set("assertion", assertion)
	default:
		form.Set("grant_type", "client_credentials")
	}
	return nil
}

// signAssertion makes a JWT for the token endpoint, and hides it in what comes back.
func (o *oauth2) signAssertion(ctx context.Context, r *exchange.Request, how exchange.JWT, usual map[string]string) (string, error) {
	signed, hidden, err := signJWT(ctx, o.secrets, r, how, usual, o.values)
	if err != nil {
		return "", err
	}
	o.signed, o.others = true, append(o.others, hidden...)
	return signed.Reveal(), nil
}

// identifyClient says which client asks (RFC 6749 §2.3.1, RFC 7523 §2.2). A public client
// has no secret and gives its name in the form; some grants need no client at all.
func (o *oauth2) identifyClient(ctx context.Context, r *exchange.Request, form url.Values) (err error) {
	c := o.credential
	if c.ClientID.IsZero() {
		return nil
	}
	if o.id, err = o.secrets.Reveal(ctx, c.ClientID, sentTo(r)); err != nil {
		return err
	}
	if c.ClientAuth == "JWT" {
		return o.assertClient(ctx, r, form)
	}
	if c.ClientSecret.IsZero() {
		form.Set("client_id", o.id.Reveal())
		return nil
	}
	if o.client, err = o.secrets.Reveal(ctx, c.ClientSecret, sentTo(r)); err != nil {
		return err
	}
	if c.ClientAuth == "BODY" {
		form.Set("client_id", o.id.Reveal())
		form.Set("client_secret", o.client.Reveal())
		return nil
	}
	pair := basicPair(url.QueryEscape(o.id.Reveal()), url.QueryEscape(o.client.Reveal()))
	o.others = append(o.others, pair)
	r.Header.Set("Authorization", "Basic "+pair.Reveal())
	return nil
}

// assertClient lets a client prove itself by what it signs. Where the grant has an
// assertion of its own, the claims of the source belong to that one.
func (o *oauth2) assertClient(ctx context.Context, r *exchange.Request, form url.Values) error {
	how := o.credential.JWT
	if o.credential.Grant == "JWT_BEARER" {
		how.Claims = nil
	}
	usual := map[string]string{"iss": o.id.Reveal(), "sub": o.id.Reveal(), "aud": r.URL.String()}
	assertion, err := o.signAssertion(ctx, r, how, usual)
	if err != nil {
		return err
	}
	form.Set("client_id", o.id.Reveal())
	form.Set("client_assertion_type", clientByJWT)
	form.Set("client_assertion", assertion)
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
	if answer.RefreshToken != "" && o.credential.Grant == "REFRESH_TOKEN" && answer.RefreshToken != o.sent.Reveal() {
		o.next = secret.New(answer.RefreshToken)
		o.keep.rotateSeed(o.seed, o.next)
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
	f := o.refusalFault(answer.Error)
	if apart := clocksApart(r.Header, time.Now()); o.signed && apart != 0 {
		f.Err = fmt.Errorf("%w; its clock and ours are %v apart, and an assertion says when it was made: set the clock of this machine", f.Err, apart)
	}
	return f
}

// clocksApart returns how far the clock of whoever answers is from ours; zero if that is not
// enough to matter, or not known.
func clocksApart(h exchange.Header, now time.Time) time.Duration {
	theirs, err := time.Parse(time.RFC1123, h.Get("Date"))
	if err != nil {
		return 0
	}
	if apart := now.Sub(theirs).Abs().Truncate(time.Second); apart > exchange.ClockSlack {
		return apart
	}
	return 0
}

// Errors of RFC 6749 §5.2 and its extensions that may be repeated. Any other
// text of the answer may be our secret (I12).
var (
	refusals  = []string{"invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type", "invalid_scope", "invalid_target", "access_denied"}
	troubles  = []string{"temporarily_unavailable", "server_error", "slow_down"}
	unnamed   = "refused to give a token, for a reason that is not in RFC 6749"
	lostToken = "refused the refresh token (invalid_grant): get a new one and put it where %s leads; one that replaced it while a process ran is not kept when the process ends, unless the source says rotates: true"
	deadToken = "refused the refresh token (invalid_grant): get a new one and put it where %s leads; either it was taken back or used elsewhere, or a process ended after it was spent and before the next one could be written"
)

func (o *oauth2) refusalFault(reason string) *fault.Error {
	switch {
	case reason == "invalid_grant" && o.credential.Rotates:
		return fault.Newf(fault.Unauthorized, deadToken, o.credential.RefreshToken)
	case reason == "invalid_grant" && o.credential.Grant == "REFRESH_TOKEN":
		return fault.Newf(fault.Unauthorized, lostToken, o.credential.RefreshToken)
	case slices.Contains(troubles, reason):
		return fault.Newf(fault.ServerError, "is in trouble (%s)", reason)
	case slices.Contains(refusals, reason):
		return fault.New(fault.Unauthorized, fmt.Errorf("refused to give a token (%s): check %s", reason, nameReferences(o.credential)))
	}
	return fault.Newf(fault.Unauthorized, "%s: check %s", unnamed, nameReferences(o.credential))
}
