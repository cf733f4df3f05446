package kernel

import (
	"testing"
	"unicode/utf8"
)

func TestOurOwnTextsAreMadeToFit(t *testing.T) {
	for text, want := range map[string]string{
		"short": "short", "exactly10!": "exactly10!", "more than ten": "more than…", "äöüäöüäöüä": "äöüäöüäöüä", "äöüäöüäöüäö": "äöüäöüäöü…", "bad\xff": "bad\uFFFD", "": "",
	} {
		if got := Cut(text, 10); got != want || utf8.RuneCountInString(got) > 10 || !utf8.ValidString(got) {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}
