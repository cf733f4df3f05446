// Package secret holds values that cannot be printed, logged or marshalled by
// accident (I12).
//
// Reading the value takes an explicit call to Reveal; only the code that puts
// a credential on the wire may make it.
package secret

const mask = "[secret]"

// Text is a credential value.
type Text struct{ value string }

// New wraps a credential value.
func New(value string) Text { return Text{value: value} }

// Reveal gives the plain value. Call it only where the request is signed.
func (t Text) Reveal() string { return t.value }

// IsZero reports whether no value is held.
func (t Text) IsZero() bool { return t.value == "" }

func (Text) String() string               { return mask }
func (Text) GoString() string             { return mask }
func (Text) MarshalText() ([]byte, error) { return []byte(mask), nil }
func (Text) MarshalJSON() ([]byte, error) { return []byte(`"` + mask + `"`), nil }
