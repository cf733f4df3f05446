package access

import (
	"crypto/sha256"
	"encoding/base64"
	"time"
)

// Prefix begins every token, so that people and scanners of leaked secrets know what it is.
const Prefix = "patra_"

// SecretBytes is how many random bytes a token or a session has: 256 bits (R2).
const SecretBytes = 32

// Token is what is kept of a token: never the token itself.
type Token struct {
	ID       int64     `json:"id"`
	Name     string    `json:"name"`
	Role     Role      `json:"role"`
	Sources  []string  `json:"sources"` // empty: every source
	Created  time.Time `json:"createdAt"`
	Expires  time.Time `json:"expiresAt"`
	Actor    string    `json:"actor"` // who made it
	LastUsed time.Time `json:"lastUsedAt,omitzero"`
	Revoked  time.Time `json:"revokedAt,omitzero"`
}

// Valid reports whether the token opens anything at an instant.
func (t Token) Valid(now time.Time) bool {
	return t.Revoked.IsZero() && now.Before(t.Expires)
}

// Caller is who brings the token.
func (t Token) Caller() Caller {
	return Caller{Name: t.Name, TokenID: t.ID, Role: t.Role, Sources: t.Sources}
}

// Spell writes a token of random bytes as people copy it.
func Spell(random [SecretBytes]byte) string {
	return Prefix + base64.RawURLEncoding.EncodeToString(random[:])
}

// Hash is what is stored of a token or a session. They are random and long, so a plain
// hash is enough: nobody can try 2^256 of them.
func Hash(text string) [sha256.Size]byte { return sha256.Sum256([]byte(text)) }

// Session is what is kept of a browser that logged in (R3).
type Session struct {
	ID      int64
	Token   Token // it was exchanged for; the session ends with it
	Created time.Time
	Seen    time.Time
}

// How long a session lasts.
const (
	SessionIdle  = 30 * time.Minute // without a request
	SessionTotal = 12 * time.Hour
)

// Valid reports whether the session still opens anything at an instant.
func (s Session) Valid(now time.Time) bool {
	return s.Token.Valid(now) && now.Sub(s.Seen) < SessionIdle && now.Sub(s.Created) < SessionTotal
}

// Caller is whose browser it is.
func (s Session) Caller() Caller {
	c := s.Token.Caller()
	c.Session = s.ID
	return c
}
