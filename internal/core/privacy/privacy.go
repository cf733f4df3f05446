// Package privacy hides what looks like data of a person in texts that are kept
// or shown to explain something: samples, error texts, log lines (§14.10). In the
// place of an e-mail address, a telephone number or a resident identity number
// stands its kind and a short hash, so that two of them can still be compared.
//
// It must never be used on what is worked with: bodies, records, tokens and ids
// stay as they came, or nothing could be replayed. It is no proof of anonymity:
// whoever has a guess can hash it too.
package privacy

import (
	"crypto/sha256"
	"strings"
)

// Mask hides every kind. Masking twice changes nothing, and a text grows to less
// than three times its length.
func Mask(text string) string { return hideNumbers(Emails(text)) }

// Kinds, as they stand in a mark.
const (
	kindEmail  = "email"
	kindPhone  = "phone"
	kindPerson = "person"
)

// hashLetters of four bits each: too few to be sure of a guess, enough to tell
// the values of a sample apart.
const hashLetters = 8

// markFor stands in the place of a value. It has no digit and no sign of an address,
// so that it is never masked itself.
func markFor(kind, normal string) string {
	sum := sha256.Sum256([]byte(kind + ":" + normal))
	var hash [hashLetters]byte
	for i := range hash {
		hash[i] = 'a' + sum[i/2]>>(4*uint(i%2))&15
	}
	return "[" + kind + ":" + string(hash[:]) + "]"
}

// MaskOf does what Mask does for the first bytes of a longer text.
func MaskOf(text []byte, limit int) string { return ofStart(text, limit, Mask) }

// EmailsOf does what Emails does for the first bytes of a longer text.
func EmailsOf(text []byte, limit int) string { return ofStart(text, limit, Emails) }

// ofStart looks further than limit, so that what the limit would cut in two is
// hidden as a whole.
func ofStart(text []byte, limit int, mask func(string) string) string {
	seen := text[:min(len(text), limit+longestEmail)]
	masked := mask(strings.ToValidUTF8(string(seen), ""))
	return strings.ToValidUTF8(masked[:min(len(masked), limit)], "")
}
