package transport

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/secret"
)

// pemOf writes a private key as programs write it: PKCS 8 unless another form is asked for.
func pemOf(t *testing.T, form string, key any) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	switch form {
	case "RSA PRIVATE KEY":
		der, err = x509.MarshalPKCS1PrivateKey(key.(*rsa.PrivateKey)), nil
	case "EC PRIVATE KEY":
		der, err = x509.MarshalECPrivateKey(key.(*ecdsa.PrivateKey))
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: form, Bytes: der}))
}

func newRSA(t *testing.T) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func newEC(t *testing.T, curve elliptic.Curve) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// partsOf takes a JWT apart.
func partsOf(t *testing.T, text string) (head, claims map[string]any, signed string, signature []byte) {
	t.Helper()
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		t.Fatalf("%d parts", len(parts))
	}
	for i, into := range []*map[string]any{&head, &claims} {
		raw, err := base64.RawURLEncoding.DecodeString(parts[i])
		if err != nil || json.Unmarshal(raw, into) != nil {
			t.Fatalf("part %d: %v", i, err)
		}
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil {
		t.Fatal(err)
	}
	return head, claims, parts[0] + "." + parts[1], signature
}

// Every algorithm gives what the other side verifies with the public key, whatever form the
// key is written in, and a JWT says when it begins and ends.
func TestAJWTIsSignedAsDeclared(t *testing.T) {
	rsaKey, ecKey := newRSA(t), newEC(t, elliptic.P256())
	public, edKey, _ := ed25519.GenerateKey(rand.Reader)
	digest := func(text string) []byte { sum := sha256.Sum256([]byte(text)); return sum[:] }
	byRSA := func(text string, sig []byte) bool {
		return rsa.VerifyPKCS1v15(&rsaKey.PublicKey, crypto.SHA256, digest(text), sig) == nil
	}
	byEC := func(text string, sig []byte) bool {
		return len(sig) == 64 && ecdsa.Verify(&ecKey.PublicKey, digest(text), new(big.Int).SetBytes(sig[:32]), new(big.Int).SetBytes(sig[32:]))
	}
	for name, c := range map[string]struct {
		alg, key string
		verify   func(text string, sig []byte) bool
	}{
		"RS256":                {"RS256", pemOf(t, "PRIVATE KEY", rsaKey), byRSA},
		"RS256, PKCS 1":        {"RS256", pemOf(t, "RSA PRIVATE KEY", rsaKey), byRSA},
		"RS256, of a variable": {"RS256", strings.ReplaceAll(pemOf(t, "PRIVATE KEY", rsaKey), "\n", `\n`), byRSA},
		"PS256": {"PS256", pemOf(t, "PRIVATE KEY", rsaKey), func(text string, sig []byte) bool {
			return rsa.VerifyPSS(&rsaKey.PublicKey, crypto.SHA256, digest(text), sig, nil) == nil
		}},
		"ES256":                 {"ES256", pemOf(t, "PRIVATE KEY", ecKey), byEC},
		"ES256, as OpenSSL has": {"ES256", pemOf(t, "EC PRIVATE KEY", ecKey), byEC},
		"EDDSA":                 {"EDDSA", pemOf(t, "PRIVATE KEY", edKey), func(text string, sig []byte) bool { return ed25519.Verify(public, []byte(text), sig) }},
		"HS256": {"HS256", "shared-kanari-secret", func(text string, sig []byte) bool {
			mac := hmac.New(sha256.New, []byte("shared-kanari-secret"))
			mac.Write([]byte(text))
			return hmac.Equal(mac.Sum(nil), sig)
		}},
	} {
		synctest.Test(t, func(t *testing.T) {
			credential := exchange.Credential{Type: "JWT", Username: ref(t, "env:USER"), Secrets: map[string]secret.Ref{"pin": ref(t, "env:PIN")},
				JWT: exchange.JWT{Alg: c.alg, Key: ref(t, "env:KEY"), KeyID: ref(t, "env:KID"), Claims: map[string]exchange.Texts{"iss": {"${username}"}, "aud": {"one", "two"}, "pin": {"a ${pin}"}}, Lifetime: duration.Duration(10 * time.Minute)}}.WithDefaults()
			if complaints := credential.Complaints(); len(complaints) > 0 {
				t.Fatal(complaints)
			}
			secrets := named{"env:KEY": c.key, "env:USER": "ann", "env:PIN": "pin-kanari", "env:KID": "kid-kanari-7"}
			var sent []string
			up := sending(func(_ context.Context, r *exchange.Request) (*exchange.Response, error) {
				sent = append(sent, r.Header.Get("Authorization"))
				return &exchange.Response{Status: 200, Body: []byte(r.Header.Get("Authorization") + " pin-kanari kid-kanari-7 shared-kanari-secret")}, nil
			})
			for range 2 {
				in := call()
				in.Request.Credential, in.Request.CredentialRequired = credential, true
				response, err := StackSigned(up, secrets, &turnstile{}).Do(t.Context(), in)
				if err != nil || strings.Contains(string(response.Body), strings.TrimPrefix(sent[0], "Bearer ")) || strings.Contains(string(response.Body), "pin-kanari") || c.alg == "HS256" && strings.Contains(string(response.Body), "shared-kanari") {
					t.Errorf("%s: %v, %v", name, err, response)
				}
			}
			text, isBearer := strings.CutPrefix(sent[0], "Bearer ")
			head, claims, signed, signature := partsOf(t, text)
			if !isBearer || !c.verify(signed, signature) || head["alg"] != map[string]string{"EDDSA": "EdDSA"}[c.alg]+map[bool]string{true: c.alg}[c.alg != "EDDSA"] || head["kid"] != "kid-kanari-7" || head["typ"] != "JWT" {
				t.Errorf("%s: %v is not what was asked for", name, head)
			}
			issued, expires := int64(claims["iat"].(float64)), int64(claims["exp"].(float64))
			if issued != time.Now().Add(-30*time.Second).Unix() || expires-issued != 600 {
				t.Errorf("%s: issued %d, expires %d, now %d", name, issued, expires, time.Now().Unix())
			}
			_, other, _, _ := partsOf(t, strings.TrimPrefix(sent[1], "Bearer "))
			if claims["jti"] == other["jti"] || claims["iss"] != "ann" || claims["pin"] != "a pin-kanari" || len(claims["aud"].([]any)) != 2 {
				t.Errorf("%s: %v, then %v", name, claims, other)
			}
		})
	}
}

// A key that cannot sign is told with its reference and what to do. Nothing is sent, and no
// byte of the key is in the error. No algorithm leaves a JWT unsigned, also not one of a
// plan that somebody else stored.
func TestAKeyThatCannotSign(t *testing.T) {
	rsaKey := pemOf(t, "PRIVATE KEY", newRSA(t))
	ecKey := pemOf(t, "PRIVATE KEY", newEC(t, elliptic.P256()))
	body := strings.Split(rsaKey, "\n")[2]
	publicDER, _ := x509.MarshalPKIXPublicKey(newEC(t, elliptic.P256()).Public())
	for name, c := range map[string]struct{ alg, key, says string }{
		"no PEM":            {"RS256", "kanari-no-key", "holds no private key in PEM"},
		"a cut one":         {"RS256", rsaKey[:len(rsaKey)/2], "is the file whole?"},
		"a broken one":      {"RS256", strings.Replace(rsaKey, body, strings.Repeat("A", len(body)), 1), "is the file whole?"},
		"a public one":      {"ES256", string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: publicDER})), "put the private key there"},
		"a locked one":      {"RS256", "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n", "passphrase"},
		"another kind":      {"ES256", rsaKey, "holds an RSA key"},
		"another curve":     {"ES256", pemOf(t, "PRIVATE KEY", newEC(t, elliptic.P384())), "P-384"},
		"EC for RSA":        {"RS256", ecKey, "P-256"},
		"a pair for a word": {"HS256", ecKey, "shared secret"},
		"none":              {"none", ecKey, `cannot sign "none"`},
		"no algorithm":      {"", rsaKey, `cannot sign ""`},
	} {
		for _, way := range []exchange.Credential{{Type: "JWT"}, {Type: "OAUTH2", TokenURL: "/token", Grant: "JWT_BEARER"}, {Type: "OAUTH2", TokenURL: "/token", ClientAuth: "JWT", ClientID: ref(t, "env:ID")}} {
			way.JWT = exchange.JWT{Alg: c.alg, Key: ref(t, "file:/run/secrets/key.pem")}
			up := sending(func(context.Context, *exchange.Request) (*exchange.Response, error) {
				t.Errorf("%s: something was sent", name)
				return &exchange.Response{Status: 200}, nil
			})
			in := call()
			in.Request.Credential, in.Request.CredentialRequired = way.WithDefaults(), true
			_, err := StackSigned(up, named{"file:/run/secrets/key.pem": c.key, "env:ID": "client"}, &turnstile{}).Do(t.Context(), in)
			if err == nil || fault.As(err).Code != fault.Unauthorized || !fault.As(err).Unsent || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "jwt.key: file:/run/secrets/key.pem") || strings.Contains(err.Error(), "kanari") || strings.Contains(err.Error(), body) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// What a token is asked for with is in the form, as RFC 6749 and RFC 7523 say.
func TestFurtherGrants(t *testing.T) {
	key := newEC(t, elliptic.P256())
	secrets := named{"env:ID": "client-kanari-1", "env:KEY": pemOf(t, "PRIVATE KEY", key), "env:USER": "ann", "env:PASS": "pass&kanari", "env:TENANT": "tenant-kanari", "env:SECRET": "secret-kanari"}
	jwt := exchange.JWT{Alg: "ES256", Key: ref(t, "env:KEY"), Claims: map[string]exchange.Texts{"sub": {"${username}"}}}
	for name, c := range map[string]struct {
		credential exchange.Credential
		form       string // without what is signed
		signed     map[string][3]string
	}{
		"password": {exchange.Credential{Grant: "PASSWORD", Username: ref(t, "env:USER"), Password: ref(t, "env:PASS"), Scope: "read", Params: map[string]exchange.Texts{"resource": {"a", "b"}, "tenant": {"x-${tenant}"}}, Secrets: map[string]secret.Ref{"tenant": ref(t, "env:TENANT")}},
			"grant_type=password&password=pass%26kanari&resource=a&resource=b&scope=read&tenant=x-tenant-kanari&username=ann", nil},
		"password of a client": {exchange.Credential{Grant: "PASSWORD", Username: ref(t, "env:USER"), Password: ref(t, "env:PASS"), ClientID: ref(t, "env:ID"), ClientSecret: ref(t, "env:SECRET"), ClientAuth: "BODY"},
			"client_id=client-kanari-1&client_secret=secret-kanari&grant_type=password&password=pass%26kanari&username=ann", nil},
		"assertion": {exchange.Credential{Grant: "JWT_BEARER", Username: ref(t, "env:USER"), JWT: jwt},
			"grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer", map[string][3]string{"assertion": {"", "ann", "https://api.example.org/token"}}},
		"assertion of a client": {exchange.Credential{ClientID: ref(t, "env:ID"), ClientAuth: "JWT", JWT: exchange.JWT{Alg: "ES256", Key: ref(t, "env:KEY")}},
			"client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer&client_id=client-kanari-1&grant_type=client_credentials", map[string][3]string{"client_assertion": {"client-kanari-1", "client-kanari-1", "https://api.example.org/token"}}},
		"both": {exchange.Credential{Grant: "JWT_BEARER", Username: ref(t, "env:USER"), ClientID: ref(t, "env:ID"), ClientAuth: "JWT", JWT: jwt},
			"client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer&client_id=client-kanari-1&grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer",
			map[string][3]string{"client_assertion": {"client-kanari-1", "client-kanari-1", "https://api.example.org/token"}, "assertion": {"client-kanari-1", "ann", "https://api.example.org/token"}}},
	} {
		up := &authority{}
		c.credential.Type, c.credential.TokenURL = "OAUTH2", "/token"
		c.credential = c.credential.WithDefaults()
		if complaints := c.credential.Complaints(); len(complaints) > 0 {
			t.Fatal(name, complaints)
		}
		call, response, err := upon(t.Context(), StackSigned(up, secrets, &turnstile{}), c.credential)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		form := up.asked[0]
		for field, want := range c.signed {
			_, claims, text, signature := partsOf(t, form.Get(field))
			digest := sha256.Sum256([]byte(text))
			issuer, _ := claims["iss"].(string)
			if issuer != want[0] || claims["sub"] != want[1] || claims["aud"] != want[2] || !ecdsa.Verify(&key.PublicKey, digest[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])) {
				t.Errorf("%s: %s has %v", name, field, claims)
			}
			form.Del(field)
		}
		if form.Encode() != c.form {
			t.Errorf("%s: %s, want %s", name, form.Encode(), c.form)
		}
		quiet(t, call, response, err)
	}
}

// An endpoint repeats the assertion, the key it knows and what else it got in its refusal;
// none of it is told. Where its clock is far from ours, that is.
func TestARefusedAssertionTellsNothingButTheClock(t *testing.T) {
	for apart, told := range map[time.Duration]string{0: "", 10 * time.Second: "", 7 * time.Minute: "7m0s apart", -2 * time.Hour: "2h0m0s apart"} {
		synctest.Test(t, func(t *testing.T) {
			var seen string
			up := sending(func(_ context.Context, r *exchange.Request) (*exchange.Response, error) {
				form, _ := url.ParseQuery(string(r.Body))
				seen = form.Get("assertion")
				return answer(400, `{"error": "invalid_grant", "error_description": "`+seen+` by shared-kanari"}`, "Date", time.Now().Add(apart).UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT")), nil
			})
			credential := exchange.Credential{Type: "OAUTH2", TokenURL: "/token", Grant: "JWT_BEARER", JWT: exchange.JWT{Alg: "HS256", Key: ref(t, "env:KEY")}}.WithDefaults()
			call, response, err := upon(t.Context(), StackSigned(up, named{"env:KEY": "shared-kanari"}, &turnstile{}), credential)
			if err == nil || fault.As(err).Code != fault.Unauthorized || !strings.Contains(err.Error(), "check env:KEY") || strings.Contains(err.Error(), "apart") != (told != "") || !strings.Contains(err.Error(), told) || strings.Contains(err.Error(), seen) {
				t.Errorf("%v: %v", apart, err)
			}
			quiet(t, call, response, err)
		})
	}
}
