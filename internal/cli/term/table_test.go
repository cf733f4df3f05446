package term

import (
	"testing"
)

func TestWrapCell(t *testing.T) {
	for _, c := range []struct {
		cell  string
		width int
		want  string
	}{
		{"short", 10, "short"}, {"two words", 5, "two\nwords"}, {"abcdefghij", 4, "abcd\nefgh\nij"}, {"a,b,c,d,e", 4, "a,b,\nc,d,\ne"}, {"one\ntwo three", 5, "one\ntwo\nthree"}, {"", 3, ""},
	} {
		if got := wrapCell(c.cell, c.width); got != c.want {
			t.Errorf("%q at %d: %q", c.cell, c.width, got)
		}
	}
}
