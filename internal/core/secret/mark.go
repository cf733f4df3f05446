package secret

import (
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// A mark tells whether secrets are still those they were, and nothing else. It may be
// stored (I12): it is salted, slow to make, and so short that thousands of other
// values have the same one.
const (
	markRounds = 50_000
	markBytes  = 2
)

// Mark makes the mark of some secrets. An empty one stands for a secret that is not
// there. The salt must be random.
func Mark(salt []byte, values ...Text) (string, error) {
	var all strings.Builder
	for _, v := range values {
		fmt.Fprintf(&all, "%d:%s", len(v.Reveal()), v.Reveal())
	}
	sum, err := pbkdf2.Key(sha256.New, all.String(), salt, markRounds, markBytes)
	if err != nil {
		return "", err
	}
	return hex.EncodeToString(salt) + "." + hex.EncodeToString(sum), nil
}

// Marks reports whether a mark was made of these secrets, or of some that look alike.
func Marks(mark string, values ...Text) bool {
	text, _, _ := strings.Cut(mark, ".")
	salt, err := hex.DecodeString(text)
	if err != nil || len(salt) == 0 {
		return false
	}
	again, err := Mark(salt, values...)
	return err == nil && again == mark
}
