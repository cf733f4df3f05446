package registry

import (
	"errors"
	"fmt"
	"strings"

	"github.com/patra-ingest/patra/internal/core/exchange"
)

// checkAuth checks rule 1: a restricted endpoint is never asked anonymously.
func (r *Resolved) checkAuth() Problems {
	names, required := r.Auth.Names(), r.Auth.Required != nil && *r.Auth.Required
	if len(names) == 0 {
		if required {
			return Problems{r.problemAt(Path{"auth", "required"}, "E-AUTH-ANONYMOUS: the endpoint must not be asked without a credential, and auth.credential names none", "name an entry of credentials")}
		}
		return nil
	}
	out := r.checkSeveral()
	for i, name := range names {
		plain, at := name, Path{"auth", "credential"}
		if i > 0 || r.Auth.Credential == "" {
			at = Path{"auth", "credentials"}
			plain, _ = exchange.CutOptional(name)
		}
		out = append(out, r.checkChosen(plain, at)...)
	}
	return out
}

// checkSeveral refuses credentials that cannot be carried at once.
func (r *Resolved) checkSeveral() (out Problems) {
	at := Path{"auth", "credentials"}
	refuse := func(message, hint string) { out = append(out, r.problemAt(at, "E-AUTH-SEVERAL: "+message, hint)) }
	if r.Auth.Credential != "" && len(r.Auth.Credentials) > 0 {
		refuse("auth.credential is given too", "write all names into auth.credentials")
	}
	if name := r.Auth.Names()[0]; strings.HasSuffix(name, "?") {
		refuse("the first one cannot be optional (?) while others are needed", "put another one first, or say auth.required: false")
	}
	first := r.Credential
	if len(r.Pool) > 0 {
		first = r.Pool[0].Credential
	}
	taken := map[string]bool{strings.ToLower(first.In + " " + first.Name): true}
	for _, f := range r.Further {
		if f.Credential.NeedsToken() || f.Credential.Type == "CUSTOM" || f.Credential.Type == "POOL" {
			refuse(fmt.Sprintf("%q is of type %s, which must be the first", f.Name, f.Credential.Type), "one credential asks for tokens or signs; it is the first, and the others are keys, bearer tokens or passwords")
		}
		place := strings.ToLower(f.Credential.In + " " + f.Credential.Name)
		if taken[place] {
			refuse(fmt.Sprintf("%q travels in the same place as another one", f.Name), "give each its own name or place")
		}
		taken[place] = true
	}
	return out
}

// checkChosen checks one credential that requests carry.
func (r *Resolved) checkChosen(name string, at Path) Problems {
	if _, ok := r.origin.Credentials[name]; !ok {
		return Problems{r.problemAt(at, "E-AUTH-CREDENTIAL: names no entry of credentials",
			hintFor(name, sortedKeys(r.origin.Credentials), "credentials"))}
	}
	c := r.origin.Credentials[name].WithDefaults()
	if c.Type == "POOL" {
		return r.checkPool(name, c, at)
	}
	if c.In == "BODY" && r.Request.Method == "GET" && !r.Request.BodyWithGet {
		return Problems{r.problemAt(at, fmt.Sprintf("E-AUTH-PLACE: credential %q travels in the body, and a GET request has none", name), "use HEADER or QUERY, or method: POST")}
	}
	if c.In == "BODY" && r.Request.Body != "" && !strings.HasPrefix(strings.TrimSpace(r.Request.Body), "{") {
		return Problems{r.problemAt(at, fmt.Sprintf("E-AUTH-PLACE: credential %q travels in the body, and request.body is no JSON object it could be a member of", name), "use HEADER or QUERY, or request.form")}
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
