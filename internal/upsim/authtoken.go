package upsim

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	oauthPath = "/oauth/token"
	loginPath = "/login"

	sessionHeader = "X-Session-Token"
	sessionCookie = "session"
)

// pass is an issued token.
type pass struct {
	until time.Time
	uses  int
}

// TokensIssued returns how many tokens /oauth/token and /login gave out.
func (s *Server) TokensIssued() int {
	s.forms.gate.mu.Lock()
	defer s.forms.gate.mu.Unlock()
	return s.forms.gate.issued
}

// RefreshRefused returns how many refresh tokens were refused.
func (s *Server) RefreshRefused() int {
	s.forms.gate.mu.Lock()
	defer s.forms.gate.mu.Unlock()
	return s.forms.gate.lost
}

// RevokeTokens ends every token that was issued, as an operator upstream might.
// Refresh tokens stay good.
func (s *Server) RevokeTokens() {
	s.forms.gate.mu.Lock()
	defer s.forms.gate.mu.Unlock()
	s.forms.gate.tokens = map[string]*pass{}
}

// useToken spends one use of a token. The caller holds the lock.
func (g *gatekeeper) useToken(token string, now time.Time) string {
	if token == "" {
		return "credential-missing"
	}
	p, known := g.tokens[token]
	switch {
	case !known:
		return "token-not-valid"
	case !now.Before(p.until) || g.TokenUses > 0 && p.uses >= g.TokenUses:
		return "token-expired"
	}
	p.uses++
	return ""
}

// openSession answers POST /oauth/token and POST /login.
func (g *gatekeeper) openSession(c call, now time.Time) answer {
	switch {
	case c.path == loginPath && g.LoginByGet && c.method == http.MethodGet:
		user, password, _ := (&http.Request{Header: c.header}).BasicAuth()
		if c.query.Get("k") != password || c.header.Get("X-App") != user || len(c.body) > 0 {
			return answerUnauthorized("login-not-valid")
		}
		c.inBody = url.Values{"username": {user}, "password": {password}}
		return g.answerLogin(c, now)
	case c.method != http.MethodPost || c.path == loginPath && g.LoginByGet:
		return formError(http.StatusMethodNotAllowed, "method-not-allowed", "Use POST.")
	case c.path == oauthPath && g.Kind == AuthOAuth:
		return g.grantToken(c, now)
	case c.path == loginPath && g.Kind == AuthSession:
		return g.answerLogin(c, now)
	}
	return answerText(http.StatusNotFound, "Resource not found.")
}

// tokenBody is an answer of RFC 6749, or of /login with its session.
type tokenBody struct {
	Access  string `json:"access_token,omitempty"`
	Session string `json:"session,omitempty"`
	Type    string `json:"token_type,omitempty"`
	Expires int    `json:"expires_in"`
	Refresh string `json:"refresh_token,omitempty"`
}

func (g *gatekeeper) grantToken(c call, now time.Time) answer {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.knowsCaller(c, now) {
		a := grantError(http.StatusUnauthorized, "invalid_client")
		a.extra = http.Header{"Www-Authenticate": {`Basic realm="tokens"`}}
		return a
	}
	if why := g.refuseGrant(c, now); why != "" {
		return grantError(http.StatusBadRequest, why)
	}
	body := tokenBody{Access: g.issueToken(now), Type: "Bearer", Expires: g.tokenSeconds()}
	if g.Rotate {
		body.Refresh = g.tokenText('r', g.issued)
		g.refresh[body.Refresh] = true
		g.parent[body.Refresh] = c.inBody.Get("refresh_token")
	}
	return tokenAnswer(body)
}

// knowsCaller checks who asks for a token, unless what the token is asked for with says it.
func (g *gatekeeper) knowsCaller(c call, now time.Time) bool {
	switch g.Grant {
	case "password", "jwt":
		return true
	case "jwt-client":
		claims, why := g.readJWT(c.inBody.Get("client_assertion"), now)
		return why == "" && c.inBody.Get("client_assertion_type") == assertionOfClient && claims.meansUs() && claims.Issuer == g.User && claims.Subject == g.User
	}
	return g.knowsClient(c)
}

const (
	assertionOfClient = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
	grantByAssertion  = "urn:ietf:params:oauth:grant-type:jwt-bearer"
)

// refuseGrant returns the error of RFC 6749 for what a token is asked for with; "" if it is
// good.
func (g *gatekeeper) refuseGrant(c call, now time.Time) string {
	asked, wanted := c.inBody.Get("grant_type"), map[string]string{"password": "password", "jwt": grantByAssertion, "jwt-client": "client_credentials"}[g.Grant]
	switch {
	case asked == "":
		return "invalid_request"
	case g.Resource != "" && c.inBody.Get("resource") != g.Resource:
		return "invalid_target"
	case wanted != "" && asked != wanted:
		return "unsupported_grant_type"
	case asked == "client_credentials":
		return ""
	case asked == "password" && g.Grant == "password":
		if !equalSecrets(c.inBody.Get("username"), g.User) || !equalSecrets(c.inBody.Get("password"), g.Secret) {
			return "invalid_grant"
		}
		return ""
	case asked == grantByAssertion && g.Grant == "jwt":
		if claims, why := g.readJWT(c.inBody.Get("assertion"), now); why != "" || !claims.meansUs() || claims.Issuer != g.User {
			return "invalid_grant"
		}
		return ""
	case asked == "refresh_token":
		old := c.inBody.Get("refresh_token")
		if !g.refresh[old] {
			g.lost++
			return "invalid_grant"
		}
		g.refresh[old] = !g.Rotate || g.Grace
		delete(g.refresh, g.parent[old])
		return ""
	}
	return "unsupported_grant_type"
}

// knowsClient checks the client, in the header or in the body (RFC 6749 §2.3.1).
func (g *gatekeeper) knowsClient(c call) bool {
	id, secret := c.inBody.Get("client_id"), c.inBody.Get("client_secret")
	if user, password, ok := (&http.Request{Header: c.header}).BasicAuth(); ok {
		// Both are encoded as in a form before they become a header.
		id, _ = url.QueryUnescape(user)
		secret, _ = url.QueryUnescape(password)
	}
	return equalSecrets(id, g.User) && equalSecrets(secret, g.Secret)
}

func (g *gatekeeper) answerLogin(c call, now time.Time) answer {
	if !equalSecrets(c.inBody.Get("username"), g.User) || !equalSecrets(c.inBody.Get("password"), g.Secret) {
		return answerUnauthorized("credential-not-valid")
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	session := g.issueToken(now)
	a := tokenAnswer(tokenBody{Session: session, Expires: g.tokenSeconds()})
	a.extra.Set(sessionHeader, session)
	a.extra.Set("Set-Cookie", sessionCookie+"="+session+"; Path=/; HttpOnly")
	return a
}

// sessionOf finds the session in its header or in its cookie.
func (g *gatekeeper) sessionOf(c call) string {
	if cookie, err := (&http.Request{Header: c.header}).Cookie(sessionCookie); err == nil {
		return cookie.Value
	}
	return strings.TrimPrefix(c.header.Get(g.Name), g.Prefix)
}

// issueToken makes a token. The caller holds the lock.
func (g *gatekeeper) issueToken(now time.Time) string {
	g.issued++
	token := g.tokenText('a', g.issued)
	g.tokens[token] = &pass{until: now.Add(g.TokenLife)}
	return token
}

func (g *gatekeeper) tokenText(sort uint64, n int) string {
	noise := newStream(g.seed, 'g', sort, uint64(n))
	return strconv.FormatUint(noise.nextNumber(), 36) + strconv.FormatUint(noise.nextNumber(), 36)
}

func (g *gatekeeper) tokenSeconds() int { return int(g.TokenLife / time.Second) }

func tokenAnswer(body tokenBody) answer {
	text, _ := json.Marshal(body) // texts and a number
	return answer{status: http.StatusOK, kind: typeJSON, body: text, extra: http.Header{"Cache-Control": {"no-store"}}}
}

func grantError(status int, code string) answer {
	return answer{status: status, kind: typeJSON, body: []byte(`{"error":"` + code + `"}`)}
}
