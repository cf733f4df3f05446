package secret

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// Escapes that writers of JSON, of addresses and of pages choose for a character
// of their own accord: \/ \u003d \x3d, %2B %u002B, &#61; &#x3D; &equals; and each
// of them for the characters of another one, up to deepest times: a page inside a
// JSON text inside a JSON text.

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
	turn  int // which text it is: what is known of another one does not count
}

// begin makes ready for a text.
func (r *reader) begin(text []byte) { r.text, r.turn = text, r.turn+1 }

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
	mostKnown = 8   // readings of one place: only rows of backslashes have more
)

func (r *reader) push(char rune, end int) { r.stack = append(r.stack, reading{char, end}) }

// readAny leaves all ways to read the character at a place.
func (r *reader) readAny(at, depth int) {
	if at >= len(r.text) {
		return
	}
	char, size := characterAt(r.text, at)
	r.push(char, at+size)
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
	r.keep(bottom, top)
	if found := r.stack[bottom:]; len(found) <= mostKnown {
		m.turn, m.at, m.count = r.turn, at, copy(m.found[:], found)
	}
}

// keep moves the readings from top on down to bottom, each once.
func (r *reader) keep(bottom, top int) {
	kept := bottom
	for _, found := range r.stack[top:] {
		if !contains(r.stack[bottom:kept], found) {
			r.stack[kept] = found
			kept++
		}
	}
	r.stack = r.stack[:kept]
}

func contains(all []reading, one reading) bool {
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
			if unit, end, ok := r.readHex(next.end, depth, 4); ok {
				r.push(unit, end)
				r.readSecondHalf(unit, end, depth)
			}
		case 'x':
			if char, end, ok := r.readHex(next.end, depth, 2); ok {
				r.push(char, end)
			}
		default:
			if char, known := afterBackslash(next.char); known {
				r.push(char, next.end)
			}
		}
	}
	r.keep(bottom, top)
}

// afterBackslash is what a letter means behind a backslash.
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
func (r *reader) readSecondHalf(unit rune, at, depth int) {
	if !utf16.IsSurrogate(unit) {
		return
	}
	bottom := len(r.stack)
	r.readAny(at, depth)
	for _, lead := range r.stack[bottom:] {
		if lead.char != '\\' {
			continue
		}
		end, ok := r.readOne(lead.end, depth, 'u')
		if !ok {
			continue
		}
		low, end, ok := r.readHex(end, depth, 4)
		if char := utf16.DecodeRune(unit, low); ok && char != utf8.RuneError {
			r.stack = r.stack[:bottom]
			r.push(char, end)
			return
		}
	}
	r.stack = r.stack[:bottom]
}

// readPercent reads on behind a percent sign.
func (r *reader) readPercent(at, depth int) {
	if end, ok := r.readOne(at, depth, 'u'); ok { // of old scripts
		if char, end, ok := r.readHex(end, depth, 4); ok {
			r.push(char, end)
		}
	}
	value, end, ok := r.readHex(at, depth, 2)
	if !ok {
		return
	}
	r.push(value, end) // the character of this number, in Latin 1 too
	if value < utf8.RuneSelf {
		return
	}
	var space [utf8.UTFMax]byte
	coded := append(space[:0], byte(value))
	for !utf8.FullRune(coded) {
		next, behind, ok := r.readNextByte(end, depth)
		if !ok {
			break
		}
		coded, end = append(coded, next), behind
	}
	if char, size := characterAt(coded, 0); size == len(coded) {
		r.push(char, end)
	}
}

// readNextByte reads a byte that goes on with a character.
func (r *reader) readNextByte(at, depth int) (value byte, end int, ok bool) {
	bottom := len(r.stack)
	r.readAny(at, depth)
	for _, lead := range r.stack[bottom:] {
		if lead.char != '%' {
			continue
		}
		if next, behind, is := r.readHex(lead.end, depth, 2); is && next&0xC0 == 0x80 {
			value, end, ok = byte(next), behind, true
			break
		}
	}
	r.stack = r.stack[:bottom]
	return value, end, ok
}

// mostDigits of a number: some writers fill it up with zeros.
const mostDigits = 9

// readAmpersand reads on behind an ampersand.
func (r *reader) readAmpersand(at, depth int) {
	if end, ok := r.readOne(at, depth, '#'); ok {
		r.readNumber(end, depth, 10)
		for _, x := range "xX" {
			if behind, ok := r.readOne(end, depth, x); ok {
				r.readNumber(behind, depth, 16)
			}
		}
	}
	r.readNamed(at, depth)
}

// readNumber reads a character that has a number.
func (r *reader) readNumber(at, depth int, base rune) {
	char, digits := rune(0), 0
	for ; digits < mostDigits; digits++ {
		value, behind, ok := r.readDigit(at, depth)
		if !ok || value >= base || char > utf8.MaxRune {
			break
		}
		char, at = char*base+value, behind
	}
	if digits == 0 {
		return
	}
	if behind, ok := r.readOne(at, depth, ';'); ok { // some leave it out
		at = behind
	}
	r.push(char, at)
}

// readNamed reads a character that has a name.
func (r *reader) readNamed(at, depth int) {
	var space [longestName]byte
	name, bottom := space[:0], len(r.stack)
	for len(name) < longestName {
		r.readAny(at, depth)
		var found reading
		for _, one := range r.stack[bottom:] {
			if one.char == ';' || isNameLetter(one.char) {
				found = one
				break
			}
		}
		r.stack = r.stack[:bottom]
		switch {
		case found.end == 0:
			return
		case found.char == ';':
			if char, known := named(name); known {
				r.push(char, found.end)
			}
			return
		}
		name, at = append(name, byte(found.char)), found.end
	}
}

// readOne reads one wanted character, which begins no escape.
func (r *reader) readOne(at, depth int, want rune) (end int, ok bool) {
	if at >= len(r.text) {
		return at, false
	}
	if rune(r.text[at]) == want {
		return at + 1, true
	}
	if depth == 0 || !isIntroducer(r.text[at]) {
		return at, false
	}
	bottom := len(r.stack)
	r.readEscapes(at, depth)
	for _, found := range r.stack[bottom:] {
		if found.char == want {
			end, ok = found.end, true
			break
		}
	}
	r.stack = r.stack[:bottom]
	return end, ok
}

// readHex reads so many hexadecimal digits.
func (r *reader) readHex(at, depth, digits int) (value rune, end int, ok bool) {
	for range digits {
		var digit rune
		if digit, at, ok = r.readDigit(at, depth); !ok {
			return 0, at, false
		}
		value = value<<4 | digit
	}
	return value, at, true
}

func (r *reader) readDigit(at, depth int) (value rune, end int, ok bool) {
	if at >= len(r.text) {
		return 0, at, false
	}
	if value := hexValue(r.text[at]); value >= 0 {
		return rune(value), at + 1, true
	}
	if depth == 0 || !isIntroducer(r.text[at]) {
		return 0, at, false
	}
	bottom := len(r.stack)
	r.readEscapes(at, depth)
	for _, found := range r.stack[bottom:] {
		if found.char < utf8.RuneSelf && hexValue(byte(found.char)) >= 0 {
			value, end, ok = rune(hexValue(byte(found.char))), found.end, true
			break
		}
	}
	r.stack = r.stack[:bottom]
	return value, end, ok
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

// hexValue is the value of a digit, or less than zero.
func hexValue(c byte) int8 { return int8(hexDigits[c]) }

func allHex(text []byte) bool {
	for _, c := range text {
		if hexValue(c) < 0 {
			return false
		}
	}
	return true
}
