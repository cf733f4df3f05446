package exchange

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Complaint is what a credential lacks or must not hold: the key and why. The
// message starts with a code where the fault has one of its own.
type Complaint struct{ Key, Message string }

// Complaints lists what is wrong with a credential, after defaults.
func (c Credential) Complaints() []Complaint {
	if c.Type == "POOL" {
		return c.listPoolComplaints()
	}
	out := c.missingParts()
	out = append(out, c.badTexts()...)
	out = append(out, c.listJWTComplaints()...)
	out = append(out, c.listPlaceComplaints()...)
	switch c.Type {
	case "SESSION":
		out = append(out, c.Login.listComplaints(slices.Collect(maps.Keys(c.Secrets)))...)
	case "CUSTOM":
		out = append(out, c.Sign.listComplaints(c.Signing)...)
	}
	if len(c.Members) > 0 {
		out = append(out, Complaint{"members", "is for type: POOL only"})
	}
	if c.Rotates && c.Type != "OAUTH2" {
		out = append(out, Complaint{"rotates", "is for type: OAUTH2 only, whose refresh tokens may rotate"})
	}
	if !slices.Contains(c.allowedPlaces(), c.In) {
		out = append(out, Complaint{"in", fmt.Sprintf("a credential of type %s does not travel in %s (it may in %s)", c.Type, c.In, strings.Join(c.allowedPlaces(), ", "))})
	}
	for _, status := range c.RenewOn {
		if status < 400 || status > 499 {
			out = append(out, Complaint{"renewOn", fmt.Sprintf("%d is no status that refuses a request (400 to 499)", status)})
		}
	}
	return out
}

func (c Credential) missingParts() (out []Complaint) {
	need := func(key string, missing bool) {
		if missing {
			out = append(out, Complaint{key, fmt.Sprintf("a credential of type %s needs it", c.Type)})
		}
	}
	switch c.Type {
	case "API_KEY", "BEARER":
		need("value", c.Value.IsZero())
	case "BASIC":
		need("username", c.Username.IsZero())
		need("password", c.Password.IsZero())
	case "OAUTH2":
		out = append(out, c.missingGrant()...)
	case "SESSION":
		sent := c.Login.Names()
		need("username", c.Username.IsZero() && slices.Contains(sent, "username"))
		need("password", c.Password.IsZero() && slices.Contains(sent, "password"))
		need("value", c.Value.IsZero() && slices.Contains(sent, "value"))
	case "CUSTOM":
		need("signing", c.Signing == "")
		if c.Signing != "" && !slices.Contains(SigningHooks(), c.Signing) {
			out = append(out, Complaint{"signing", "is not the name of a signing hook (there is " + strings.Join(SigningHooks(), ", ") + ")"})
		}
	}
	if c.Signing == SigningAWS && (c.Name != "Authorization" || c.Prefix != "") {
		out = append(out, Complaint{"signing", "aws-sigv4 sends its signature in Authorization: drop name and prefix"})
	}
	need("name", c.Name == "" && c.In != "PATH")
	if c.In == "PATH" && c.Name != "" {
		out = append(out, Complaint{"name", "a credential in the path has no name of its own: request.path says where it stands"})
	}
	return out
}

// missingGrant lists what the grant of a token call lacks.
func (c Credential) missingGrant() (out []Complaint) {
	say := func(when bool, key, message string) {
		if when {
			out = append(out, Complaint{key, message})
		}
	}
	const needs = "a credential of type OAUTH2 needs it"
	own := c.Grant == "PASSWORD" || c.Grant == "JWT_BEARER" // what it sends says who asks
	say(c.TokenURL == "", "tokenUrl", needs)
	say(c.ClientID.IsZero() && (!own || !c.ClientSecret.IsZero() || c.ClientAuth == "JWT"), "clientId", needs)
	say(c.ClientSecret.IsZero() && c.Grant == "CLIENT_CREDENTIALS" && c.ClientAuth != "JWT", "clientSecret", needs)
	say(!c.ClientSecret.IsZero() && c.ClientAuth == "JWT", "clientSecret", "is not sent with clientAuth: JWT; with alg: HS256 give it as jwt.key")
	say(c.RefreshToken.IsZero() && c.Grant == "REFRESH_TOKEN", "refreshToken", needs)
	say(!c.RefreshToken.IsZero() && c.Grant != "REFRESH_TOKEN", "refreshToken", "is used with grant: REFRESH_TOKEN only")
	scheme, _ := c.RefreshToken.Split()
	say(c.Rotates && scheme != "file", "rotates", "the next refresh token is written into a file: refreshToken has to be file:PATH, with grant: REFRESH_TOKEN")
	say(c.Username.IsZero() && c.Grant == "PASSWORD", "username", "the PASSWORD grant needs it")
	say(c.Password.IsZero() && c.Grant == "PASSWORD", "password", "the PASSWORD grant needs it")
	say(!c.Password.IsZero() && c.Grant != "PASSWORD", "password", "is used with grant: PASSWORD only")
	return out
}

// allowedPlaces lists where a credential of this type may travel.
func (c Credential) allowedPlaces() []string {
	switch c.Type {
	case "API_KEY":
		return []string{"HEADER", "QUERY", "BODY", "COOKIE", "PATH"}
	case "SESSION":
		return []string{"HEADER", "QUERY", "COOKIE"}
	case "OAUTH2", "JWT":
		return []string{"HEADER", "QUERY"}
	}
	return []string{"HEADER"}
}

// badTexts looks at what is no reference. A complaint never repeats the text:
// the secret itself may have been put there.
func (c Credential) badTexts() []Complaint {
	var out []Complaint
	if c.In == "HEADER" && c.Name != "" && CheckHeaderName(c.Name) != nil {
		out = append(out, Complaint{"name", "E-NAME: is not a header a credential can travel in"})
	}
	if c.In == "COOKIE" && c.Name != "" && !isToken(c.Name) {
		out = append(out, Complaint{"name", "E-NAME: is not the name of a cookie"})
	}
	if !SchemePrefix(c.Prefix) {
		out = append(out, Complaint{"prefix", `E-SECRET-LITERAL: must be a scheme word such as "Token ": at most 20 letters, with a blank, = or : at the end`})
	}
	for _, address := range [][2]string{{"tokenUrl", c.TokenURL}, {"login.url", c.Login.URL}} {
		if SecretInAddress(address[1]) {
			out = append(out, Complaint{address[0], "E-SECRET-LITERAL: must not hold a user, a password or a secret"})
		}
	}
	return out
}

// CredentialSecret reports that a text of a credential, at these keys below its
// entry, holds a secret itself.
func CredentialSecret(keys []string, text string) bool {
	if keys[0] == "params" {
		return len(keys) > 1 && SecretName(keys[1]) && SecretLiteral(text)
	}
	switch strings.Join(keys[:min(2, len(keys))], ".") {
	case "prefix":
		return !SchemePrefix(text)
	case "tokenUrl", "login.url":
		return SecretInAddress(text)
	case "login.body":
		return SecretInBody(text)
	case "sign.text", "sign.value":
		return SecretInText(text)
	case "login.form", "login.query", "login.headers", "jwt.claims":
		return SecretName(keys[len(keys)-1]) && SecretLiteral(text)
	}
	return false
}
