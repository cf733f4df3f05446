package upsim

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// guarded asks a list that wants a credential. sign is nil for an anonymous request.
func guarded(t testing.TB, auth Auth, sign func(*http.Request)) plainClient {
	t.Helper()
	return plainClient{TB: t, s: serve(t, month(nil), Options{Forms: FormOptions{Auth: auth}}), size: 3, tolerant: true, sign: sign}
}

func setHeader(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

func addParam(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.URL.RawQuery += "&" + name + "=" + value }
}

func TestFixedCredentials(t *testing.T) {
	for _, tt := range []struct {
		auth      Auth
		good, bad func(*http.Request)
	}{
		{Auth{Kind: AuthKeyHeader, Secret: "k1"}, setHeader("X-Api-Key", "k1"), setHeader("X-Api-Key", "k2")},
		{Auth{Kind: AuthKeyHeader, Secret: "k1", Name: "Authorization", Prefix: "Token "}, setHeader("Authorization", "Token k1"), setHeader("Authorization", "k1")},
		{Auth{Kind: AuthKeyQuery, Secret: "k1"}, addParam("api_key", "k1"), addParam("api_key", "k")},
		{Auth{Kind: AuthBasic, User: "u", Secret: "p:1"}, func(r *http.Request) { r.SetBasicAuth("u", "p:1") }, func(r *http.Request) { r.SetBasicAuth("u", "p") }},
		{Auth{Kind: AuthBearer, Secret: "t1"}, setHeader("Authorization", "Bearer t1"), setHeader("Authorization", "bearer")},
	} {
		tt.auth.RevokeAfter = 2
		c := guarded(t, tt.auth, nil)
		if got := c.get("offset", nil); got.status != 401 || got.Error.Code != "credential-missing" {
			t.Errorf("%s without: %d %s", tt.auth.Kind, got.status, got.raw)
		}
		if c.sign = tt.bad; c.get("offset", nil).Error.Code != "credential-not-valid" {
			t.Errorf("%s: a wrong one is admitted", tt.auth.Kind)
		}
		c.sign = tt.good
		for range 2 {
			if got := c.get("offset", nil); got.status != 200 || len(got.Items) != 3 {
				t.Errorf("%s: %d %s", tt.auth.Kind, got.status, got.raw)
			}
		}
		if got := c.get("offset", nil); got.status != 401 || got.Error.Code != "credential-revoked" {
			t.Errorf("%s after two requests: %d %s", tt.auth.Kind, got.status, got.raw)
		}
	}
}

func TestKeyInTheBody(t *testing.T) {
	c := guarded(t, Auth{Kind: AuthKeyBody, Secret: "k1"}, nil)
	for kind, body := range map[string]string{typeJSON: `{"size":3,"api_key":%q}`, "application/x-www-form-urlencoded": "size=3&api_key=%s"} {
		for key, status := range map[string]int{"k1": 200, "k2": 401} {
			text := fmt.Appendf(nil, strings.ReplaceAll(body, "%q", `"%s"`), key)
			if got := c.send("POST", c.s.URL()+"/forms/token", text, http.Header{"Content-Type": {kind}}); got.status != status {
				t.Errorf("%s with %s: %d %s", kind, key, got.status, got.raw)
			}
		}
	}
	c.sign = addParam("api_key", "k1")
	if got := c.get("offset", nil); got.status != 401 {
		t.Errorf("the key is accepted in the query: %d", got.status)
	}
}

type token struct {
	Access  string `json:"access_token"`
	Session string `json:"session"`
	Refresh string `json:"refresh_token"`
	Expires int    `json:"expires_in"`
	Error   string `json:"error"`
	status  int
	header  http.Header
}

func postForm(t testing.TB, s *Server, path string, values url.Values) token {
	t.Helper()
	resp, err := oneShot(t).PostForm(s.URL()+path, values)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	out := token{status: resp.StatusCode, header: resp.Header}
	_ = json.Unmarshal(body, &out) // a fault may answer with something else
	return out
}

func TestOAuth(t *testing.T) {
	c := guarded(t, Auth{Kind: AuthOAuth, User: "me", Secret: "s1", TokenUses: 2, Rotate: true, TokenLife: 90 * time.Second, RefreshToken: "seed"}, nil)
	client := []string{"client_id", "me", "client_secret", "s1", "grant_type"}
	if got := postForm(t, c.s, oauthPath, query("client_id", "me", "client_secret", "x", "grant_type", "client_credentials")); got.status != 401 || got.Error != "invalid_client" {
		t.Errorf("%+v", got)
	}
	if got := postForm(t, c.s, oauthPath, query(append(client, "password")...)); got.status != 400 || got.Error != "unsupported_grant_type" {
		t.Errorf("%+v", got)
	}
	first := postForm(t, c.s, oauthPath, query(append(client, "client_credentials")...))
	if first.status != 200 || first.Expires != 90 || first.Access == "" || first.Refresh == "" {
		t.Fatalf("%+v", first)
	}
	c.sign = setHeader("Authorization", "Bearer "+first.Access)
	for _, want := range []string{"", "", "token-expired"} {
		if got := c.get("token", nil); got.Error.Code != want {
			t.Errorf("%d %s, want %q", got.status, got.raw, want)
		}
	}
	for _, seed := range []string{"seed", first.Refresh} {
		second := postForm(t, c.s, oauthPath, query(append(client, "refresh_token", "refresh_token", seed)...))
		if c.sign = setHeader("Authorization", "Bearer "+second.Access); c.get("token", nil).status != 200 {
			t.Errorf("%+v", second)
		}
		if again := postForm(t, c.s, oauthPath, query(append(client, "refresh_token", "refresh_token", seed)...)); again.Error != "invalid_grant" {
			t.Errorf("a refresh token was good twice: %+v", again)
		}
	}
	if c.s.TokensIssued() != 3 {
		t.Errorf("%d tokens", c.s.TokensIssued())
	}
	c.s.RevokeTokens()
	if got := c.get("token", nil); got.Error.Code != "token-not-valid" {
		t.Errorf("%s", got.raw)
	}
	if err := c.s.SetFaults(script(t, "429@path:/oauth/:times=1:retry-after=3")); err != nil {
		t.Fatal(err)
	}
	if got := postForm(t, c.s, oauthPath, nil); got.status != 429 || got.header.Get("Retry-After") != "3" {
		t.Errorf("%+v", got)
	}
}

func TestSession(t *testing.T) {
	c := guarded(t, Auth{Kind: AuthSession, User: "u", Secret: "p"}, nil)
	if got := postForm(t, c.s, loginPath, query("username", "u", "password", "x")); got.status != 401 {
		t.Errorf("%+v", got)
	}
	got := postForm(t, c.s, loginPath, query("username", "u", "password", "p"))
	if got.Session == "" || got.Expires != 3600 || got.header.Get(sessionHeader) != got.Session || !strings.HasPrefix(got.header.Get("Set-Cookie"), "session="+got.Session) {
		t.Fatalf("%+v", got)
	}
	for _, sign := range []func(*http.Request){setHeader(sessionHeader, got.Session), setHeader("Cookie", "a=b; session="+got.Session)} {
		if c.sign = sign; c.get("offset", nil).status != 200 {
			t.Error("a session is refused")
		}
	}
	if resp := c.send("POST", c.s.URL()+oauthPath, nil, nil); resp.status != http.StatusNotFound {
		t.Errorf("the other door is open: %d", resp.status)
	}
}

func TestTokensAge(t *testing.T) {
	state := newFormState(1, Options{Forms: FormOptions{Auth: Auth{Kind: AuthSession, TokenLife: time.Minute}.withDefaults()}})
	now := day("2024-03-01")
	token := state.gate.issueToken(now)
	for age, want := range map[time.Duration]string{59 * time.Second: "", time.Minute: "token-expired"} {
		if why := state.gate.useToken(token, now.Add(age)); why != want {
			t.Errorf("after %v: %q", age, why)
		}
	}
}

func TestSignature(t *testing.T) {
	sign := func(stamp time.Time, bend func(*SignedParts), key string) func(*http.Request) {
		return func(r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			sum := sha256.Sum256(body)
			p := SignedParts{r.Method, r.URL.EscapedPath(), r.URL.RawQuery, fmt.Sprint(stamp.Unix()), hex.EncodeToString(sum[:])}
			if bend != nil {
				bend(&p)
			}
			mac := hmac.New(sha256.New, []byte(key))
			mac.Write([]byte(CanonicalText(p)))
			r.Header.Set("X-Key-Id", "me")
			r.Header.Set("X-Timestamp", fmt.Sprint(stamp.Unix()))
			r.Header.Set("X-Signature", hex.EncodeToString(mac.Sum(nil)))
		}
	}
	c := guarded(t, Auth{Kind: AuthHMAC, User: "me", Secret: "s1"}, nil)
	for code, by := range map[string]func(*http.Request){
		"":                    sign(time.Now(), nil, "s1"),
		"timestamp-not-valid": sign(time.Now().Add(-time.Hour), nil, "s1"),
		"signature-not-valid": sign(time.Now(), func(p *SignedParts) { p.Query += "&size=4" }, "s1"),
		"signature-missing":   nil,
		"key-unknown":         func(r *http.Request) { sign(time.Now(), nil, "s1")(r); r.Header.Set("X-Key-Id", "you") },
	} {
		c.sign = by
		if got := c.get("offset", query("offset", "2")); got.Error.Code != code {
			t.Errorf("%d %s, want %q", got.status, got.raw, code)
		}
	}
	c.sign = sign(time.Now(), nil, "s1")
	if got := c.post("token-body", nil, ""); got.status != 200 {
		t.Errorf("with a body: %d %s", got.status, got.raw)
	}
	c.sign = sign(time.Now(), func(p *SignedParts) { p.BodySHA256 = strings.Repeat("0", 64) }, "s1")
	if got := c.post("token-body", nil, ""); got.status != 401 {
		t.Errorf("the body is not covered: %d", got.status)
	}
	c.sign = sign(time.Now(), nil, "s2")
	if got := c.get("offset", nil); got.Error.Code != "signature-not-valid" {
		t.Errorf("%s", got.raw)
	}
}
