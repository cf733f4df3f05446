package privacy

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// longestEmail is what RFC 5321 lets an address have, with its at sign.
const longestEmail = 64 + 1 + 255

// atSigns are the ways an at sign is written in an address, in JSON and in a page.
var atSigns = []string{"@", "%40", `\u0040`, "&#64;", "&#x40;", "&commat;"}

// Emails hides addresses only; for texts whose numbers are ids.
func Emails(text string) string {
	var out strings.Builder
	done := 0
	for at := 0; at < len(text); {
		sign := signAt(text[at:])
		if sign == "" {
			at++
			continue
		}
		begin := localBefore(text, done, at, sign)
		end := domainAfter(text, at+len(sign))
		if begin == at || end == 0 {
			at += len(sign)
			continue
		}
		out.WriteString(text[done:begin])
		out.WriteString(markFor(kindEmail, strings.ToLower(text[begin:at]+"@"+text[at+len(sign):end])))
		done, at = end, end
	}
	if done == 0 {
		return text
	}
	out.WriteString(text[done:])
	return out.String()
}

func signAt(text string) string {
	switch text[0] {
	case '@', '%', '\\', '&':
		for _, sign := range atSigns {
			if len(text) >= len(sign) && strings.EqualFold(text[:len(sign)], sign) {
				return text[:len(sign)]
			}
		}
	}
	return ""
}

// localBefore returns where the part before the at sign begins. It never goes back
// over what an earlier sign has looked at, so all of it is linear.
func localBefore(text string, from, at int, sign string) int {
	begin := at
	for begin > from {
		if sign[0] == '%' && begin-3 >= from && isEscapedSign(text[begin-3:begin]) {
			begin -= 3
			continue
		}
		r, size := utf8.DecodeLastRuneInString(text[from:begin])
		if !isLocal(r) || r == '%' {
			break
		}
		begin -= size
	}
	return pastEscape(text, from, begin, at)
}

// isEscapedSign reports whether an escaped sign such as %2B belongs to the part
// before an escaped at sign.
func isEscapedSign(text string) bool {
	switch strings.ToUpper(text) {
	case "%2B", "%2E", "%5F", "%2D":
		return true
	}
	return false
}

func isLocal(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("._%+-'~", r))
}

// pastEscape leaves the letter of \n, and what makes \u00e9, to the backslash.
func pastEscape(text string, from, begin, at int) int {
	if begin == from || begin == at || text[begin-1] != '\\' {
		return begin
	}
	skip := 1
	if text[begin] == 'u' {
		skip = 5
	}
	return min(begin+skip, at)
}

// domainAfter returns the end of a host name with at least two labels, the last of
// them of letters; 0 if there is none. What follows stays.
func domainAfter(text string, from int) (end int) {
	labels, label := 0, from
	for at := from; ; {
		r, size := rune(0), 0
		if at < len(text) && at-from < longestEmail {
			r, size = utf8.DecodeRuneInString(text[at:])
		}
		switch {
		case size > 0 && r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' && at > label):
			at += size
			continue
		case at == label:
			return end
		}
		labels++
		if n := topLevel(text[label:at]); labels > 1 && n > 0 {
			end = label + n
		}
		if r != '.' {
			return end
		}
		at++
		label = at
	}
}

// topLevel returns how much of a label can end a host name: its letters, two or
// more.
func topLevel(label string) int {
	if strings.HasPrefix(strings.ToLower(label), "xn--") {
		return len(label)
	}
	letters := strings.IndexFunc(label, func(r rune) bool { return !unicode.IsLetter(r) })
	if letters < 0 {
		letters = len(label)
	}
	if utf8.RuneCountInString(label[:letters]) < 2 {
		return 0
	}
	return letters
}
