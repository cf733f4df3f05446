package privacy

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// matchResident matches an identity number of GB 11643: place, birthday, order, check sign.
// The check sign and a birthday that exists keep other long numbers out.
func matchResident(text string, at int) match {
	const length = 18
	if len(text) < at+length {
		return match{}
	}
	number := text[at : at+length]
	sum := 0
	weight := 1 // of the last sign; each one to the left has twice as much, modulo 11
	for i := length - 1; i >= 0; i-- {
		value := int(number[i] - '0')
		switch {
		case i == length-1 && (number[i] == 'X' || number[i] == 'x'):
			value = 10
		case !isDigit(number[i]):
			return match{}
		}
		sum += value * weight
		weight = weight * 2 % 11
	}
	if sum%11 != 1 || number[0] == '0' || !isBirthday(number[6:14]) {
		return match{}
	}
	return match{kindPerson, at + length}
}

func isBirthday(text string) bool {
	year, month, day := text[:4], text[4:6], text[6:]
	return (strings.HasPrefix(year, "19") || strings.HasPrefix(year, "20")) && month >= "01" && month <= "12" && day >= "01" && day <= "31"
}

// matchMobile matches a Chinese mobile number: eleven digits that begin with 13 to 19. So do
// many ids; loose says where one stands in running text.
func matchMobile(text string, at int) match {
	n := digitRun(text[at:])
	if n != 11 || text[at] != '1' || text[at+1] < '3' {
		return match{}
	}
	return match{kindPhone, at + n}
}

// matchArea matches a number with an area code of three digits: (555) 123-4567, or with
// the same sign twice, 555-123-4567 and 555.123.4567.
func matchArea(text string, at int) match {
	rest := text[at:]
	if rest[0] == '(' {
		if len(rest) < 5 || rest[4] != ')' || !allDigits(rest[1:4]) {
			return match{}
		}
		begin := at + 5
		for begin < len(text) && begin < at+6 && text[begin] == ' ' {
			begin++
		}
		g := readGroups(text, begin)
		if g.digits != 7 || g.groups != 2 || !strings.ContainsAny(text[begin:g.end], "-. ") {
			return match{}
		}
		return match{kindPhone, g.end}
	}
	const length = len("555-123-4567")
	if len(rest) < length || rest[3] != rest[7] || rest[3] != '-' && rest[3] != '.' ||
		!allDigits(rest[:3]) || !allDigits(rest[4:7]) || !allDigits(rest[8:length]) {
		return match{}
	}
	return match{kindPhone, at + length}
}

// shapeIsEnough reports whether the form alone tells a telephone number: nothing else
// is written 555-123-4567.
func shapeIsEnough(number string) bool { return len(number) > 3 && !isDigit(number[3]) }

func allDigits(text string) bool {
	for i := range len(text) {
		if !isDigit(text[i]) {
			return false
		}
	}
	return text != ""
}

// idWords before a number say that it is an id.
var idWords = []string{"id", "ids", "no", "nr", "number", "doi", "issn", "isbn", "grant", "code", "offset", "total"}

// standsLoose reports whether the number stands in running text. A number that is a
// whole value, between quotes or separators, is more likely an id.
func standsLoose(before, after string) bool {
	text := strings.TrimRight(before, " \t\r\n")
	if text == "" || strings.ContainsAny(text[len(text)-1:], ":=#,\"'") {
		return false
	}
	word := strings.ToLower(text[strings.LastIndexFunc(text, func(r rune) bool { return !unicode.IsLetter(r) })+1:])
	if slices.Contains(idWords, word) || strings.HasSuffix(word, "mid") || strings.HasSuffix(word, "eid") {
		return false
	}
	return isText(utf8.DecodeLastRuneInString(before)) && isText(utf8.DecodeRuneInString(after))
}

func isText(r rune, size int) bool {
	return size == 0 || unicode.IsSpace(r) || r > unicode.MaxLatin1 || strings.ContainsRune("().;,!?[]", r)
}
