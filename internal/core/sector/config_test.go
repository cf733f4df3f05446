package sector

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Sectors are all combinations, in an order that does not change, each with a name of its own.
func TestSectorsAreAllCombinations(t *testing.T) {
	got := List(map[string]Config{"set": {Values: []string{"cs", "math"}}, "lang": {Values: []string{"en", "de"}}})
	var names []string
	for _, s := range got {
		names = append(names, s.Name)
	}
	if text := strings.Join(names, " "); text != "lang=en,set=cs lang=en,set=math lang=de,set=cs lang=de,set=math" {
		t.Error(text)
	}
	if List(nil) != nil || Count(nil) != 0 {
		t.Error("a list without partitions has sectors")
	}
}

// Two sectors never share a name, whatever their values hold: a name is what coverage is kept by.
func TestSectorsHaveTheirOwnNames(t *testing.T) {
	text := rapid.StringOfN(rapid.RuneFrom([]rune("a=,%2C\n")), 1, 6, -1)
	rapid.Check(t, func(t *rapid.T) {
		one := map[string]string{"a": text.Draw(t, "a"), "b": text.Draw(t, "b")}
		other := map[string]string{"a": text.Draw(t, "other a"), "b": text.Draw(t, "other b")}
		same := one["a"] == other["a"] && one["b"] == other["b"]
		if (NameOf(one) == NameOf(other)) != same {
			t.Fatalf("%q and %q are %q and %q", one, other, NameOf(one), NameOf(other))
		}
	})
}

// A sector that does not exist is refused with those that do.
func TestUnknownSectorIsRefused(t *testing.T) {
	of := map[string]Config{"set": {Values: strings.Split("a b c d e f g h i j", " ")}}
	if s, err := Find(of, "set=c"); err != nil || s.Values["set"] != "c" {
		t.Error(s, err)
	}
	if _, err := Find(of, "set=x"); err == nil || !strings.Contains(err.Error(), "set=a") || !strings.Contains(err.Error(), "and 2 others") {
		t.Error(err)
	}
	if _, err := Find(nil, "set=x"); err == nil || !strings.Contains(err.Error(), "no partitions") {
		t.Error(err)
	}
	if n := Count(map[string]Config{"a": {Values: make([]string, 200)}, "b": {Values: make([]string, 200)}}); n != Most+1 {
		t.Error(n)
	}
}
