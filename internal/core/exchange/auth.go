package exchange

import (
	"maps"
	"slices"
	"strings"

	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/secret"
)

// Credential is one entry of `credentials`: how a request proves who we are.
// It holds references; values are read when the request is sent (I10, I12).
type Credential struct {
	Type         string                `json:"type" required:"true" enum:"API_KEY,BEARER,BASIC,OAUTH2,SESSION,CUSTOM,JWT,POOL" doc:"kind of credential; POOL: one of several, the one with most of its quota left"`
	In           string                `json:"in,omitempty" enum:"HEADER,QUERY,BODY,COOKIE,PATH" doc:"where it travels (default HEADER); PATH: in the place of ${secret.NAME} in request.path"`
	Name         string                `json:"name,omitempty" doc:"header, parameter or cookie that carries it (default Authorization)"`
	Prefix       string                `json:"prefix,omitempty" doc:"text put before the value, such as \"Token \" (BEARER adds its own; OAUTH2, JWT, and SESSION in Authorization, have \"Bearer \" unless another is given)"`
	Value        secret.Ref            `json:"value,omitzero" doc:"API_KEY and BEARER: reference of the value: env:NAME, file:PATH or exec:COMMAND; SESSION: ${value} of the login"`
	Username     secret.Ref            `json:"username,omitzero" doc:"BASIC: reference of the user; SESSION: ${username} of the login; OAUTH2: of the PASSWORD grant"`
	Password     secret.Ref            `json:"password,omitzero" doc:"BASIC: reference of the password; SESSION: ${password} of the login; OAUTH2: of the PASSWORD grant"`
	TokenURL     string                `json:"tokenUrl,omitempty" doc:"OAUTH2: token endpoint: a whole address, or a path such as /oauth/token at the host of http.baseUrl"`
	Grant        string                `json:"grant,omitempty" enum:"CLIENT_CREDENTIALS,REFRESH_TOKEN,PASSWORD,JWT_BEARER" doc:"OAUTH2: the grant used to ask for tokens; without it CLIENT_CREDENTIALS"`
	ClientID     secret.Ref            `json:"clientId,omitzero" doc:"OAUTH2: reference of the client id; not needed by PASSWORD and JWT_BEARER grants"`
	ClientSecret secret.Ref            `json:"clientSecret,omitzero" doc:"OAUTH2: reference of the client secret; CLIENT_CREDENTIALS needs it unless clientAuth is JWT"`
	ClientAuth   string                `json:"clientAuth,omitempty" enum:"BASIC,BODY,JWT" doc:"OAUTH2: how the client proves itself: id and secret in an Authorization header, or in the form, or a signed assertion (jwt); without it BASIC"`
	RefreshToken secret.Ref            `json:"refreshToken,omitzero" doc:"OAUTH2: reference of the refresh token; a new one in the answer replaces it until the process ends, or for good with rotates"`
	Rotates      bool                  `json:"rotates,omitempty" doc:"OAUTH2: the server gives a new refresh token with every use; patra writes it into the file that refreshToken names before using it"`
	Scope        string                `json:"scope,omitempty" doc:"OAUTH2: scopes to ask for"`
	Audience     string                `json:"audience,omitempty" doc:"OAUTH2: audience to ask for"`
	Params       map[string]Texts      `json:"params,omitempty" doc:"OAUTH2: further fields of the token call, such as resource; ${…} as in jwt.claims"`
	JWT          JWT                   `json:"jwt,omitzero" doc:"JWT, and OAUTH2 with grant JWT_BEARER or clientAuth JWT: the text that is signed"`
	Secrets      map[string]secret.Ref `json:"secrets,omitempty" doc:"further references by name: ${name} of login, params and jwt.claims"`
	Login        Login                 `json:"login,omitzero" doc:"SESSION: how a session is opened"`
	RenewOn      []int                 `json:"renewOn,omitempty" doc:"OAUTH2 and SESSION: HTTP statuses that say a token is no longer accepted; without it 401"`
	Signing      string                `json:"signing,omitempty" doc:"CUSTOM: name of the signing hook: hmac-sha256, hmac-sha512, hmac-sha1 or aws-sigv4"`
	Sign         Sign                  `json:"sign,omitzero" doc:"CUSTOM: what the signing hook works with"`
	Members      []string              `json:"members,omitempty" doc:"POOL: names of the entries of credentials to choose from, two or more of one kind; rate and quotas are counted for each"`
}

// WithDefaults fills what the source left open.
func (c Credential) WithDefaults() Credential {
	switch c.Type {
	case "OAUTH2":
		c = c.withGrant()
	case "SESSION":
		c = c.withSession()
	case "CUSTOM":
		c.Sign = c.Sign.WithDefaults()
	case "JWT":
		if c.In == "" || c.In == "HEADER" {
			setEmpty(&c.Prefix, bearer)
		}
	case "POOL":
		return c // its members say how they travel
	}
	c.JWT = c.JWT.WithDefaults()
	if c.In == "" {
		c.In = "HEADER"
	}
	if c.Name == "" && c.In == "HEADER" {
		c.Name = "Authorization"
	}
	return c
}

func (c Credential) withGrant() Credential {
	setEmpty(&c.Grant, "CLIENT_CREDENTIALS")
	setEmpty(&c.ClientAuth, "BASIC")
	if c.In == "" || c.In == "HEADER" {
		setEmpty(&c.Prefix, bearer)
	}
	return c.renewingCredential()
}

// withSession lets a session travel back the way it came.
func (c Credential) withSession() Credential {
	switch {
	case c.In == "" && c.Login.Cookie != "":
		c.In = "COOKIE"
		setEmpty(&c.Name, c.Login.Cookie)
	case c.In == "" && c.Login.Header != "":
		setEmpty(&c.Name, c.Login.Header)
	}
	if c.Name == "" && (c.In == "" || c.In == "HEADER") {
		setEmpty(&c.Prefix, bearer)
	}
	return c.renewingCredential()
}

func (c Credential) renewingCredential() Credential {
	if len(c.RenewOn) == 0 {
		c.RenewOn = []int{401}
	}
	return c
}

const bearer = "Bearer "

func setEmpty(field *string, value string) {
	if *field == "" {
		*field = value
	}
}

// NeedsToken reports that requests carry what another call has to be made for.
func (c Credential) NeedsToken() bool { return c.Type == "OAUTH2" || c.Type == "SESSION" }

// Renews reports that an answer of this status says the token is spent.
func (c Credential) Renews(status int) bool { return slices.Contains(c.RenewOn, status) }

// TokenAddress returns where tokens come from, with the key that says so.
func (c Credential) TokenAddress() (key, address string) {
	switch c.Type {
	case "OAUTH2":
		return "tokenUrl", c.TokenURL
	case "SESSION":
		return "login.url", c.Login.URL
	}
	return "", ""
}

// References lists where the secrets of a credential are, in the order of its keys.
func (c Credential) References() (out []secret.Ref) {
	for _, ref := range []secret.Ref{c.Value, c.Username, c.Password, c.ClientID, c.ClientSecret, c.RefreshToken, c.JWT.Key, c.JWT.KeyID, c.Sign.Key, c.Sign.KeyID, c.Sign.Token} {
		if !ref.IsZero() {
			out = append(out, ref)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Secrets)) {
		out = append(out, c.Secrets[name])
	}
	return out
}

// SecretReferences lists those of References that lead to a secret itself and not to the name beside it.
func (c Credential) SecretReferences() []secret.Ref {
	names := []secret.Ref{c.Username, c.ClientID, c.JWT.KeyID, c.Sign.KeyID}
	return slices.DeleteFunc(c.References(), func(ref secret.Ref) bool { return slices.Contains(names, ref) })
}

// Identity is the same for credentials that say the same: they may share a
// token. It is made of references, not of values.
func (c Credential) Identity() string {
	identity, err := fingerprint.Of(c)
	if err != nil {
		panic("exchange: identity of a credential: " + err.Error()) // it is made of texts and numbers
	}
	return identity
}

// Auth is the `auth` section: which credential requests carry.
type Auth struct {
	Credential  string   `json:"credential,omitempty" doc:"name of an entry of credentials; none: requests are anonymous"`
	Credentials []string `json:"credentials,omitempty" doc:"names of entries of credentials that requests carry at once, instead of credential; one whose name ends in ? is left out while its secret is absent"`
	Required    *bool    `json:"required,omitempty" doc:"true: patra never asks the endpoint without its credential; false: without the secret it asks anonymously (default true where a credential is named)"`
}

// Names lists the credentials that requests carry, as they are written.
func (a Auth) Names() []string {
	if a.Credential != "" {
		return append([]string{a.Credential}, a.Credentials...)
	}
	return a.Credentials
}

// Further is a credential that requests carry beside the first.
type Further struct {
	Name       string     `json:"name"`
	Credential Credential `json:"credential"`
	Optional   bool       `json:"optional,omitempty"` // left out while its secret is absent
}

// CutOptional returns the name of a credential, and whether it may be left out.
func CutOptional(name string) (plain string, optional bool) { return strings.CutSuffix(name, "?") }

// WithDefaults fills what the source left open.
func (a Auth) WithDefaults() Auth {
	if a.Required == nil {
		needed := len(a.Names()) > 0
		a.Required = &needed
	}
	return a
}
