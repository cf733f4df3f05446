package exchange

import (
	"fmt"

	"github.com/patra-ingest/patra/internal/core/secret"
)

// Credential is one entry of `credentials`: how a request proves who we are.
// It holds references; values are read when the request is sent (I10, I12).
type Credential struct {
	Type         string     `json:"type" required:"true" enum:"API_KEY,BEARER,BASIC,OAUTH2,CUSTOM" doc:"kind of credential"`
	In           string     `json:"in,omitempty" enum:"HEADER,QUERY,BODY" doc:"where it travels (default HEADER)"`
	Name         string     `json:"name,omitempty" doc:"header or parameter that carries it (default Authorization)"`
	Prefix       string     `json:"prefix,omitempty" doc:"text put before the value, such as \"Token \" (BEARER adds its own)"`
	Value        secret.Ref `json:"value,omitzero" doc:"API_KEY and BEARER: reference of the value: env:NAME, file:PATH or exec:COMMAND"`
	Username     secret.Ref `json:"username,omitzero" doc:"BASIC: reference of the user"`
	Password     secret.Ref `json:"password,omitzero" doc:"BASIC: reference of the password"`
	TokenURL     string     `json:"tokenUrl,omitempty" doc:"OAUTH2: token endpoint, https"`
	ClientID     secret.Ref `json:"clientId,omitzero" doc:"OAUTH2: reference of the client id"`
	ClientSecret secret.Ref `json:"clientSecret,omitzero" doc:"OAUTH2: reference of the client secret"`
	Scope        string     `json:"scope,omitempty" doc:"OAUTH2: scopes that are asked for"`
	Audience     string     `json:"audience,omitempty" doc:"OAUTH2: audience that is asked for"`
	Signing      string     `json:"signing,omitempty" doc:"CUSTOM: name of the signing hook"`
}

// WithDefaults fills what the source left open.
func (c Credential) WithDefaults() Credential {
	if c.In == "" {
		c.In = "HEADER"
	}
	if c.Name == "" && c.In == "HEADER" {
		c.Name = "Authorization"
	}
	return c
}

// Complaint is what a credential lacks or must not hold: the key and why. The
// message starts with a code where the fault has one of its own.
type Complaint struct{ Key, Message string }

// Complaints lists what is wrong with a credential, after defaults.
func (c Credential) Complaints() []Complaint {
	var out []Complaint
	need := func(key string, missing bool) {
		if missing {
			out = append(out, Complaint{key, fmt.Sprintf("a credential of type %s needs it", c.Type)})
		}
	}
	switch c.Type {
	case "API_KEY", "BEARER":
		need("value", c.Value.IsZero())
		need("name", c.Name == "")
	case "BASIC":
		need("username", c.Username.IsZero())
		need("password", c.Password.IsZero())
	case "OAUTH2":
		need("tokenUrl", c.TokenURL == "")
		need("clientId", c.ClientID.IsZero())
		need("clientSecret", c.ClientSecret.IsZero())
	case "CUSTOM":
		need("signing", c.Signing == "")
	}
	out = append(out, c.badTexts()...)
	if c.Type != "API_KEY" && c.In != "HEADER" {
		out = append(out, Complaint{"in", fmt.Sprintf("a credential of type %s travels in a header", c.Type)})
	}
	return out
}

// badTexts looks at what is no reference. A complaint never repeats the text:
// the secret itself may have been put there.
func (c Credential) badTexts() []Complaint {
	var out []Complaint
	if c.In == "HEADER" && c.Name != "" && CheckHeaderName(c.Name) != nil {
		out = append(out, Complaint{"name", "E-NAME: is not a header a credential can travel in"})
	}
	if !SchemePrefix(c.Prefix) {
		out = append(out, Complaint{"prefix", `E-SECRET-LITERAL: must be a scheme word such as "Token ": at most 20 letters, with a blank, = or : at the end`})
	}
	if SecretInAddress(c.TokenURL) {
		out = append(out, Complaint{"tokenUrl", "E-SECRET-LITERAL: must not hold a user, a password or a secret"})
	}
	return out
}

// Auth is the `auth` section: which credential requests carry.
type Auth struct {
	Credential string `json:"credential,omitempty" doc:"name of an entry of credentials; none: requests are anonymous"`
	Required   *bool  `json:"required,omitempty" doc:"true: the endpoint is never asked without its credential; false: without the secret it is asked anonymously (default true where a credential is named)"`
}

// WithDefaults fills what the source left open.
func (a Auth) WithDefaults() Auth {
	if a.Required == nil {
		needed := a.Credential != ""
		a.Required = &needed
	}
	return a
}
