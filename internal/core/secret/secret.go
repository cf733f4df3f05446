// Package secret holds values that cannot be printed, logged or marshalled by
// accident (I12).
//
// Reading the value takes an explicit call to Reveal; only the code that puts
// a credential on the wire may make it.
package secret

import (
	"crypto/subtle"
	"fmt"
	"io"
)

// Mask stands in the place of a secret, wherever one is hidden.
const Mask = "[secret]"

const mask = Mask

// Text is a credential value. It is kept in a function, because fmt looks into
// fields that are not exported without asking the type how it wants to be shown:
// %+v of a struct that holds a Text would print it (A33).
type Text struct{ value func() string }

// New wraps a credential value.
func New(value string) Text {
	if value == "" {
		return Text{}
	}
	return Text{func() string { return value }}
}

// Reveal gives the plain value. Call it only where the request is signed.
func (t Text) Reveal() string {
	if t.value == nil {
		return ""
	}
	return t.value()
}

// IsZero reports whether no value is held.
func (t Text) IsZero() bool { return t.value == nil }

// Equal compares two values.
func (t Text) Equal(other Text) bool {
	return subtle.ConstantTimeCompare([]byte(t.Reveal()), []byte(other.Reveal())) == 1
}

func (Text) String() string               { return mask }
func (Text) GoString() string             { return mask }
func (Text) MarshalText() ([]byte, error) { return []byte(mask), nil }
func (Text) MarshalJSON() ([]byte, error) { return []byte(`"` + mask + `"`), nil }

// Format answers every verb alike: %d and %x would go past String.
func (Text) Format(to fmt.State, _ rune) { _, _ = io.WriteString(to, mask) }
