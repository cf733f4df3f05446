package simulated

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"strings"
	"sync"
	"time"

	"github.com/patra-ingest/patra/internal/upsim"
)

// The credentials of every form that has one.
const (
	User   = "form-user"
	Secret = "form-s3cret"
	Second = "form-s3cond"
)

// AuthForms gives a source file for each way to sign requests. All page by
// token, so that a walk has many requests.
func AuthForms() []Form {
	return []Form{
		signedForm("key-header", upsim.Auth{Kind: upsim.AuthKeyHeader}, "type: API_KEY\nin: HEADER\nname: X-Api-Key\nvalue: env:FORM_SECRET"),
		signedForm("key-prefix", upsim.Auth{Kind: upsim.AuthKeyHeader, Name: "Authorization", Prefix: "Token "}, "type: API_KEY\nprefix: \"Token \"\nvalue: env:FORM_SECRET"),
		signedForm("key-query", upsim.Auth{Kind: upsim.AuthKeyQuery}, "type: API_KEY\nin: QUERY\nname: api_key\nvalue: env:FORM_SECRET"),
		postedForm(signedForm("key-json", upsim.Auth{Kind: upsim.AuthKeyBody}, keyInBody), inBody),
		postedForm(signedForm("key-form", upsim.Auth{Kind: upsim.AuthKeyBody}, keyInBody), inForm),
		signedForm("basic", upsim.Auth{Kind: upsim.AuthBasic}, "type: BASIC\nusername: env:FORM_USER\npassword: env:FORM_SECRET"),
		signedForm("bearer", upsim.Auth{Kind: upsim.AuthBearer}, "type: BEARER\nvalue: env:FORM_SECRET"),
		signedForm("oauth", upsim.Auth{Kind: upsim.AuthOAuth, TokenLife: time.Minute}, client),
		signedForm("oauth-body", upsim.Auth{Kind: upsim.AuthOAuth, TokenLife: time.Minute}, client+"\nclientAuth: BODY"),
		refreshedForm(),
		signedForm("session", upsim.Auth{Kind: upsim.AuthSession}, login+"\n  token: $.session\n  expiresIn: $.expires_in\nname: X-Session-Token"),
		signedForm("session-header", upsim.Auth{Kind: upsim.AuthSession}, login+"\n  header: X-Session-Token"),
		signedForm("session-cookie", upsim.Auth{Kind: upsim.AuthSession}, login+"\n  cookie: session"),
		signedForm("session-get", upsim.Auth{Kind: upsim.AuthSession, LoginByGet: true}, loginByGet+"\n  token: $.session\nname: X-Session-Token"),
		signedForm("session-secrets", upsim.Auth{Kind: upsim.AuthSession}, loginBySecrets+"\n  token: $.session\nname: X-Session-Token"),
		signedForm("oauth-password", upsim.Auth{Kind: upsim.AuthOAuth, TokenLife: time.Minute, Grant: "password", Resource: "works"}, byPassword),
		signedForm("oauth-client-jwt", upsim.Auth{Kind: upsim.AuthOAuth, TokenLife: time.Minute, Grant: "jwt-client", JWT: upsim.JWTCheck{Alg: "HS256"}}, clientByJWT),
		keyedForm(signedForm("oauth-jwt", upsim.Auth{Kind: upsim.AuthOAuth, TokenLife: time.Minute, Grant: "jwt", JWT: upsim.JWTCheck{Alg: "EdDSA"}}, byJWT)),
		keyedForm(signedForm("jwt", upsim.Auth{Kind: upsim.AuthJWT, JWT: upsim.JWTCheck{Alg: "ES256"}}, ownJWT)),
		signedForm("hmac", upsim.Auth{Kind: upsim.AuthHMAC}, hmac),
		postedForm(signedForm("hmac-body", upsim.Auth{Kind: upsim.AuthHMAC}, hmac), inBody),
		signedForm("recipe", upsim.Auth{Kind: upsim.AuthHMAC}, recipe),
		signedForm("sigv4", upsim.Auth{Kind: upsim.AuthSigV4}, sigV4),
		postedForm(withToken(signedForm("sigv4-body", upsim.Auth{Kind: upsim.AuthSigV4}, sigV4+"\n  token: env:FORM_SECOND")), inBody),
		inPath(signedForm("key-path", upsim.Auth{Kind: upsim.AuthPath}, "type: API_KEY\nin: PATH\nvalue: env:FORM_SECRET")),
		pooledForm(signedForm("pool", upsim.Auth{Kind: upsim.AuthKeyHeader}, "type: API_KEY\nin: HEADER\nname: X-Api-Key\nvalue: env:FORM_SECRET")),
		withSecond(signedForm("two-keys", upsim.Auth{Kind: upsim.AuthKeyQuery}, "type: API_KEY\nin: QUERY\nname: api_key\nvalue: env:FORM_SECRET")),
	}
}

const keyInBody = "type: API_KEY\nin: BODY\nname: api_key\nvalue: env:FORM_SECRET"

const client = `
type: OAUTH2
tokenUrl: /oauth/token
clientId: env:FORM_USER
clientSecret: env:FORM_SECRET`

const login = `
type: SESSION
username: env:FORM_USER
password: env:FORM_SECRET
login:
  url: /login
  form:
    username: ${username}
    password: ${password}`

const loginByGet = `
type: SESSION
username: env:FORM_USER
password: env:FORM_SECRET
login:
  url: /login
  method: GET
  basic: true
  query: {k: "${password}"}
  headers: {X-App: "${username}"}`

const loginBySecrets = `
type: SESSION
secrets: {account: env:FORM_USER, pin: env:FORM_SECRET}
login:
  url: /login
  form:
    username: ${account}
    password: ${pin}`

const byPassword = `
type: OAUTH2
grant: PASSWORD
tokenUrl: /oauth/token
username: env:FORM_USER
password: env:FORM_SECRET
params: {resource: works}`

const clientByJWT = `
type: OAUTH2
tokenUrl: /oauth/token
clientId: env:FORM_USER
clientAuth: JWT
jwt: {alg: HS256, key: env:FORM_SECRET}`

const byJWT = `
type: OAUTH2
grant: JWT_BEARER
tokenUrl: /oauth/token
username: env:FORM_USER
secrets: {account: env:FORM_SECRET}
jwt:
  alg: EDDSA
  key: env:FORM_KEY
  claims: {iss: "${username}", account: "${account}"}`

const ownJWT = `
type: JWT
secrets: {account: env:FORM_SECRET}
jwt:
  alg: ES256
  key: env:FORM_KEY
  claims: {iss: works, account: "${account}"}
  lifetime: PT2M`

const hmac = `
type: CUSTOM
name: X-Signature
signing: hmac-sha256
sign:
  key: env:FORM_SECRET
  keyId: env:FORM_USER
  keyIdHeader: X-Key-Id`

// recipe says in words of its own what hmac says by parts.
const recipe = `
type: CUSTOM
name: X-Signature
signing: hmac-sha256
sign:
  key: env:FORM_SECRET
  keyId: env:FORM_USER
  keyIdHeader: X-Key-Id
  text: "${method}\n${path}\n${query}\n${timestamp}\n${bodySha256}"
  value: ${signature}
  encoding: BASE64`

const sigV4 = `
type: CUSTOM
signing: aws-sigv4
sign:
  key: env:FORM_SECRET
  keyId: env:FORM_USER
  region: eu-central-1
  service: execute-api`

func signedForm(name string, auth upsim.Auth, credential string) Form {
	auth.User, auth.Secret = User, Secret
	f := namedForms()[0]
	f.Name, f.credential = name, credential
	f.Options = upsim.Options{Forms: upsim.FormOptions{Auth: auth}}
	f.Env = map[string]string{"FORM_USER": User, "FORM_SECRET": Secret}
	return f
}

// keyedForm has a pair of keys: the private one for the file, and the public one for the server. Whoever lists the forms twice
// gets the same pair, as the server and the program of one world do.
func keyedForm(f Form) Form {
	keys, name := curveKeys, "FORM_KEY_"+f.Options.Forms.Auth.JWT.Alg // several forms may stand in one world
	if f.Options.Forms.Auth.JWT.Alg == "EdDSA" {
		keys = edwardsKeys
	}
	f.Options.Forms.Auth.JWT.Public, f.Env[name] = keys()
	f.credential = strings.ReplaceAll(f.credential, "FORM_KEY", name)
	return f
}

// Pairs of keys that a process makes once.
var (
	edwardsKeys = sync.OnceValues(func() (public, private string) {
		known, secret, _ := ed25519.GenerateKey(rand.Reader) // its source never fails
		return encodeKeys(known, secret)
	})
	curveKeys = sync.OnceValues(func() (public, private string) {
		key, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		return encodeKeys(key.Public(), key)
	})
)

func encodeKeys(public, private any) (known, secret string) {
	open, _ := x509.MarshalPKIXPublicKey(public)
	closed, _ := x509.MarshalPKCS8PrivateKey(private)
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: open})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: closed}))
}

// withSecond wants a second key beside the first.
func withSecond(f Form) Form {
	f.Options.Forms.Auth.Second = Second
	f.Env["FORM_SECOND"] = Second
	f.second = "type: API_KEY\nin: HEADER\nname: X-Inst-Token\nvalue: env:FORM_SECOND"
	return f
}

// withToken wants a session token beside the key.
func withToken(f Form) Form {
	f.Options.Forms.Auth.Second = Second
	f.Env["FORM_SECOND"] = Second
	return f
}

// inPath has the key as a part of a segment before the list.
func inPath(f Form) Form {
	f.before = "/bot-${secret.mine}"
	return f
}

// postedForm asks by POST, with the parameters in the body.
func postedForm(f Form, window string) Form {
	f.method, f.path, f.window = "POST", "token-body", window
	return f
}

// RotatingForm has a refresh token in a file, which is replaced with every use. Tokens are good
// for a few requests, so that it is used often.
func RotatingForm(file string) Form {
	return signedForm("oauth-rotating", upsim.Auth{Kind: upsim.AuthOAuth, TokenLife: time.Minute, TokenUses: 3, RefreshToken: "form-refresh-0", Rotate: true},
		client+"\ngrant: REFRESH_TOKEN\nrotates: true\nrefreshToken: file:"+file)
}

func refreshedForm() Form {
	const seed = "form-refresh"
	f := signedForm("oauth-refresh", upsim.Auth{Kind: upsim.AuthOAuth, TokenLife: time.Minute, RefreshToken: seed, Rotate: true},
		client+"\ngrant: REFRESH_TOKEN\nrefreshToken: env:FORM_REFRESH")
	f.Env["FORM_REFRESH"] = seed
	return f
}

// pooledForm has a second key to choose from, which nobody takes.
func pooledForm(f Form) Form {
	f.pool, f.Env["FORM_SECOND"] = true, Second
	f.second = strings.Replace(f.credential, "env:FORM_SECRET", "env:FORM_SECOND", 1)
	return f
}
