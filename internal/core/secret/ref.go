package secret

import (
	"errors"
	"strings"
)

// Ref says where a secret is found when a request is sent. It may be stored and
// shown; the value it leads to may not.
type Ref struct{ text string }

// errLiteral never repeats what was given: it may be the secret itself.
var errLiteral = errors.New("E-SECRET-LITERAL: is not a reference: write env:NAME, file:PATH or exec:COMMAND; a secret itself never stands in a source file")

// UnmarshalText reads a reference and refuses everything else.
func (r *Ref) UnmarshalText(text []byte) error {
	scheme, rest, found := strings.Cut(string(text), ":")
	if !found || strings.TrimSpace(rest) == "" {
		return errLiteral
	}
	switch scheme {
	case "env":
		if !isVariable(rest) {
			return errors.New("env: needs the name of an environment variable, such as env:NCBI_API_KEY")
		}
	case "file", "exec":
	default:
		return errLiteral
	}
	r.text = string(text)
	return nil
}

func isVariable(name string) bool {
	for i, c := range name {
		letter := c == '_' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// MarshalText writes the reference as it was given.
func (r Ref) MarshalText() ([]byte, error) { return []byte(r.text), nil }

func (r Ref) String() string { return r.text }

// IsZero reports whether no reference is set.
func (r Ref) IsZero() bool { return r.text == "" }

// Split gives the scheme (env, file or exec) and what it names.
func (r Ref) Split() (scheme, name string) {
	scheme, name, _ = strings.Cut(r.text, ":")
	return scheme, name
}

// ErrAbsent: a reference leads to nothing, such as a variable that is not set.
var ErrAbsent = errors.New("the secret is not there")

// ErrTrouble: a secret could not be read this time, such as by a command that
// asks another machine. Next time it may be.
var ErrTrouble = errors.New("the secret could not be read this time")
