// Package duration provides the length of time an operator writes in a configuration file: PT10M, P1D or short 10m, 1d.
// A value reads both spellings and writes one, so equal settings have equal text and equal fingerprints.
//
// It must never hold a calendar length (months and years have no fixed size), a negative length, or read a clock.
package duration

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Duration is a length of time that is never negative when it was parsed.
type Duration time.Duration

// Days and weeks are fixed because all instants are UTC (D§5.21).
const (
	Day  = Duration(24 * time.Hour)
	Week = 7 * Day
)

// Std returns the length for arithmetic with the time package.
func (d Duration) Std() time.Duration { return time.Duration(d) }

// String returns the canonical ISO-8601 text: days, hours, minutes, seconds, each only if it is not zero.
func (d Duration) String() string {
	if d == 0 {
		return "PT0S"
	}
	var b strings.Builder
	rest := uint64(d)
	if d < 0 {
		b.WriteByte('-') // never parsed back: only for messages about a bad value
		rest = -rest
	}
	b.WriteByte('P')
	rest = writePart(&b, rest, uint64(Day), 'D')
	if rest == 0 {
		return b.String()
	}
	b.WriteByte('T')
	rest = writePart(&b, rest, uint64(time.Hour), 'H')
	rest = writePart(&b, rest, uint64(time.Minute), 'M')
	writeSeconds(&b, rest)
	return b.String()
}

func writePart(b *strings.Builder, rest, unit uint64, letter byte) uint64 {
	if n := rest / unit; n > 0 {
		b.WriteString(strconv.FormatUint(n, 10))
		b.WriteByte(letter)
	}
	return rest % unit
}

func writeSeconds(b *strings.Builder, rest uint64) {
	if rest == 0 {
		return
	}
	b.WriteString(strconv.FormatUint(rest/uint64(time.Second), 10))
	if fraction := rest % uint64(time.Second); fraction > 0 {
		b.WriteByte('.')
		b.WriteString(strings.TrimRight(fmt.Sprintf("%09d", fraction), "0"))
	}
	b.WriteByte('S')
}

// MarshalText writes the canonical text. A negative length is refused: it could not be read back.
func (d Duration) MarshalText() ([]byte, error) {
	if d < 0 {
		return nil, fmt.Errorf("write duration %s: a duration cannot be negative", d)
	}
	return []byte(d.String()), nil
}

// UnmarshalText reads any text that Parse accepts.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := Parse(string(text))
	if err != nil {
		return err
	}
	*d = parsed
	return nil
}
