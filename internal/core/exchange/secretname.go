package exchange

import (
	"slices"
	"strings"
	"unicode"
)

// Words of a name that make its value a secret. A token that only says where
// the next page starts is none, and neither is the key of a stored query.
var (
	secretWords  = []string{"key", "apikey", "secret", "password", "passwd", "pwd", "passphrase", "auth", "authorization", "credential", "credentials", "signature", "sig", "jwt", "bearer", "cookie", "insttoken", "token", "session", "sessionid"}
	harmlessNear = []string{"page", "next", "resumption", "continuation", "cursor", "scroll", "query", "sort", "pagination"}
	// Names written in one word, such as accesstoken.
	secretEndings = []string{"apikey", "accesskey", "secretkey", "subscriptionkey", "apitoken", "accesstoken", "authtoken", "secret", "password"}
)

// SecretName reports that a header, parameter or member of this name may hold a
// secret: its value is masked wherever it is shown, and must not stand in a
// source file.
func SecretName(name string) bool {
	words := nameWords(name)
	harmless := func(word string) bool { return slices.Contains(harmlessNear, word) }
	return slices.ContainsFunc(words, isSecretWord) && !slices.ContainsFunc(words, harmless)
}

func isSecretWord(word string) bool {
	ends := func(ending string) bool { return strings.HasSuffix(word, ending) }
	return slices.Contains(secretWords, word) || slices.ContainsFunc(secretEndings, ends)
}

// nameWords splits api_key, X-Api-Key and apiKey alike.
func nameWords(name string) []string {
	var out []string
	var word strings.Builder
	flush := func() {
		if word.Len() > 0 {
			out = append(out, strings.ToLower(word.String()))
			word.Reset()
		}
	}
	lower := false
	for _, c := range name {
		switch {
		case !unicode.IsLetter(c) && !unicode.IsDigit(c):
			flush()
			lower = false
			continue
		case unicode.IsUpper(c) && lower:
			flush()
		}
		lower = unicode.IsLower(c)
		word.WriteRune(c)
	}
	flush()
	return out
}

// CallsHarmless reports whether the source says of a name, in whatever case, that its
// value is no secret although it looks like one (notSecret).
func (c RequestConfig) CallsHarmless(name string) bool {
	return slices.ContainsFunc(c.NotSecret, func(one string) bool { return strings.EqualFold(one, SentName(name)) })
}
