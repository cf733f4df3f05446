package sector

import (
	"slices"
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

// Several values of one request are asked for together: each value stands in one group, whatever the order of the file, groups
// have names of their own that fit their column, and each value finds its group.
func TestGroupsHoldEveryValueOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfNDistinct(rapid.StringMatching("[a-z=%]{1,40}"), 1, 40, rapid.ID[string]).Draw(t, "values")
		c := Config{Values: values, PerRequest: rapid.IntRange(0, 12).Draw(t, "per request"), Join: rapid.SampledFrom([]string{"", " OR "}).Draw(t, "join")}
		if c.PerRequest <= 1 {
			c.Join = ""
		}
		if err := c.Validate(); err != nil {
			t.Fatal(err)
		}
		of := map[string]Config{"set": c}
		all, held, names := List(of), map[string]int{}, map[string]bool{}
		for _, s := range all {
			names[s.Name] = true
			if len(s.Name) > Longest {
				t.Fatalf("%d bytes: %s", len(s.Name), s.Name)
			}
			for _, v := range c.members(s.Values["set"]) {
				held[v]++
			}
		}
		if len(all) != Count(of) || len(names) != len(all) || len(held) != len(values) {
			t.Fatalf("%d sectors with %d names for %d values, counted %d", len(all), len(names), len(held), Count(of))
		}
		for _, v := range values {
			found, err := Find(of, NameOf(map[string]string{"set": v}))
			if err != nil || held[v] != 1 || !slices.Contains(c.members(found.Values["set"]), v) {
				t.Fatalf("%q: %+v, %v, %d times", v, found, err, held[v])
			}
		}
		turned := c
		turned.Values = slices.Clone(values)
		slices.Reverse(turned.Values)
		again := List(map[string]Config{"set": turned})
		for _, s := range again {
			if !names[s.Name] {
				t.Fatalf("another order makes another group %s", s.Name)
			}
		}
	})
}

// Values that would be cut where they are joined are refused.
func TestGroupsAreRefused(t *testing.T) {
	for want, c := range map[string]Config{
		"perRequest: E-PARTITION": {Values: []string{"a"}, PerRequest: 1001},
		"join: E-PARTITION":       {Values: []string{"a"}, Join: ";"},
		"values: E-PARTITION":     {Values: []string{"a", "b,c"}, PerRequest: 2},
	} {
		if err := c.Validate(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if got, err := Settings(map[string]Config{"set": {Values: []string{"b", "a", "c"}, PerRequest: 2}}, "set=b"); err != nil || len(got) != 1 || got[0] != `partitions.set.values=["a", "b"]` {
		t.Error(got, err)
	}
}
