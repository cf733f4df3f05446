package upsim

import (
	"cmp"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"slices"
	"strings"
	"time"
)

// JWTCheck is what a JWT is held to: one of the client that asks for a token, one that a
// token is asked for with, or one that is sent with every request.
type JWTCheck struct {
	Alg    string // as its header must name it; HS256 is checked with Auth.Secret
	Public string // public key in PEM, of the other algorithms
	// Skew is how far the clocks may be apart; default none at all.
	Skew time.Duration
	// MostLife from iat to exp; default one hour.
	MostLife time.Duration
}

// jwtClaims are those that are looked at. Account must be Auth.Secret where the
// key is a pair.
type jwtClaims struct {
	Issuer   string   `json:"iss"`
	Subject  string   `json:"sub"`
	Audience audience `json:"aud"`
	ID       string   `json:"jti"`
	Issued   int64    `json:"iat"`
	Expires  int64    `json:"exp"`
	Account  string   `json:"account"`
}

// audience is a text or a list of texts.
type audience []string

// UnmarshalJSON reads both.
func (a *audience) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*a = audience{one}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(a))
}

// readJWT returns the claims of a JWT that is signed as it must be and is good now; or why
// it is not. Each is good once. The caller holds the lock.
func (g *gatekeeper) readJWT(text string, now time.Time) (jwtClaims, string) {
	var claims jwtClaims
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return claims, "jwt-missing"
	}
	var raw [3][]byte
	for i, part := range parts {
		decoded, err := base64.RawURLEncoding.DecodeString(part)
		if err != nil {
			return claims, "jwt-not-valid"
		}
		raw[i] = decoded
	}
	var head struct{ Alg, Typ string }
	if json.Unmarshal(raw[0], &head) != nil || json.Unmarshal(raw[1], &claims) != nil || head.Alg != g.JWT.Alg || !g.signedBy(parts[0]+"."+parts[1], raw[2]) {
		return claims, "jwt-not-valid"
	}
	issued, expires := time.Unix(claims.Issued, 0), time.Unix(claims.Expires, 0)
	switch {
	case issued.After(now.Add(g.JWT.Skew)), !expires.After(now.Add(-g.JWT.Skew)), expires.Sub(issued) > cmp.Or(g.JWT.MostLife, time.Hour):
		return claims, "jwt-time-not-valid"
	case claims.ID == "" || g.used[claims.ID]:
		return claims, "jwt-used"
	case g.JWT.Alg != "HS256" && !equalSecrets(claims.Account, g.Secret):
		return claims, "jwt-account-not-valid"
	}
	g.used[claims.ID] = true
	return claims, ""
}

func (g *gatekeeper) signedBy(text string, signature []byte) bool {
	digest := sha256.Sum256([]byte(text))
	if g.JWT.Alg == "HS256" {
		mac := hmac.New(sha256.New, []byte(g.Secret))
		mac.Write([]byte(text))
		return hmac.Equal(mac.Sum(nil), signature)
	}
	block, _ := pem.Decode([]byte(g.JWT.Public))
	if block == nil {
		return false
	}
	public, _ := x509.ParsePKIXPublicKey(block.Bytes)
	switch key := public.(type) {
	case *rsa.PublicKey:
		return g.JWT.Alg == "RS256" && rsa.VerifyPKCS1v15(key, crypto.SHA256, digest[:], signature) == nil
	case *ecdsa.PublicKey:
		return g.JWT.Alg == "ES256" && len(signature) == 64 && ecdsa.Verify(key, digest[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:]))
	case ed25519.PublicKey:
		return g.JWT.Alg == "EdDSA" && ed25519.Verify(key, []byte(text), signature)
	}
	return false
}

// meansUs reports that a JWT was made for the token endpoint.
func (c jwtClaims) meansUs() bool {
	return slices.ContainsFunc(c.Audience, func(a string) bool { return strings.HasSuffix(a, oauthPath) })
}
