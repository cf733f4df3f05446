package secret

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// Escapes that writers of JSON, of addresses and of pages choose for a character
// of their own accord: \/ \u003d \x3d, %2B %u002B, &#61; &#x3D; &equals; and each
// of them for the characters of another one, up to deepest times: a page inside a
// JSON text inside a JSON text. Escapes of the same kind may be piled up much
// higher (pile.go).

// introducers begin an escape. One of them stands as it is in every spelling that
// is not plain: what is escaped twice is escaped by one that is not.
var introducers = [...]byte{'\\', '%', '&'}

func isIntroducer(c byte) bool { return c == '\\' || c == '%' || c == '&' }

// deepest is how often the escape of an escape is read.
const deepest = 3

// reading is one way to read what stands at a place: a character, and where it ends.
type reading struct {
	char rune
	end  int
}

// reader reads escapes in all ways they can be read. Its methods leave their
// readings on top of the stack and nothing else: so no memory is taken for them.
type reader struct {
	text  []byte
	stack []reading
	known [deepest][nearby]memo
	turn  int  // which text it is: what is known of another one does not count
	row   span // of backslashes, the last one that was measured
	// several: a secret has a backslash, so that several of them may stand in a row.
	several bool
	steps   int // what was read and not known, of which a text may cost no more than its length
}

// beginText makes ready for a text.
func (r *reader) beginText(text []byte) { r.text, r.turn, r.row, r.steps = text, r.turn+1, span{}, 0 }

// memo is what was read at a place. Escapes of escapes are read many times, as part
// of others, and would cost their number to the power of their depth: with this a
// text costs its length, whatever is in it.
type memo struct {
	turn, at int
	count    int
	found    [mostKnown]reading
}

const (
	nearby    = 256 // places that are remembered: more than the deepest escape has bytes
	mostKnown = 12  // readings of one place: only rows of backslashes have more
)

func (r *reader) pushReading(char rune, end int) { r.stack = append(r.stack, reading{char, end}) }

// readAny leaves all ways to read the character at a place.
func (r *reader) readAny(at, depth int) {
	if at >= len(r.text) {
		return
	}
	char, size := characterAt(r.text, at)
	r.pushReading(char, at+size)
	if depth > 0 && isIntroducer(r.text[at]) {
		r.readEscapes(at, depth)
	}
}

// readEscapes leaves the ways that take it for an escape.
func (r *reader) readEscapes(at, depth int) {
	m, bottom := &r.known[depth-1][at%nearby], len(r.stack)
	if m.turn == r.turn && m.at == at {
		r.stack = append(r.stack, m.found[:m.count]...)
		return
	}
	r.steps++
	r.readAny(at, depth-1) // what begins an escape may be escaped
	top := len(r.stack)
	for i := bottom; i < top; i++ {
		switch lead := r.stack[i]; lead.char {
		case '\\':
			r.readBackslash(lead.end, depth-1)
		case '%':
			r.readPercent(lead.end, depth-1)
		case '&':
			r.readAmpersand(lead.end, depth-1)
		}
	}
	r.readRow(at)
	r.keepReadings(bottom, top)
	if found := r.stack[bottom:]; len(found) <= mostKnown {
		m.turn, m.at, m.count = r.turn, at, copy(m.found[:], found)
	}
}

// keepReadings moves the readings from top on down to bottom, each once.
func (r *reader) keepReadings(bottom, top int) {
	kept := bottom
	for _, found := range r.stack[top:] {
		if !containsReading(r.stack[bottom:kept], found) {
			r.stack[kept] = found
			kept++
		}
	}
	r.stack = r.stack[:kept]
}

func containsReading(all []reading, one reading) bool {
	for _, r := range all {
		if r == one {
			return true
		}
	}
	return false
}

// readBackslash reads on behind a backslash.
func (r *reader) readBackslash(at, depth int) {
	bottom := len(r.stack)
	r.readAny(at, depth)
	top := len(r.stack)
	for i := bottom; i < top; i++ {
		switch next := r.stack[i]; next.char {
		case 'u':
			from := len(r.stack)
			r.readHex(next.end, depth, 4)
			for _, unit := range r.stack[from:] {
				r.readSecondHalf(unit, depth)
			}
		case 'x':
			r.readHex(next.end, depth, 2)
		default:
			if char, known := afterBackslash(next.char); known {
				r.pushReading(char, next.end)
			}
		}
	}
	r.keepReadings(bottom, top)
}

// afterBackslash returns what a letter means behind a backslash.
func afterBackslash(c rune) (char rune, known bool) {
	switch c {
	case '"', '\'', '\\', '/', '`':
		return c, true
	case 'b':
		return '\b', true
	case 'f':
		return '\f', true
	case 'n':
		return '\n', true
	case 'r':
		return '\r', true
	case 't':
		return '\t', true
	}
	return 0, false
}

// readSecondHalf joins two units of UTF-16 into one character.
func (r *reader) readSecondHalf(unit reading, depth int) {
	if !utf16.IsSurrogate(unit.char) {
		return
	}
	bottom := len(r.stack)
	r.readOnly(unit.end, depth, '\\')
	r.goOnward(bottom, func(from reading) { r.readOnly(from.end, depth, 'u') })
	r.goOnward(bottom, func(from reading) { r.readHex(from.end, depth, 4) })
	kept := bottom
	for _, low := range r.stack[bottom:] {
		if char := utf16.DecodeRune(unit.char, low.char); char != utf8.RuneError {
			r.stack[kept] = reading{char, low.end}
			kept++
		}
	}
	r.stack = r.stack[:kept]
}

// goOnward reads on from each reading from bottom on, and leaves what that leaves.
func (r *reader) goOnward(bottom int, read func(from reading)) {
	top := len(r.stack)
	for i := bottom; i < top; i++ {
		read(r.stack[i])
	}
	r.keepReadings(bottom, top)
}

// readOnly leaves the ways to read one wanted character at a place. There may be several:
// where an escape needs no semicolon, one that follows may be part of it or not.
func (r *reader) readOnly(at, depth int, want rune) {
	bottom := len(r.stack)
	r.readAny(at, depth)
	kept := bottom
	for _, found := range r.stack[bottom:] {
		if found.char == want {
			r.stack[kept] = found
			kept++
		}
	}
	r.stack = r.stack[:kept]
}

// readPercent reads on behind a percent sign, which may be escaped as one many times.
func (r *reader) readPercent(at, depth int) {
	r.readPercentOnce(at, depth)
	if last := r.readPile('%', at, piledPercent); last > at {
		r.readPercentOnce(last, depth)
	}
}

func (r *reader) readPercentOnce(at, depth int) {
	bottom := len(r.stack)
	r.readOnly(at, depth, 'u') // of old scripts
	r.goOnward(bottom, func(from reading) { r.readHex(from.end, depth, 4) })
	from := len(r.stack)
	r.readHex(at, depth, 2) // the character of this number, in Latin 1 too
	for _, first := range r.stack[from:] {
		if first.char >= utf8.RuneSelf {
			r.readBytes([utf8.UTFMax]byte{byte(first.char)}, 1, first.end, depth)
		}
	}
}

// readBytes reads on in a character of several bytes, of which the first n are known.
func (r *reader) readBytes(coded [utf8.UTFMax]byte, n, at, depth int) {
	if utf8.FullRune(coded[:n]) {
		if char, size := characterAt(coded[:n], 0); size == n {
			r.pushReading(char, at)
		}
		return
	}
	bottom := len(r.stack)
	r.readOnly(at, depth, '%')
	r.goOnward(bottom, func(from reading) { r.readHex(from.end, depth, 2) })
	r.goOnward(bottom, func(next reading) {
		if coded[n] = byte(next.char); coded[n]&0xC0 == 0x80 {
			r.readBytes(coded, n+1, next.end, depth)
		}
	})
}

// readHex leaves the ways to read so many hexadecimal digits: their value as a character.
func (r *reader) readHex(at, depth, digits int) {
	if end := at + digits; end <= len(r.text) && allHex(r.text[at:end]) { // nearly always, and then in no other way
		r.pushReading(hexRune(r.text[at:end]), end)
		return
	}
	bottom := len(r.stack)
	r.pushReading(0, at)
	for range digits {
		r.goOnward(bottom, func(number reading) {
			top := len(r.stack)
			r.readAny(number.end, depth)
			r.goOn(number, top, 16)
		})
	}
}

// noDigit is the value of a byte that is no hexadecimal digit.
const noDigit = 0x80

var hexDigits = func() (table [256]uint8) {
	for c := range table {
		table[c] = noDigit
	}
	for i, c := range []byte("0123456789abcdef") {
		table[c], table[bytes.ToUpper([]byte{c})[0]] = uint8(i), uint8(i)
	}
	return table
}()

// hexValue returns the value of a digit, or less than zero.
func hexValue(c byte) int8 { return int8(hexDigits[c]) }

func allHex(text []byte) bool {
	for _, c := range text {
		if hexValue(c) < 0 {
			return false
		}
	}
	return true
}
