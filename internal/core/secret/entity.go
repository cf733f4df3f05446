package secret

import (
	"html"
	"unicode/utf8"
)

// longestName is the longest name of a character in HTML, with room to spare.
const longestName = 32

func isNameLetter(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

// named gives the character of a name.
func named(name []byte) (char rune, known bool) {
	if char, known = asciiNames[string(name)]; known {
		return char, true
	}
	text := html.UnescapeString("&" + string(name) + ";")
	char, size := utf8.DecodeRuneInString(text)
	return char, size == len(text)
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
