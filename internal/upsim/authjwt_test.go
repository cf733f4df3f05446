package upsim

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"testing"
	"time"
)

// jwtOf signs claims with a shared secret.
func jwtOf(alg, key, claims string) string {
	text := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"`+alg+`","typ":"JWT"}`)) + "." + base64.RawURLEncoding.EncodeToString([]byte(claims))
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(text))
	return text + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// A JWT is taken once, within its time, and only with the signature that was agreed on.
func TestJWTsAreHeldToTheirSignatureAndTime(t *testing.T) {
	c := guarded(t, Auth{Kind: AuthJWT, User: "me", Secret: "shared", JWT: JWTCheck{Alg: "HS256"}}, nil)
	claims := func(id string, issued, life time.Duration) string {
		at := time.Now().Add(issued).Unix()
		return fmt.Sprintf(`{"iss":"me","jti":%q,"iat":%d,"exp":%d}`, id, at, at+int64(life/time.Second))
	}
	good := jwtOf("HS256", "shared", claims("1", -time.Minute, 5*time.Minute))
	unsigned := jwtOf("none", "shared", claims("2", -time.Minute, 5*time.Minute))
	for name, one := range map[string]struct{ token, code string }{
		"none":              {unsigned, "jwt-not-valid"},
		"none, no sign":     {unsigned[:len(unsigned)-43], "jwt-not-valid"},
		"another algorithm": {jwtOf("HS512", "shared", claims("3", -time.Minute, 5*time.Minute)), "jwt-not-valid"},
		"another key":       {jwtOf("HS256", "other", claims("4", -time.Minute, 5*time.Minute)), "jwt-not-valid"},
		"not yet":           {jwtOf("HS256", "shared", claims("5", time.Minute, 5*time.Minute)), "jwt-time-not-valid"},
		"no longer":         {jwtOf("HS256", "shared", claims("6", -time.Hour, 5*time.Minute)), "jwt-time-not-valid"},
		"too long":          {jwtOf("HS256", "shared", claims("7", -time.Minute, 5*time.Hour)), "jwt-time-not-valid"},
		"no id":             {jwtOf("HS256", "shared", claims("", -time.Minute, 5*time.Minute)), "jwt-used"},
		"nothing":           {"", "jwt-missing"},
	} {
		c.sign = setHeader("Authorization", "Bearer "+one.token)
		if got := c.get("offset", nil); got.status != http.StatusUnauthorized || got.Error.Code != one.code {
			t.Errorf("%s: %d %s", name, got.status, got.raw)
		}
	}
	c.sign = setHeader("Authorization", "Bearer "+good)
	for _, want := range []int{200, 401} {
		if got := c.get("offset", nil); got.status != want {
			t.Errorf("%d %s, want %d", got.status, got.raw, want)
		}
	}
}

// A signature over another query, another time or another key is refused.
func TestSigV4IsHeldToWhatArrives(t *testing.T) {
	c := guarded(t, Auth{Kind: AuthSigV4, User: "AKID", Secret: "shared"}, nil)
	sign := func(change func(*http.Request), key string, at time.Time) func(*http.Request) {
		return func(r *http.Request) {
			stamp := at.UTC().Format("20060102T150405Z")
			scope := stamp[:8] + "/" + sigV4Scope
			r.Header.Set("X-Amz-Date", stamp)
			text := (call{method: r.Method, path: r.URL.EscapedPath(), host: r.URL.Host, rawQuery: r.URL.RawQuery, header: r.Header}).sigV4Text("host;x-amz-date")
			derived := []byte("AWS4" + key)
			for _, step := range []string{stamp[:8], "eu-central-1", "execute-api", "aws4_request"} {
				derived = hmacOf(derived, step)
			}
			signature := hmacOf(derived, fmt.Sprintf("AWS4-HMAC-SHA256\n%s\n%s\n%x", stamp, scope, sha256.Sum256([]byte(text))))
			r.Header.Set("Authorization", fmt.Sprintf("AWS4-HMAC-SHA256 Credential=AKID/%s, SignedHeaders=host;x-amz-date, Signature=%x", scope, signature))
			if change != nil {
				change(r)
			}
		}
	}
	for name, one := range map[string]struct {
		sign func(*http.Request)
		code string
	}{
		"good":          {sign(nil, "shared", time.Now()), ""},
		"another key":   {sign(nil, "other", time.Now()), "signature-not-valid"},
		"an old one":    {sign(nil, "shared", time.Now().Add(-time.Hour)), "timestamp-not-valid"},
		"another query": {sign(addParam("more", "1"), "shared", time.Now()), "signature-not-valid"},
		"nothing":       {func(*http.Request) {}, "signature-missing"},
	} {
		c.sign = one.sign
		if got := c.get("offset", nil); (got.status == 200) != (one.code == "") || got.Error.Code != one.code {
			t.Errorf("%s: %d %s", name, got.status, got.raw)
		}
	}
}
