package fingerprint

import (
	"encoding/hex"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestCanonicalIgnoresMemberOrder(t *testing.T) {
	type ab struct {
		A int    `json:"a"`
		B string `json:"b"`
	}
	type ba struct {
		B string `json:"b"`
		A int    `json:"a"`
	}
	one, err := Of(ab{1, "x"})
	if err != nil {
		t.Fatal(err)
	}
	two, _ := Of(ba{"x", 1})
	three, _ := Of(map[string]any{"b": "x", "a": 1})
	if one != two || two != three {
		t.Fatalf("same content, different fingerprints: %s %s %s", one, two, three)
	}
	if other, _ := Of(ab{2, "x"}); other == one {
		t.Fatal("different content, same fingerprint")
	}
	if len(one) != 64 || strings.ToLower(one) != one {
		t.Fatalf("not lower-case hex SHA-256: %q", one)
	}
}

func TestCanonicalReportsUnencodable(t *testing.T) {
	if _, err := Canonical(func() {}); err == nil {
		t.Fatal("a function has no canonical form")
	}
}

func TestKeySeparatesParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		other := rapid.StringN(1, 10, -1).Draw(t, "other")
		joined := Key(text + other)
		if Key(text, other) == joined {
			t.Fatalf("parts %q,%q and their concatenation share a key", text, other)
		}
		if again := Key(strings.Clone(text), strings.Clone(other)); again != Key(text, other) {
			t.Fatal("not deterministic")
		}
	})
}

// Keys are stored for years: what they are made of must not change.
func TestKeysStayWhatTheyWere(t *testing.T) {
	long := strings.Repeat("x", 1000)
	for want, parts := range map[string][]string{
		"2:ab1:c":              {"ab", "c"},
		"0:0:":                 {"", ""},
		"":                     nil,
		"1000:" + long + "2:é": {long, "é"},
	} {
		if got := Key(parts...); got != Bytes([]byte(want)) {
			t.Errorf("%q: %s", want, got)
		}
		if sum := Sum(parts...); hex.EncodeToString(sum[:]) != Key(parts...) {
			t.Errorf("%q: sum and key differ", want)
		}
	}
}
