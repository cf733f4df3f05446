package transport_test

import (
	"context"
	"crypto"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/secret"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/driver/httpclient"
	"github.com/patra-ingest/patra/internal/engine/rategate"
	"github.com/patra-ingest/patra/internal/engine/transport"
)

// The secrets behind the references of the page, every one a canary.
var safe = vault{
	"env:EXAMPLE_KEY": "key-kanari", "env:EXAMPLE_USER": "ann", "env:EXAMPLE_PASSWORD": "pa&ss-kanari", "env:EXAMPLE_CLIENT": "client", "env:EXAMPLE_SECRET": "secret-kanari",
	"env:EXAMPLE_KEY_LIBRARY": "library-kanari", "env:EXAMPLE_KEY_PHYSICS": "physics-kanari",
	"file:/run/secrets/example-token": "bearer-kanari", "file:/run/secrets/example-refresh": "refresh-kanari",
	"file:/run/secrets/example-key.pem": pemText(pageKey),
}

// pageKey signs the JWTs of the page.
var pageKey, _ = rsa.GenerateKey(rand.Reader, 2048)

func pemText(key *rsa.PrivateKey) string {
	der, _ := x509.MarshalPKCS8PrivateKey(key)
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

// claimsOf returns the claims of a JWT that the key of the page signed; nil of any other.
func claimsOf(text string) map[string]any {
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return nil
	}
	digest := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	signature, _ := base64.RawURLEncoding.DecodeString(parts[2])
	claims := map[string]any{}
	raw, _ := base64.RawURLEncoding.DecodeString(parts[1])
	if rsa.VerifyPKCS1v15(&pageKey.PublicKey, crypto.SHA256, digest[:], signature) != nil || json.Unmarshal(raw, &claims) != nil {
		return nil
	}
	return claims
}

type vault map[string]string

func (v vault) Reveal(_ context.Context, ref secret.Ref, _ secret.Purpose) (secret.Text, error) {
	if value, ok := v[ref.String()]; ok {
		return secret.New(value), nil
	}
	return secret.Text{}, fmt.Errorf("%s: %w", ref, secret.ErrAbsent)
}

// RotateToken spends a token that the server does not replace.
func (v vault) RotateToken(ctx context.Context, ref secret.Ref, to secret.Purpose, spend transport.SpendToken) error {
	token, err := v.Reveal(ctx, ref, to)
	if err == nil {
		_, err = spend(ctx, token, func() error { return nil })
	}
	return err
}

// guarded is an upstream that lets in who is right, and tells everybody what it
// was told.
type guarded struct {
	*httptest.Server
	calls atomic.Int64 // token and login calls
}

func newGuarded(t *testing.T) *guarded {
	g := &guarded{}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /oauth/token", func(w http.ResponseWriter, r *http.Request) {
		g.calls.Add(1)
		user, password, _ := r.BasicAuth()
		byHeader := user == "client" && password == "secret-kanari" && r.FormValue("grant_type") == "client_credentials" && r.FormValue("scope") == "read:works"
		byForm := r.FormValue("client_id") == "client" && r.FormValue("client_secret") == "secret-kanari" && r.FormValue("refresh_token") == "refresh-kanari"
		byPassword := r.FormValue("grant_type") == "password" && r.FormValue("username") == "ann" && r.FormValue("password") == "pa&ss-kanari" && r.FormValue("resource") == "https://api.example.org/works"
		byAssertion := claimsOf(r.FormValue("assertion"))["iss"] == "ann"
		bySigning := r.FormValue("client_id") == "client" && claimsOf(r.FormValue("client_assertion"))["sub"] == "client"
		g.give(w, byHeader || byForm || byPassword || byAssertion || bySigning, `{"access_token": "token-kanari", "token_type": "Bearer", "expires_in": 3600}`)
	})
	mux.HandleFunc("POST /login", func(w http.ResponseWriter, r *http.Request) {
		g.calls.Add(1)
		var told struct{ User, Password, Tenant string }
		_ = json.NewDecoder(r.Body).Decode(&told)
		g.give(w, (told.Tenant == "" || told.Tenant == "client") && told.User == "ann" && told.Password == "pa&ss-kanari", `{"session": {"token": "session-kanari", "seconds": "600"}}`)
	})
	mux.HandleFunc("GET /tickets", func(w http.ResponseWriter, r *http.Request) {
		g.calls.Add(1)
		user, password, _ := r.BasicAuth()
		g.give(w, user == "ann" && password == "pa&ss-kanari" && r.URL.RawQuery == "user=ann" && r.Header.Get("X-App") == "ann", `{"session": {"token": "session-kanari"}}`)
	})
	mux.HandleFunc("POST /session", func(w http.ResponseWriter, r *http.Request) {
		g.calls.Add(1)
		http.SetCookie(w, &http.Cookie{Name: "sid", Value: "cookie-kanari", HttpOnly: true})
		g.give(w, r.FormValue("key") == "key-kanari", "{}")
	})
	mux.HandleFunc("GET /works/{credential}", func(w http.ResponseWriter, r *http.Request) {
		told, _ := json.Marshal(fmt.Sprint(r.URL, r.Header))
		g.give(w, allowed(r, r.PathValue("credential")), fmt.Sprintf(`{"items": [{"id": "1", "updated": "2025-03-01", "title": %s}]}`, told))
	})
	mux.HandleFunc("GET /works/bot/{key}", func(w http.ResponseWriter, r *http.Request) {
		told, _ := json.Marshal(fmt.Sprint(r.URL, r.Header))
		g.give(w, r.PathValue("key") == "key-kanari", fmt.Sprintf(`{"items": [{"id": "1", "updated": "2025-03-01", "title": %s}]}`, told))
	})
	g.Server = httptest.NewServer(mux)
	t.Cleanup(g.Close)
	return g
}

func (g *guarded) give(w http.ResponseWriter, ok bool, body string) {
	if !ok {
		w.WriteHeader(http.StatusUnauthorized)
	}
	fmt.Fprint(w, body)
}

func allowed(r *http.Request, credential string) bool {
	authorization := r.Header.Get("Authorization")
	switch credential {
	case "query-key":
		return r.FormValue("api_key") == "key-kanari"
	case "keys":
		return slices.Contains([]string{"library-kanari", "physics-kanari"}, r.Header.Get("X-Key"))
	case "header-key":
		return authorization == "Token key-kanari"
	case "bearer":
		return authorization == "Bearer bearer-kanari"
	case "basic":
		user, password, _ := r.BasicAuth()
		return user == "ann" && password == "pa&ss-kanari"
	case "own-token":
		return claimsOf(strings.TrimPrefix(authorization, "Bearer "))["iss"] == "client"
	case "client", "refreshed", "rotating", "by-password", "by-assertion", "signing-client":
		return authorization == "Bearer token-kanari"
	case "session", "fetched", "three-parts":
		return r.Header.Get("X-Session") == "session-kanari"
	case "cookie":
		sid, err := r.Cookie("sid")
		return err == nil && sid.Value == "cookie-kanari"
	case "recipe":
		nothing := sha256.Sum256(nil)
		mac := hmac.New(sha512.New, []byte("secret-kanari"))
		fmt.Fprintf(mac, "GET %s?%s\n%s\n%s", r.URL.EscapedPath(), r.URL.RawQuery, r.Header.Get("X-Date"), hex.EncodeToString(nothing[:]))
		return authorization == `Signature keyId="client",signature="`+base64.StdEncoding.EncodeToString(mac.Sum(nil))+`"`
	case "aws": // the signature itself is checked by the simulator and by published figures
		return strings.HasPrefix(authorization, "AWS4-HMAC-SHA256 Credential=client/") && r.Header.Get("X-Amz-Security-Token") == "bearer-kanari"
	case "signed":
		nothing := sha256.Sum256(nil)
		mac := hmac.New(sha256.New, []byte("secret-kanari"))
		fmt.Fprintf(mac, "GET\n%s\n%s\n%s\n%s", r.URL.EscapedPath(), r.URL.RawQuery, r.Header.Get("X-Date"), hex.EncodeToString(nothing[:])) // our queries are sorted
		return authorization == "HMAC-SHA256 client:"+base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
	return false
}

var (
	yamlBlock  = regexp.MustCompile("(?s)```yaml\n(.*?)```")
	credential = regexp.MustCompile(`auth: \{credential: ([a-z-]+)\}`)
)

const around = `source: example
name: Example
http: {baseUrl: SERVER, allowPrivate: true}
rate: {perSecond: 1000, burst: 100, concurrency: 1}
endpoints:
  works:
    role: SEARCH
    request: {path: /works/NAME, query: {from: "${filter.from}", rows: "${page.size}", token: "${page.token}", until: "${filter.to}"}}
    filter: {field: updated}
    paging: {type: TOKEN}
    response: {items: $.items, id: $.id, updatedAt: $.updated, nextToken: $.next, fields: {title: $.title}}
`

// examples are the source files of the page, one for each block.
func examples(t *testing.T, server string) map[string]*spec.Program {
	t.Helper()
	page, err := os.ReadFile("../../../docs/credentials.md")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*spec.Program{}
	for _, block := range yamlBlock.FindAllStringSubmatch(string(page), -1) {
		found := credential.FindStringSubmatch(block[1])
		if found == nil { // about a request, and no credential
			continue
		}
		name := found[1]
		text := block[1] + strings.NewReplacer("SERVER", server, "NAME", name).Replace(around)
		text = strings.ReplaceAll(text, "https://auth.example.org", server)
		text = strings.ReplaceAll(text, "{path: /works/bot,", "{path: \"/works/bot/${secret.bot}\",")
		source, _, err := registry.Decode(name+".yaml", []byte(text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if problems := source.Validate(); len(problems) > 0 {
			t.Fatalf("%s: %v", name, problems)
		}
		resolved, err := registry.Resolve(source, "works", "HARVEST", nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		compiled, err := spec.Compile(resolved)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if out[name], err = compiled.Snapshot.Program(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	return out
}

// Every example of the page works against a real server, through the whole
// chain, with one request at a time allowed: a token call that waited for the
// permit of its own request would wait for ever.
func TestEveryExampleOfThePage(t *testing.T) {
	server := newGuarded(t)
	programs := examples(t, server.URL)
	if len(programs) != 20 {
		t.Errorf("%d examples were found", len(programs))
	}
	for name, p := range programs {
		chain := transport.StackSigned(httpclient.New(httpclient.Options{}), safe, rategate.New())
		server.calls.Store(0)
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				call := ask(t, p)
				response, err := chain.Do(t.Context(), call)
				if err != nil {
					t.Errorf("%s: %v", name, err)
					return
				}
				notes, _ := json.Marshal(call.Notes)
				for _, seen := range []string{string(response.Body), fmt.Sprintf("%+v", call), string(notes), fmt.Sprint(response.Header)} {
					if strings.Contains(seen, "kanari") {
						t.Errorf("%s: a secret is in %s", name, seen)
					}
				}
			})
		}
		all.Wait()
		if calls := server.calls.Load(); p.Credential.NeedsToken() && calls != 1 {
			t.Errorf("%s: %d token calls", name, calls)
		}
	}
}

// With other secrets each of them is refused, and the error does not say what
// was sent.
func TestWrongSecretsAreToldPlainly(t *testing.T) {
	server := newGuarded(t)
	wrong := vault{}
	for ref := range safe {
		wrong[ref] = "wrong-kanari"
	}
	for name, p := range examples(t, server.URL) {
		call := ask(t, p)
		chain := transport.StackSigned(httpclient.New(httpclient.Options{}), wrong, rategate.New())
		_, err := chain.Do(t.Context(), call)
		if err == nil || !strings.Contains(err.Error(), "UNAUTHORIZED") || strings.Contains(fmt.Sprintf("%+v %v", call, err), "kanari") {
			t.Errorf("%s: %v", name, err)
		}
		names := func(ref secret.Ref) bool { return strings.Contains(err.Error(), ref.String()) }
		if !slices.ContainsFunc(p.AllCredentials(), func(c exchange.Credential) bool { return slices.ContainsFunc(c.References(), names) }) {
			t.Errorf("%s: the error does not say what to look at: %v", name, err)
		}
	}
}

func ask(t *testing.T, p *spec.Program) *transport.Call {
	t.Helper()
	day := window.Window{From: time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC), To: time.Date(2025, 3, 2, 0, 0, 0, 0, time.UTC)}
	question, err := p.Ask(day, day.To)
	if err != nil {
		t.Fatal(err)
	}
	request, err := question.Page(p.Paging.First())
	if err != nil {
		t.Fatal(err)
	}
	request.Header = exchange.Header{"Accept": {"application/json"}}
	return &transport.Call{Request: request, Key: "example/works", Limits: p.Rate, Retry: p.Retry}
}
