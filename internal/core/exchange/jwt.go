package exchange

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/secret"
)

// JWT is the `jwt` part of a credential: a text that we sign ourselves (RFC 7519). It is
// a bearer token of its own (type JWT), what a token is asked for with (grant
// JWT_BEARER), or how a client proves itself (clientAuth JWT).
type JWT struct {
	Alg      string            `json:"alg,omitempty" enum:"RS256,PS256,ES256,EDDSA,HS256" doc:"how it is signed; HS256 with a shared secret, the others with a private key"`
	Key      secret.Ref        `json:"key,omitzero" doc:"reference of the private key in PEM, or of the shared secret of HS256"`
	KeyID    secret.Ref        `json:"keyId,omitzero" doc:"reference of the name of the key (header kid), where the upstream asks for one"`
	Claims   map[string]Texts  `json:"claims,omitempty" doc:"claims such as iss, sub and aud; a list becomes a list; ${clientId}, ${username} and names of secrets stand for their values; iat, exp and jti are added"`
	Lifetime duration.Duration `json:"lifetime,omitempty" doc:"from iat to exp (default PT5M, at most PT24H)"`
}

// ClockSlack is how far in the past a JWT says it was issued: the clock of the upstream
// may be behind ours, and one from the future is refused. It counts into the lifetime.
const ClockSlack = 30 * time.Second

const (
	shortestJWT = duration.Duration(time.Minute)
	longestJWT  = duration.Duration(24 * time.Hour)
)

// WithDefaults fills what the source left open.
func (j JWT) WithDefaults() JWT {
	if !j.isZero() && j.Lifetime == 0 {
		j.Lifetime = duration.Duration(5 * time.Minute)
	}
	return j
}

func (j JWT) isZero() bool {
	return j.Alg == "" && j.Key.IsZero() && j.KeyID.IsZero() && len(j.Claims) == 0 && j.Lifetime == 0
}

// Shared reports that both sides sign with the same secret.
func (j JWT) Shared() bool { return j.Alg == "HS256" }

// Head returns the header of the JWT.
func (j JWT) Head(keyID string) []byte {
	alg := j.Alg
	if alg == "EDDSA" {
		alg = "EdDSA" // as RFC 8037 spells it
	}
	head := struct {
		Alg string `json:"alg"`
		Kid string `json:"kid,omitempty"`
		Typ string `json:"typ"`
	}{alg, keyID, "JWT"}
	text, err := json.Marshal(head)
	if err != nil {
		panic("exchange: head of a JWT: " + err.Error()) // it is made of texts
	}
	return text
}

// Payload returns the claims: those of the source, the usual ones where it has none, and
// when the JWT begins and ends. id tells it from all others. It may hold secrets.
func (j JWT) Payload(usual, values map[string]string, id string, now time.Time) ([]byte, error) {
	issued := now.Add(-ClockSlack).Unix()
	claims := map[string]any{"jti": id}
	for name, text := range usual {
		claims[name] = text
	}
	for name, texts := range j.Claims {
		filled := make([]string, len(texts))
		for i, text := range texts {
			filled[i] = fillText(text, values)
		}
		claims[name] = filled
		if len(filled) == 1 {
			claims[name] = filled[0]
		}
	}
	claims["iat"], claims["exp"] = issued, issued+int64(j.Lifetime.Std()/time.Second)
	return json.Marshal(claims, json.Deterministic(true))
}

// usesJWT reports that the credential signs a JWT, for whichever purpose.
func (c Credential) usesJWT() bool {
	return c.Type == "JWT" || c.Type == "OAUTH2" && (c.Grant == "JWT_BEARER" || c.ClientAuth == "JWT")
}

func (c Credential) listJWTComplaints() (out []Complaint) {
	say := func(when bool, key, message string) {
		if when {
			out = append(out, Complaint{key, message})
		}
	}
	j := c.JWT
	if !c.usesJWT() {
		say(!j.isZero(), "jwt", "is used with type: JWT, grant: JWT_BEARER or clientAuth: JWT only")
		return out
	}
	say(j.Alg == "", "jwt.alg", "a JWT is never sent without a signature: say how it is signed")
	say(j.Key.IsZero(), "jwt.key", "a JWT is signed with it")
	say(j.Lifetime != 0 && (j.Lifetime < shortestJWT || j.Lifetime > longestJWT), "jwt.lifetime", fmt.Sprintf("must be from %s to %s", shortestJWT, longestJWT))
	for _, name := range slices.Sorted(maps.Keys(j.Claims)) {
		say(slices.Contains([]string{"iat", "exp", "nbf"}, name), "jwt.claims", name+" is written by the program: say jwt.lifetime")
		say(SecretName(name) && slices.ContainsFunc(j.Claims[name], SecretLiteral), "jwt.claims", literalInPlace)
	}
	return out
}

// claimNames are what may stand in ${…} of claims and params beside the names of secrets.
var claimNames = []string{"clientId", "username"}

const literalInPlace = "E-SECRET-LITERAL: holds a secret: declare a reference under secrets, and write ${…} with its name here"

// PlaceNames lists what stands in ${…} of claims and params.
func (c Credential) PlaceNames() []string { return namesIn(c.JWT.Claims, c.Params) }

func namesIn(parts ...map[string]Texts) (out []string) {
	for _, part := range parts {
		for _, texts := range part {
			for _, text := range texts {
				for _, match := range loginCode.FindAllStringSubmatch(text, -1) {
					out = append(out, match[1])
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// RefNamed returns the reference that ${name} stands for; zero if there is none.
func (c Credential) RefNamed(name string) secret.Ref {
	switch name {
	case "username":
		return c.Username
	case "password":
		return c.Password
	case "value":
		return c.Value
	case "clientId":
		return c.ClientID
	}
	return c.Secrets[name]
}

// FillParams returns further fields of a token call.
func (c Credential) FillParams(values map[string]string) map[string][]string {
	out := map[string][]string{}
	for name, texts := range c.Params {
		for _, text := range texts {
			out[name] = append(out[name], fillText(text, values))
		}
	}
	return out
}

// ownParams are fields of a token call that other keys fill.
var ownParams = []string{"grant_type", "client_id", "client_secret", "refresh_token", "username", "password", "assertion", "client_assertion", "client_assertion_type"}

// listPlaceComplaints looks at secrets, params, and what stands in ${…}.
func (c Credential) listPlaceComplaints() (out []Complaint) {
	say := func(when bool, key, message string) {
		if when {
			out = append(out, Complaint{key, message})
		}
	}
	say(len(c.Params) > 0 && c.Type != "OAUTH2", "params", "are fields of a token call: only OAUTH2 makes one")
	for _, name := range slices.Sorted(maps.Keys(c.Params)) {
		say(slices.Contains(ownParams, name), "params", name+" has a key of its own: drop it here")
		say(name == "scope" && c.Scope != "" || name == "audience" && c.Audience != "", "params", name+" is also given outside of params: keep one of them")
		say(SecretName(name) && slices.ContainsFunc(c.Params[name], SecretLiteral), "params", literalInPlace)
	}
	for key, part := range map[string]map[string]Texts{"params": c.Params, "jwt.claims": c.JWT.Claims} {
		for _, name := range namesIn(part) {
			say(!slices.Contains(claimNames, name) && c.Secrets[name].IsZero(), key, "may use only ${"+strings.Join(claimNames, "}, ${")+"} and the names of secrets")
			say(slices.Contains(claimNames, name) && c.RefNamed(name).IsZero(), key, "has ${"+name+"}, but no "+name+" is given")
		}
	}
	used := append(c.Login.Names(), c.PlaceNames()...)
	for _, name := range slices.Sorted(maps.Keys(c.Secrets)) {
		say(!secretPlace.MatchString(name) || slices.Contains(loginNames, name) || slices.Contains(claimNames, name), "secrets", "has a name that ${…} cannot take: use a letter, then letters, digits and _, but none of "+strings.Join(append(slices.Clone(loginNames), "clientId"), ", "))
		say(!slices.Contains(used, name), "secrets", "has a secret that nothing sends: write ${…} with its name into login, params or jwt.claims, or drop it")
	}
	return out
}
