package transport

import (
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"hash"
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
	return map[string]hook{
		exchange.SigningHMAC: signHMAC, exchange.SigningHMAC1: signHMAC, exchange.SigningHMAC512: signHMAC,
		exchange.SigningAWS: signAWS,
	}
}

// signHMAC writes the time into its header, signs the declared text and puts the
// signature, and the name of the key, where the credential says.
func signHMAC(ctx context.Context, secrets Secrets, r exchange.Request, now time.Time) (exchange.Request, []secret.Text, error) {
	how := r.Credential.Sign
	key, err := revealKey(ctx, secrets, &r)
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
	signature := encodeSum(hmacSum(r.Credential.Signing, key.Reveal(), how.SignedText(&r, stamp, keyID.Reveal())), how.Encoding)
	if how.KeyIDHeader != "" {
		r.Header.Set(how.KeyIDHeader, keyID.Reveal())
	}
	r.Header.Set(r.Credential.Name, r.Credential.Prefix+how.SentValue(signature, stamp, keyID.Reveal()))
	return r, secret.WithName([]secret.Text{key, secret.New(signature)}, keyID, key), nil
}

// revealKey returns the key that signs a request, and is not sent with it.
func revealKey(ctx context.Context, secrets Secrets, r *exchange.Request) (secret.Text, error) {
	signs := sentTo(r)
	signs.Signs = true
	return secrets.Reveal(ctx, r.Credential.Sign.Key, signs)
}

// signAWS signs by Signature Version 4 of AWS.
func signAWS(ctx context.Context, secrets Secrets, r exchange.Request, now time.Time) (exchange.Request, []secret.Text, error) {
	how := r.Credential.Sign
	key, err := revealKey(ctx, secrets, &r)
	if err != nil {
		return r, nil, err
	}
	keyID, err := secrets.Reveal(ctx, how.KeyID, sentTo(&r))
	if err != nil {
		return r, nil, err
	}
	var token secret.Text
	if !how.Token.IsZero() {
		if token, err = secrets.Reveal(ctx, how.Token, sentTo(&r)); err != nil {
			return r, nil, err
		}
	}
	r.Header = maps.Clone(r.Header)
	seen := how.PrepareAWS(&r, token.Reveal(), now)
	derived := exchange.AWSKey(key.Reveal())
	for _, step := range how.KeySteps(seen) {
		derived = string(hmacSum(exchange.SigningHMAC, derived, step))
	}
	signature := encodeSum(hmacSum(exchange.SigningHMAC, derived, seen.SignedText()), "HEX")
	r.Header.Set("Authorization", seen.Authorization(keyID.Reveal(), signature))
	return r, secret.WithName([]secret.Text{key, token, secret.New(signature)}, keyID, key), nil
}

func hmacSum(signing, key, text string) []byte {
	hashes := map[string]func() hash.Hash{exchange.SigningHMAC1: sha1.New, exchange.SigningHMAC512: sha512.New}
	newHash, other := hashes[signing]
	if !other {
		newHash = sha256.New
	}
	mac := hmac.New(newHash, []byte(key))
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

func encodeSum(sum []byte, encoding string) string {
	if encoding == "BASE64" {
		return base64.StdEncoding.EncodeToString(sum)
	}
	return hex.EncodeToString(sum)
}
