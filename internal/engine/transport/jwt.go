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
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/secret"
)

// signJWT makes a JWT for the host of a request and says what has to be hidden in its
// answer. Claims of the source win over the usual ones. A private key is never sent, so
// nothing that comes back can repeat it; a shared secret is hidden, because the other
// side has it too.
func signJWT(ctx context.Context, secrets Secrets, r *exchange.Request, how exchange.JWT, usual, values map[string]string) (secret.Text, []secret.Text, error) {
	signs := sentTo(r)
	signs.Signs = true
	key, err := secrets.Reveal(ctx, how.Key, signs)
	if err != nil {
		return secret.Text{}, nil, err
	}
	var keyID secret.Text
	if !how.KeyID.IsZero() {
		if keyID, err = secrets.Reveal(ctx, how.KeyID, sentTo(r)); err != nil {
			return secret.Text{}, nil, err
		}
	}
	claims, err := how.Payload(usual, values, rand.Text(), time.Now())
	if err != nil {
		return secret.Text{}, nil, errors.New("jwt.claims: a value is not UTF-8")
	}
	text := encodeJWT(how.Head(keyID.Reveal())) + "." + encodeJWT(claims)
	signature, err := signText(how.Alg, key, text)
	if err != nil {
		return secret.Text{}, nil, fmt.Errorf("jwt.key: %s %w", how.Key, err)
	}
	ending := encodeJWT(signature)
	hidden := []secret.Text{secret.New(text + "." + ending), secret.New(ending)}
	if how.Shared() {
		hidden = append(hidden, key)
	}
	return hidden[0], secret.WithName(hidden, keyID, key), nil
}

func encodeJWT(part []byte) string { return base64.RawURLEncoding.EncodeToString(part) }

// Why a key cannot sign. None of them repeats a byte of it.
var (
	errNoPEM     = errors.New("holds no private key in PEM: it has to begin with -----BEGIN PRIVATE KEY-----, BEGIN RSA PRIVATE KEY or BEGIN EC PRIVATE KEY")
	errPublic    = errors.New("holds a public key or a certificate: put the private key there")
	errEncrypted = errors.New("holds a private key that is locked with a passphrase: unlock it (openssl pkey -in KEY -out NEW) and protect the file with its permissions")
	errDamaged   = errors.New("holds a private key that cannot be read: is the file whole? (openssl pkey -in KEY -noout -check tells)")
	errShared    = errors.New("holds a key in PEM, and HS256 signs with a shared secret: say jwt.alg RS256, ES256 or EDDSA, whichever the key is for")
)

// signText signs with the algorithm that was declared. There is none that leaves a text
// unsigned: whatever is not known is refused, also in a plan that a stranger stored.
func signText(alg string, key secret.Text, text string) ([]byte, error) {
	if alg == "HS256" {
		if strings.Contains(key.Reveal(), "-----BEGIN ") {
			return nil, errShared
		}
		mac := hmac.New(sha256.New, []byte(key.Reveal()))
		mac.Write([]byte(text))
		return mac.Sum(nil), nil
	}
	private, err := parseKey(key)
	if err != nil {
		return nil, err
	}
	digest := sha256.Sum256([]byte(text))
	switch k := private.(type) {
	case *rsa.PrivateKey:
		switch {
		case k.N.BitLen() < 2048 && (alg == "RS256" || alg == "PS256"):
			return nil, fmt.Errorf("holds an RSA key of %d bits: at least 2048 are needed", k.N.BitLen())
		case alg == "RS256":
			return rsa.SignPKCS1v15(rand.Reader, k, crypto.SHA256, digest[:])
		case alg == "PS256":
			return rsa.SignPSS(rand.Reader, k, crypto.SHA256, digest[:], &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash})
		}
		return nil, wrongKind("an RSA key", alg)
	case *ecdsa.PrivateKey:
		if alg == "ES256" && k.Curve == elliptic.P256() {
			return signES256(k, digest[:])
		}
		return nil, wrongKind("a key of the curve "+k.Curve.Params().Name, alg)
	case ed25519.PrivateKey:
		if alg == "EDDSA" {
			return ed25519.Sign(k, []byte(text)), nil
		}
		return nil, wrongKind("an Ed25519 key", alg)
	}
	return nil, wrongKind("a key of another kind", alg)
}

func wrongKind(kind, alg string) error {
	return fmt.Errorf("holds %s, which cannot sign %q: use RS256 or PS256 with RSA, ES256 with P-256, EDDSA with Ed25519", kind, alg)
}

// signES256 writes both numbers of a signature in 32 bytes each (RFC 7518 §3.4).
func signES256(key *ecdsa.PrivateKey, digest []byte) ([]byte, error) {
	r, s, err := ecdsa.Sign(rand.Reader, key, digest)
	if err != nil {
		return nil, errDamaged
	}
	out := make([]byte, 64)
	r.FillBytes(out[:32])
	s.FillBytes(out[32:])
	return out, nil
}

// parseKey reads a private key. Errors of the parser are not passed on.
func parseKey(text secret.Text) (crypto.PrivateKey, error) {
	plain := text.Reveal()
	if !strings.Contains(plain, "\n") { // of a variable, in which line breaks are often written as two signs
		plain = strings.ReplaceAll(plain, `\n`, "\n")
	}
	block, _ := pem.Decode([]byte(plain))
	switch {
	case block == nil && strings.Contains(plain, "-----BEGIN "):
		return nil, errDamaged
	case block == nil:
		return nil, errNoPEM
	case strings.Contains(block.Type, "ENCRYPTED") || block.Headers["DEK-Info"] != "":
		return nil, errEncrypted
	case !strings.HasSuffix(block.Type, "PRIVATE KEY"):
		return nil, errPublic
	}
	parse := x509.ParsePKCS8PrivateKey
	switch block.Type {
	case "RSA PRIVATE KEY":
		parse = func(der []byte) (any, error) { return x509.ParsePKCS1PrivateKey(der) }
	case "EC PRIVATE KEY":
		parse = func(der []byte) (any, error) { return x509.ParseECPrivateKey(der) }
	}
	key, err := parse(block.Bytes)
	if err != nil {
		return nil, errDamaged
	}
	return key, nil
}

// placeValues reads what ${…} of claims and params stand for, and says what of it has to be
// hidden: names that are ordinary words are not.
func placeValues(ctx context.Context, secrets Secrets, c exchange.Credential, r *exchange.Request) (values map[string]string, hidden []secret.Text, err error) {
	values = map[string]string{}
	for _, name := range c.PlaceNames() {
		text, err := secrets.Reveal(ctx, c.RefNamed(name), sentTo(r))
		if err != nil {
			return nil, nil, err
		}
		values[name] = text.Reveal()
		if _, named := c.Secrets[name]; named {
			hidden = append(hidden, text)
		} else { // a name beside a key that is surely long
			hidden = secret.WithName(hidden, text, secret.New("a signature or a key"))
		}
	}
	return values, hidden, nil
}
