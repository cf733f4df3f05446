package transport

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"maps"
	"time"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/secret"
)

// hook signs a copy of a request and says which secrets have to be hidden in an answer.
// The same request, secrets and instant give the same signature.
type hook func(ctx context.Context, secrets Secrets, r exchange.Request, now time.Time) (exchange.Request, []secret.Text, error)

// signingHooks returns the ways to sign of CUSTOM credentials, by name. A new one
// stands here and in exchange.SigningHooks, which the registry checks names against.
func signingHooks() map[string]hook {
	return map[string]hook{exchange.SigningHMAC: signHMAC}
}

// signHMAC writes the time into its header, signs the declared text and puts the
// signature, and the name of the key, where the credential says.
func signHMAC(ctx context.Context, secrets Secrets, r exchange.Request, now time.Time) (exchange.Request, []secret.Text, error) {
	how := r.Credential.Sign
	signs := sentTo(&r)
	signs.Signs = true
	key, err := secrets.Reveal(ctx, how.Key, signs)
	if err != nil {
		return r, nil, err
	}
	var keyID secret.Text
	if !how.KeyID.IsZero() {
		if keyID, err = secrets.Reveal(ctx, how.KeyID, sentTo(&r)); err != nil {
			return r, nil, err
		}
	}
	r.Header = maps.Clone(r.Header)
	stamp := how.Timestamp(now)
	if how.Dated() {
		r.Header.Set(how.TimestampHeader, stamp)
	}
	signature := hmacText(key, how.Text(&r, stamp, keyID.Reveal()), how.Encoding)
	value := signature
	switch {
	case how.KeyIDHeader != "":
		r.Header.Set(how.KeyIDHeader, keyID.Reveal())
	case !how.KeyID.IsZero():
		value = keyID.Reveal() + ":" + signature
	}
	r.Header.Set(r.Credential.Name, r.Credential.Prefix+value)
	return r, secret.WithName([]secret.Text{key, secret.New(signature)}, keyID, key), nil
}

func hmacText(key secret.Text, text, encoding string) string {
	mac := hmac.New(sha256.New, []byte(key.Reveal()))
	mac.Write([]byte(text))
	if encoding == "BASE64" {
		return base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
	return hex.EncodeToString(mac.Sum(nil))
}
