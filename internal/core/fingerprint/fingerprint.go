// Package fingerprint gives every signature and idempotency key of the
// program: a canonical JSON form (RFC 8785) and SHA-256 over it.
//
// It must never see a secret value, a clock or a row id that depends on the
// order in which things were stored: equal meaning must give equal bytes, in
// every process and on every platform.
package fingerprint

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Canonical renders v as canonical JSON: members sorted, no white space,
// numbers in their shortest form. Values must marshal without error; a value
// that cannot is a programming error of the caller and is reported as such.
func Canonical(v any) ([]byte, error) {
	raw, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("canonical form of %T: %w", v, err)
	}
	value := jsontext.Value(raw)
	if err := value.Canonicalize(); err != nil {
		return nil, fmt.Errorf("canonical form of %T: %w", v, err)
	}
	return value, nil
}

// Of returns the lower-case hex SHA-256 of the canonical form of v.
func Of(v any) (string, error) {
	canonical, err := Canonical(v)
	if err != nil {
		return "", err
	}
	return Bytes(canonical), nil
}

// Bytes returns the lower-case hex SHA-256 of b.
func Bytes(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Key returns the lower-case hex form of Sum. It is the form of every idempotency key.
func Key(parts ...string) string {
	sum := Sum(parts...)
	return hex.EncodeToString(sum[:])
}

// Sum returns the SHA-256 of a sequence of texts. Each part is preceded by its length, so
// that ("ab","c") and ("a","bc") differ.
func Sum(parts ...string) [sha256.Size]byte {
	var room [256]byte
	text := room[:0]
	for _, part := range parts {
		text = append(strconv.AppendInt(text, int64(len(part)), 10), ':')
		text = append(text, part...)
	}
	return sha256.Sum256(text)
}
