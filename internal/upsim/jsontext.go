package upsim

import (
	"strconv"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// appendString writes a JSON string as upstream does: "/" becomes "\/". With
// ascii everything beyond ASCII becomes \u escapes, with surrogate pairs where
// they are needed.
func appendString(dst []byte, s string, ascii bool) []byte {
	dst = append(dst, '"')
	dst = appendEscaped(dst, s, ascii)
	return append(dst, '"')
}

func appendEscaped(dst []byte, s string, ascii bool) []byte {
	for _, r := range s {
		switch {
		case r == '"' || r == '\\' || r == '/':
			dst = append(dst, '\\', byte(r))
		case r < 0x20:
			dst = appendUnit(dst, uint16(r))
		case r < utf8.RuneSelf:
			dst = append(dst, byte(r))
		case !ascii:
			dst = utf8.AppendRune(dst, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			dst = appendUnit(appendUnit(dst, uint16(high)), uint16(low))
		default:
			dst = appendUnit(dst, uint16(r))
		}
	}
	return dst
}

func appendUnit(dst []byte, u uint16) []byte {
	return append(dst, '\\', 'u', hexDigits[u>>12], hexDigits[u>>8&15], hexDigits[u>>4&15], hexDigits[u&15])
}

func appendInt(dst []byte, n int) []byte { return strconv.AppendInt(dst, int64(n), 10) }

// appendInstant writes the three forms upstream gives of one instant. A
// broken text, if there is one, takes the place of the date-time.
func appendInstant(dst []byte, unix int64, broken *string) []byte {
	t := time.Unix(unix, 0).UTC()
	dst = append(dst, `{"date-parts":[[`...)
	dst = appendDateParts(dst, t, 3)
	dst = append(dst, `]],"date-time":`...)
	if broken != nil {
		dst = appendString(dst, *broken, true)
	} else {
		dst = append(dst, '"')
		dst = t.AppendFormat(dst, time.RFC3339)
		dst = append(dst, '"')
	}
	dst = append(dst, `,"timestamp":`...)
	dst = strconv.AppendInt(dst, unix*1000, 10)
	return append(dst, '}')
}

// appendDateParts writes the first one to three of year, month, day.
func appendDateParts(dst []byte, t time.Time, parts int) []byte {
	year, month, day := t.Date()
	dst = appendInt(dst, year)
	if parts > 1 {
		dst = appendInt(append(dst, ','), int(month))
	}
	if parts > 2 {
		dst = appendInt(append(dst, ','), day)
	}
	return dst
}
