package registry

import (
	"errors"
	"fmt"
	"strings"

	"github.com/patra-ingest/patra/internal/core/exchange"
)

// checkAuth checks rule 1: a restricted endpoint is never asked anonymously.
func (r *Resolved) checkAuth() Problems {
	name, required := r.Auth.Credential, r.Auth.Required != nil && *r.Auth.Required
	if name == "" {
		if required {
			return Problems{r.problemAt(Path{"auth", "required"}, "E-AUTH-ANONYMOUS: the endpoint must not be asked without a credential, and auth.credential names none", "name an entry of credentials")}
		}
		return nil
	}
	if _, ok := r.origin.Credentials[name]; !ok {
		return Problems{r.problemAt(Path{"auth", "credential"}, "E-AUTH-CREDENTIAL: names no entry of credentials",
			hintFor(name, sortedKeys(r.origin.Credentials), "credentials"))}
	}
	c := r.origin.Credentials[name].WithDefaults()
	if c.In == "BODY" && r.Request.Method == "GET" && !r.Request.BodyWithGet {
		return Problems{r.problemAt(Path{"auth", "credential"}, fmt.Sprintf("E-AUTH-PLACE: credential %q travels in the body, and a GET request has none", name), "use HEADER or QUERY, or method: POST")}
	}
	if c.In == "BODY" && r.Request.Body != "" && !strings.HasPrefix(strings.TrimSpace(r.Request.Body), "{") {
		return Problems{r.problemAt(Path{"auth", "credential"}, fmt.Sprintf("E-AUTH-PLACE: credential %q travels in the body, and request.body is no JSON object it could be a member of", name), "use HEADER or QUERY, or request.form")}
	}
	return r.checkTokenAddress(name, c)
}

// checkTokenAddress holds the place that gets our secrets to the rules of
// http.baseUrl (D§5.22). A path stands for one at the source's own host.
func (r *Resolved) checkTokenAddress(name string, c exchange.Credential) Problems {
	key, address := c.TokenAddress()
	base, err := exchange.ParseBaseURL(r.HTTP)
	if err != nil || address == "" || exchange.SecretInAddress(address) {
		return nil // said elsewhere
	}
	_, err = exchange.TokenEndpoint(base, r.HTTP.AllowHTTP || r.HTTP.AllowPrivate, address)
	if err == nil {
		return nil
	}
	code := "E-AUTH-TOKEN-URL: "
	if errors.Is(err, exchange.ErrPlainHTTP) {
		code = "E-HTTPS: "
	}
	path := credentialPath(name, key)
	return Problems{problemAt(r.origin.placeOf(path.String()), path.String(), code+err.Error(), "")}
}

// checkCredentials checks rule 9: every credential is complete, and CUSTOM names
// its signing hook.
func (s *Source) checkCredentials() Problems {
	var out Problems
	for _, name := range sortedKeys(s.Credentials) {
		c := s.Credentials[name].WithDefaults()
		place := s.places[Path{"credentials", name}.String()]
		if c.Type == "" {
			out = append(out, problemAt(place, Path{"credentials", name, "type"}.String(), "E-REQUIRED: required key is missing", "kind of credential"))
			continue
		}
		for _, complaint := range c.Complaints() {
			path := credentialPath(name, complaint.Key)
			at, ok := s.places[path.String()]
			if !ok {
				at = place
			}
			code := "E-AUTH-INCOMPLETE"
			if complaint.Key == "signing" {
				code = "E-AUTH-SIGNING"
			}
			out = append(out, problemAt(at, path.String(), code+": "+complaint.Message, ""))
		}
	}
	return out
}

// credentialPath leads to a key of a credential, such as login.url.
func credentialPath(name, key string) Path {
	return append(Path{"credentials", name}, strings.Split(key, ".")...)
}

// belowCredential returns a path without the section and name before it.
func (p Path) belowCredential() []string {
	if p[0] == "credentials" {
		return p[min(2, len(p)):]
	}
	return p[1:]
}
