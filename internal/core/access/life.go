package access

import (
	"encoding/hex"
	"fmt"
	"regexp"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
)

// How long a token lasts.
const (
	UsualLife   = 90 * 24 * time.Hour  // unless told otherwise
	LongestLife = 366 * 24 * time.Hour // unless a person insists
	LinkLife    = SessionTotal         // of the token behind a one-time login link
)

// How much is kept.
const (
	MostTokens   = 1000 // that are valid at once
	MostSessions = 20   // of one token; the one seen longest ago ends when another begins
)

// UseGrain is how often the last use of a token or a session is written at most.
const UseGrain = time.Minute

// LinkActor signs what a one-time login link does: whoever reads the terminal of the
// process has it.
const LinkActor = "login link"

var tokenName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9._@-]{0,63}$`)

// CheckName refuses names that could be taken for the number of a token, or that a log
// would have to escape.
func CheckName(name string) error {
	if !tokenName.MatchString(name) {
		return fmt.Errorf("%w: %q cannot be the name of an access token: use up to 64 letters, digits and . _ @ -, beginning with a letter", fault.ErrInvalid, name)
	}
	return nil
}

// CheckLife refuses a life that is over at once, and one of more than a year that nobody
// insisted on: a forgotten token that never ends is a door that stands open.
func CheckLife(lasts time.Duration, insisted bool) error {
	switch {
	case lasts <= 0:
		return fmt.Errorf("%w: an access token has to last for some time, such as 90d", fault.ErrInvalid)
	case lasts > LongestLife && !insisted:
		return fmt.Errorf("%w: an access token lasts a year at most; --more-than-a-year allows more", fault.ErrInvalid)
	}
	return nil
}

// HashText is the hash of a token or a session as it is stored.
func HashText(text string) string {
	sum := Hash(text)
	return hex.EncodeToString(sum[:])
}

// Opening is the wish to log a browser in.
type Opening struct {
	Hash     string // of the new session
	TokenID  int64  // it is exchanged for
	Address  string // where the browser is
	Replaces int64  // the session that the browser had; zero: none
}

// Refusal is that somebody was refused, once or many times within a minute.
type Refusal struct {
	At      time.Time // the first time
	Actor   string
	Route   string // method and the first parts of the path
	Why     string
	Address string
	Status  int
	Count   int
}
