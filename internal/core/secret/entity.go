package secret

import (
	"fmt"
	"html"
	"strings"
	"unicode/utf8"
)

// readAmpersand reads on behind an ampersand, which may be escaped as one many times.
func (r *reader) readAmpersand(at, depth int) {
	r.readEntity(at, depth)
	if last := r.readPile('&', at, piledAmpersand); last > at {
		r.readEntity(last, depth)
	}
}

// readEntity reads a character that has a number or a name.
func (r *reader) readEntity(at, depth int) {
	bottom := len(r.stack)
	r.readOnly(at, depth, '#')
	r.goOnward(bottom, func(from reading) {
		r.readNumber(from.end, depth, 10)
		for _, x := range "xX" {
			top := len(r.stack)
			r.readOnly(from.end, depth, x)
			r.goOnward(top, func(from reading) { r.readNumber(from.end, depth, 16) })
		}
	})
	var space [longestName]byte
	r.readNamed(space[:0], at, depth)
}

// readNumber reads a character that has a number. Zeros before it are without number. A
// number without a semicolon ends where no digit stands as it is: what is escaped there
// may be its next digit, or the next character of the text. So it has several ends.
func (r *reader) readNumber(at, depth int, base rune) {
	var space [8]reading
	ends, bottom := space[:0], len(r.stack)
	r.pushReading(0, at)
	for len(r.stack) > bottom { // what is on the stack are numbers that may go on
		top := len(r.stack) - 1
		number := r.stack[top]
		r.stack = r.stack[:top]
		r.readAny(number.end, depth)
		r.steps++
		if number.char > 0 && number.char <= utf8.MaxRune {
			ends = appendEnds(ends, number, r.stack[top:], base)
		}
		r.goOn(number, top, base)
	}
	for _, end := range ends {
		r.pushReading(end.char, end.end)
		if char := inWindows1252(end.char); char != end.char {
			r.pushReading(char, end.end)
		}
	}
}

// appendEnds notes the ends of a number, given all ways to read what stands behind it, as
// it is first.
func appendEnds(ends []reading, number reading, behind []reading, base rune) []reading {
	for _, next := range behind {
		if next.char == ';' {
			ends = append(ends, reading{number.char, next.end})
		}
	}
	if len(behind) > 0 && (behind[0].char == ';' || digitValue(behind[0].char, base) >= 0) {
		return ends
	}
	return append(ends, number)
}

// goOn makes longer numbers of the readings from top on that are digits.
func (r *reader) goOn(number reading, top int, base rune) {
	kept := top
	for _, next := range r.stack[top:] {
		if value := digitValue(next.char, base); value >= 0 && number.char <= utf8.MaxRune {
			r.stack[kept] = reading{number.char*base + value, next.end}
			kept++
		}
	}
	r.stack = r.stack[:kept]
}

// digitValue returns the value of a digit in a base, or less than zero.
func digitValue(char, base rune) rune {
	if char < 0 || char >= utf8.RuneSelf {
		return -1
	}
	if value := rune(hexValue(byte(char))); value < base {
		return value
	}
	return -1
}

// inWindows1252 returns what browsers take a number for that Unicode gives to no
// character one can see: that of a code page.
func inWindows1252(char rune) rune {
	if char < 0x80 || char > 0x9F {
		return char
	}
	return oldCodePage[char-0x80]
}

var oldCodePage = func() (table [0x20]rune) {
	for i := range table {
		table[i], _ = utf8.DecodeRuneInString(html.UnescapeString(fmt.Sprintf("&#%d;", 0x80+i)))
	}
	return table
}()

// longestName is the longest name of a character in HTML, with room to spare.
const longestName = 32

// readNamed reads a character that has a name, of which the beginning was read. Some
// names need no semicolon.
func (r *reader) readNamed(name []byte, at, depth int) {
	if char, known := namedOpen(name); known {
		r.pushReading(char, at)
	}
	if len(name) == longestName {
		return
	}
	bottom := len(r.stack)
	r.readAny(at, depth)
	top := len(r.stack)
	for i := bottom; i < top; i++ {
		switch found := r.stack[i]; {
		case found.char == ';':
			if char, known := characterNamed(name); known {
				r.pushReading(char, found.end)
			}
		case isNameLetter(found.char):
			r.readNamed(append(name, byte(found.char)), found.end, depth)
		}
	}
	r.keepReadings(bottom, top)
}

func isNameLetter(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

// characterNamed gives the character of a name.
func characterNamed(name []byte) (char rune, known bool) {
	if char, known = asciiNames[string(name)]; known {
		return char, true
	}
	text := html.UnescapeString("&" + string(name) + ";")
	char, size := utf8.DecodeRuneInString(text)
	return char, size == len(text)
}

// namedOpen gives the character of a name that needs no semicolon behind it.
func namedOpen(name []byte) (char rune, known bool) {
	if len(name) < shortestOpen || len(name) > longestOpen {
		return 0, false
	}
	char, known = openNames[string(name)]
	return char, known
}

const shortestOpen, longestOpen = len("lt"), len("Aacute")

// openNames are those of the oldest pages, which had no semicolons.
var openNames = func() map[string]rune {
	table := map[string]rune{
		"quot": '"', "QUOT": '"', "amp": '&', "AMP": '&', "lt": '<', "LT": '<', "gt": '>', "GT": '>', "COPY": 0xA9, "REG": 0xAE,
	}
	for i, name := range strings.Fields(latin1) {
		table[name] = rune(0xA0 + i)
	}
	table["nbsp"] = asciiNames["nbsp"]
	return table
}()

// latin1 names the characters from 0xA0 on.
const latin1 = `nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr
	deg plusmn sup2 sup3 acute micro para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest
	Agrave Aacute Acirc Atilde Auml Aring AElig Ccedil Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml
	ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave Uacute Ucirc Uuml Yacute THORN szlig
	agrave aacute acirc atilde auml aring aelig ccedil egrave eacute ecirc euml igrave iacute icirc iuml
	eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc uuml yacute thorn yuml`

// beginsOpen reports that a text begins with one of them that is of a character secrets
// are made of.
func beginsOpen(text []byte) bool {
	if len(text) < shortestOpen {
		return false
	}
	switch text[0] | 0x20 {
	case 'l', 'g':
		return text[1]|0x20 == 't'
	case 'a':
		return text[1]|0x20 == 'm'
	case 'q':
		return text[1]|0x20 == 'u'
	case 'n':
		return text[1] == 'b'
	}
	return false
}

// asciiNames are those of the characters that secrets are made of.
var asciiNames = map[string]rune{
	"Tab": '\t', "NewLine": '\n', "excl": '!', "quot": '"', "QUOT": '"', "num": '#', "dollar": '$', "percnt": '%',
	"amp": '&', "AMP": '&', "apos": '\'', "lpar": '(', "rpar": ')', "ast": '*', "midast": '*', "plus": '+', "comma": ',',
	"period": '.', "sol": '/', "colon": ':', "semi": ';', "lt": '<', "LT": '<', "equals": '=', "gt": '>', "GT": '>',
	"quest": '?', "commat": '@', "lsqb": '[', "lbrack": '[', "bsol": '\\', "rsqb": ']', "rbrack": ']', "Hat": '^',
	"lowbar": '_', "UnderBar": '_', "grave": '`', "DiacriticalGrave": '`', "lcub": '{', "lbrace": '{', "verbar": '|',
	"vert": '|', "VerticalLine": '|', "rcub": '}', "rbrace": '}', "nbsp": ' ', "NonBreakingSpace": ' ',
}
