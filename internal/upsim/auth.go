package upsim

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// AuthKind is how the forms want to be asked.
type AuthKind string

// The kinds of Auth.
const (
	AuthNone      AuthKind = ""
	AuthKeyHeader AuthKind = "key-header"
	AuthKeyQuery  AuthKind = "key-query"
	AuthKeyBody   AuthKind = "key-body" // in a form or JSON body
	AuthBasic     AuthKind = "basic"
	AuthBearer    AuthKind = "bearer"  // a fixed token
	AuthOAuth     AuthKind = "oauth"   // a token of POST /oauth/token
	AuthSession   AuthKind = "session" // a token of POST /login
	AuthHMAC      AuthKind = "hmac"
	AuthPath      AuthKind = "path"  // a segment before /forms/
	AuthJWT       AuthKind = "jwt"   // a bearer token that the caller signs
	AuthSigV4     AuthKind = "sigv4" // Signature Version 4; Second is the session token
)

// Auth is the credential that every request below /forms/ must carry.
type Auth struct {
	Kind   AuthKind
	User   string // user, client id or key id
	Secret string // key, password, token, client secret or signing key
	Name   string // header, parameter or member; defaults X-Api-Key, api_key, Authorization, X-Session-Token
	Prefix string // before a key in a header
	Second string // a second key, wanted in X-Inst-Token beside the first; "" for none

	// RevokeAfter good requests the credential is revoked, for good; 0 never.
	RevokeAfter int

	// Of the tokens of AuthOAuth and AuthSession.
	TokenLife time.Duration // default one hour
	TokenUses int           // requests a token is good for, so that it ends in the middle of a run; 0 any
	// RefreshToken of AuthOAuth is good from the beginning. With Rotate every
	// token comes with a new refresh token, and each is good for one use.
	RefreshToken string
	Rotate       bool
	// Grace keeps a spent refresh token good until the one that replaced it is used: whoever
	// lost the answer may ask again.
	Grace bool
	// Grant is the one that /oauth/token takes; "" is client_credentials and refresh_token.
	// "password" wants User and Secret, "jwt" an assertion, and "jwt-client" client
	// credentials with an assertion of the client.
	Grant string
	// Resource must be asked for, if it is set.
	Resource string
	JWT      JWTCheck
	// LoginByGet opens sessions by GET /login only: with user and secret as Basic, the secret once more as the parameter
	// k and the user as the header X-App.
	LoginByGet bool

	Signing Signing
}

// Signing is what AuthHMAC checks: HMAC-SHA-256 of a text, in hex or base64.
type Signing struct {
	KeyHeader       string        // default X-Key-Id; looked at if User is set
	TimeHeader      string        // default X-Timestamp; unix seconds or RFC 3339
	SignatureHeader string        // default X-Signature
	Skew            time.Duration // between the clocks; default five minutes
	// Text is what is signed; default CanonicalText.
	Text func(SignedParts) string
}

// SignedParts is what a signature may cover.
type SignedParts struct {
	Method, Path string // the path as it was sent
	Query        string // its pairs, encoded as they were sent, in the order of their bytes
	Timestamp    string // as it was sent
	BodySHA256   string // hex, also of an empty body
}

// CanonicalText returns the parts in this order, one per line, without a line
// break at the end.
func CanonicalText(p SignedParts) string {
	return strings.Join([]string{p.Method, p.Path, p.Query, p.Timestamp, p.BodySHA256}, "\n")
}

func (a Auth) withDefaults() Auth {
	names := map[AuthKind]string{AuthKeyHeader: "X-Api-Key", AuthKeyQuery: "api_key", AuthKeyBody: "api_key", AuthSession: sessionHeader}
	a.Name = cmp.Or(a.Name, names[a.Kind], "Authorization")
	a.TokenLife = cmp.Or(a.TokenLife, time.Hour)
	sg := &a.Signing
	sg.KeyHeader = cmp.Or(sg.KeyHeader, "X-Key-Id")
	sg.TimeHeader = cmp.Or(sg.TimeHeader, "X-Timestamp")
	sg.SignatureHeader = cmp.Or(sg.SignatureHeader, "X-Signature")
	sg.Skew = cmp.Or(sg.Skew, 5*time.Minute)
	if sg.Text == nil {
		sg.Text = CanonicalText
	}
	return a
}

// secondHeader carries the key of an institution.
const secondHeader = "X-Inst-Token"

// carriesCredential reports whether a parameter holds the credential.
func (a Auth) carriesCredential(where, name string) bool {
	return name == a.Name && (a.Kind == AuthKeyQuery && where == tokenInQuery || a.Kind == AuthKeyBody && where == tokenInBody)
}

// gatekeeper admits requests and issues tokens.
type gatekeeper struct {
	Auth
	seed uint64

	mu      sync.Mutex
	good    int // requests admitted
	issued  int
	tokens  map[string]*pass
	refresh map[string]bool   // true while it can be used
	parent  map[string]string // of refresh tokens: the one that was spent for it
	lost    int               // refresh tokens that were refused
	used    map[string]bool   // ids of JWTs
}

// admitCall checks the credential of a request below /forms/.
func (g *gatekeeper) admitCall(c call, now time.Time) (answer, bool) {
	if g.Kind == AuthNone {
		return answer{}, true
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	switch why := g.complaintAbout(c, now); {
	case why != "":
		return answerUnauthorized(why), false
	case g.RevokeAfter > 0 && g.good >= g.RevokeAfter:
		return answerUnauthorized("credential-revoked"), false
	}
	g.good++
	return answer{}, true
}

// answerUnauthorized never repeats what was sent.
func answerUnauthorized(code string) answer {
	a := formError(http.StatusUnauthorized, code, "The request is not authorized.")
	a.extra = http.Header{"Www-Authenticate": {`Bearer error="invalid_token"`}}
	return a
}

// complaintAbout returns the code of what is wrong; empty for a good
// credential.
func (g *gatekeeper) complaintAbout(c call, now time.Time) string {
	const none, bad = "credential-missing", "credential-not-valid"
	if g.Kind == AuthSigV4 {
		return g.checkSigV4(c, now)
	}
	if g.Second != "" && !equalSecrets(c.header.Get(secondHeader), g.Second) {
		return bad
	}
	switch g.Kind {
	case AuthHMAC:
		return g.checkSignature(c, now)
	case AuthOAuth:
		return g.useToken(strings.TrimPrefix(c.header.Get("Authorization"), "Bearer "), now)
	case AuthSession:
		return g.useToken(g.sessionOf(c), now)
	case AuthJWT:
		_, why := g.readJWT(strings.TrimPrefix(c.header.Get("Authorization"), "Bearer "), now)
		return why
	}
	sent := map[AuthKind]string{AuthKeyQuery: c.query.Get(g.Name), AuthKeyBody: c.inBody.Get(g.Name), AuthPath: c.pathKey}[g.Kind]
	want := g.Secret
	switch g.Kind {
	case AuthKeyHeader:
		sent, want = c.header.Get(g.Name), g.Prefix+want
	case AuthBearer:
		sent, want = c.header.Get("Authorization"), "Bearer "+want
	case AuthBasic:
		sent, want = c.header.Get("Authorization"), "Basic "+base64.StdEncoding.EncodeToString([]byte(g.User+":"+want))
	}
	switch {
	case sent == "":
		return none
	case !equalSecrets(sent, want):
		return bad
	}
	return ""
}

func equalSecrets(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

func (g *gatekeeper) checkSignature(c call, now time.Time) string {
	sg := g.Signing
	stamp, sent := c.header.Get(sg.TimeHeader), c.header.Get(sg.SignatureHeader)
	if stamp == "" || sent == "" {
		return "signature-missing"
	}
	if g.User != "" && !equalSecrets(c.header.Get(sg.KeyHeader), g.User) {
		return "key-unknown"
	}
	at, err := readTimestamp(stamp)
	if err != nil || now.Sub(at).Abs() > sg.Skew {
		return "timestamp-not-valid"
	}
	content := sha256.Sum256(c.body)
	mac := hmac.New(sha256.New, []byte(g.Secret))
	mac.Write([]byte(sg.Text(SignedParts{c.method, c.path, c.sortedQuery(), stamp, hex.EncodeToString(content[:])})))
	want := mac.Sum(nil)
	if !equalSecrets(sent, hex.EncodeToString(want)) && !equalSecrets(sent, base64.StdEncoding.EncodeToString(want)) {
		return "signature-not-valid"
	}
	return ""
}

func (c call) sortedQuery() string {
	pairs := strings.Split(c.rawQuery, "&")
	slices.Sort(pairs)
	return strings.Join(pairs, "&")
}

func readTimestamp(text string) (time.Time, error) {
	if seconds, err := strconv.ParseInt(text, 10, 64); err == nil {
		return time.Unix(seconds, 0), nil
	}
	return time.Parse(time.RFC3339, text)
}
