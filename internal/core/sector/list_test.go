package sector

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func TestAFileOfValuesIsReadLineByLine(t *testing.T) {
	text := "\ufeff# journals of 2024\r\n0028-0836\r\n\r\n  0036-8075  \n#0000-0000\n \t\nActa φ #3\nlast"
	got, err := ParseValues([]byte(text))
	if want := []string{"0028-0836", "0036-8075", "Acta φ #3", "last"}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%q %v, want %q", got, err, want)
	}
	var all strings.Builder
	for i := range Most {
		fmt.Fprintf(&all, "v%d\n", i)
	}
	if got, err := ParseValues([]byte(all.String())); err != nil || len(got) != Most {
		t.Errorf("%d values, %v", len(got), err)
	}
	_, err = ParseValues([]byte(all.String() + "more"))
	if want := "line 10001 is one value too many: at most 10000 are read"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestAFileOfValuesNamesTheBadLine(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "there is no value in it",
		"# only\n\n":             "there is no value in it",
		"a\n\nb\na\n":            `line 4: "a" stands there twice, first in line 1`,
		"a\n\xff\xfea\n":         "line 2 is not UTF-8",
		"a\x00b":                 "line 1 has the character U+0000",
		"a\tb":                   "line 1 has the character U+0009",
		"a\rb\rc":                "line 1 has the character U+000D",
		"a\n\ufeffb":             "line 2 has the character U+FEFF",
		"a\u200bb":               "line 1 has the character U+200B",
		"a\n" + long(129) + "\n": "line 2 is longer than 128 bytes",
	} {
		if got, err := ParseValues([]byte(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.20q: %q %v, want %s", text, got, err, want)
		}
	}
	if _, err := ParseValues([]byte(long(128))); err != nil {
		t.Error(err)
	}
}

func long(n int) string { return strings.Repeat("x", n) }
