package secret

import (
	"errors"
	"slices"
	"strings"
)

// Masker hides secrets in what others wrote: upstreams repeat keys in their
// answers, in whatever spelling their writers choose (I12, D§5.30).
type Masker struct {
	// What is looked for is kept in a function, as in Text: fmt would print it.
	finder func() *finder
}

// shortest secret that is masked: a shorter one is no secret, and masking it
// would garble what it happens to occur in.
const shortest = 4

// shortestCoded keeps a short secret from garbling what its coded form, or its
// letters in another case, happen to occur in.
const shortestCoded = 8

// Garbles tells that a value of so many bytes is so short that it may occur in
// ordinary words, and hiding it there changes what is stored.
func Garbles(length int64) bool { return length >= shortest && length < shortestCoded }

// HidesName tells whether the name that goes with a key is hidden too: that of an account,
// a client or a key. It is behind a reference, so it is meant to be a secret; but a name
// may be an ordinary word, and hiding that would garble what is stored. A name with a
// digit or an @ in it is no word. And if the key is missing or short, then the name is
// the key: many services take theirs as a user name, with no password or one that
// anybody knows.
func HidesName(name, key Text) bool {
	if len(key.Reveal()) < shortestCoded {
		return true
	}
	return len(name.Reveal()) >= shortestCoded && strings.ContainsAny(name.Reveal(), "0123456789@")
}

// WithName adds the name that goes with a key to what is hidden, if it is to be.
func WithName(hidden []Text, name, key Text) []Text {
	if HidesName(name, key) {
		return append(hidden, name)
	}
	return hidden
}

// NewMasker hides these values in every form they travel in.
func NewMasker(values ...Text) *Masker {
	var plain []string
	for _, v := range values {
		if text := v.Reveal(); len(text) >= shortest {
			plain = append(plain, text)
		}
	}
	if len(plain) == 0 {
		return &Masker{}
	}
	f := newFinder(plain)
	return &Masker{func() *finder { return f }}
}

// Bytes gives text without the secrets; text itself if there are none in it.
func (m *Masker) Bytes(text []byte) []byte {
	if m == nil || m.finder == nil {
		return text
	}
	if units, order := utf16Text(text); order != nil {
		return m.inUTF16(text, units)
	}
	spans := m.finder().findSpans(text)
	if len(spans) == 0 {
		return text
	}
	return cutOut(text, spans)
}

// String is Bytes for a string.
func (m *Masker) String(text string) string {
	if m == nil || m.finder == nil {
		return text
	}
	if out := m.Bytes([]byte(text)); string(out) != text {
		return string(out)
	}
	return text
}

// Error gives an error whose text holds no secret: err itself if there are none
// in it. It is still the same for errors.Is, and leads to nothing that could be
// printed.
func (m *Masker) Error(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if masked := m.String(text); masked != text {
		return maskedError{masked, func(target error) bool { return errors.Is(err, target) }}
	}
	return err
}

// maskedError has no Unwrap: what it was made of holds a secret.
type maskedError struct {
	text string
	is   func(target error) bool
}

func (e maskedError) Error() string        { return e.text }
func (e maskedError) Is(target error) bool { return e.is(target) }

// span is a part of a text: [from, to).
type span struct{ from, to int }

// cutOut puts the mask in the place of every span. Spans that overlap are one.
func cutOut(text []byte, spans []span) []byte {
	for i := range spans {
		spans[i] = wholeEscapes(text, spans[i])
	}
	slices.SortFunc(spans, func(a, b span) int { return a.from - b.from })
	out := make([]byte, 0, len(text))
	kept := 0 // what is before it is written
	for i := 0; i < len(spans); {
		whole := spans[i]
		for i++; i < len(spans) && spans[i].from < whole.to; i++ {
			whole.to = max(whole.to, spans[i].to)
		}
		out = append(append(out, text[kept:whole.from]...), mask...)
		kept = whole.to
	}
	return append(out, text[kept:]...)
}

// wholeEscapes widens a span that begins or ends inside an escape of JSON: what is
// left of one would make the document unreadable.
func wholeEscapes(text []byte, s span) span {
	if from, _, inside := escapeAround(text, s.from); inside {
		s.from = from
	}
	if _, to, inside := escapeAround(text, s.to); inside {
		s.to = to
	}
	return s
}

// escapeAround finds the escape that begins before a place and ends behind it.
func escapeAround(text []byte, at int) (from, to int, inside bool) {
	const longest = len(`\u003d`)
	for from = max(0, at-longest+1); from < at; from++ {
		if text[from] != '\\' || backslashesBefore(text, from)%2 == 1 || from+1 < len(text) && !strings.Contains(`"\/bfnrtu`, string(text[from+1])) {
			continue
		}
		to = from + len(`\/`)
		if from+1 < len(text) && text[from+1] == 'u' && from+longest <= len(text) && allHex(text[from+2:from+longest]) {
			to = from + longest
		}
		if to = min(to, len(text)); to > at {
			return from, to, true
		}
	}
	return 0, 0, false
}

func backslashesBefore(text []byte, at int) (n int) {
	for ; at > 0 && text[at-1] == '\\'; at-- {
		n++
	}
	return n
}
