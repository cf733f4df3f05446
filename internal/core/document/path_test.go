package document

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func mustPath(t testing.TB, text string) Path {
	t.Helper()
	path, err := ParsePath(text)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func mustPaths(t testing.TB, texts ...string) []Path {
	t.Helper()
	paths := make([]Path, len(texts))
	for i, text := range texts {
		paths[i] = mustPath(t, text)
	}
	return paths
}

func TestParsePathAccepts(t *testing.T) {
	for text, singular := range map[string]bool{
		"$":                         true,
		"$.message.items":           true,
		"$['next-cursor']":          true,
		`$["a..b"]["$"]`:            true,
		"$.a[0]":                    true,
		"$.a[-1].b":                 true,
		"$ .a":                      true,
		"$.a[*]":                    false,
		"$.a[0,1]":                  false,
		"$.a[1:3]":                  false,
		"$..a":                      false,
		"$..*":                      false,
		"$.link[?@.rel=='next'].b":  false,
		"$[?@.a=='$..x..y,,,,,,,']": false,
		`$[?@.a=="\"$"]`:            false,
	} {
		path, err := ParsePath(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if path.Singular() != singular || path.String() != text || path.IsZero() {
			t.Errorf("%s: singular %v, text %q", text, path.Singular(), path)
		}
	}
}

func TestParsePathRefuses(t *testing.T) {
	for text, position := range map[string]int{
		"":                              1,
		"a":                             1,
		"$.":                            3,
		"$.a]":                          4,
		"$.a[":                          5,
		"$['a":                          5,
		"$.a[01]":                       5,
		"$..a..b":                       5,
		"$[?@..a]..b":                   9,
		"$.a[?@.b == $.c]":              13,
		"$[*,*][*,*,*,*][*,*,*,*]":      22,
		"$.\xff":                        3,
		"$.\uFFFD\xff":                  6,
		"$" + strings.Repeat("a", 2000): 1025,
	} {
		_, err := ParsePath(text)
		bad, ok := errors.AsType[*PathError](err)
		if !ok {
			t.Errorf("%q: error %v", text, err)
			continue
		}
		if bad.Position != position || bad.Reason == "" || !strings.Contains(bad.Error(), "position") {
			t.Errorf("%q: %v, want position %d", text, bad, position)
		}
	}
}

func TestPathInConfig(t *testing.T) {
	type config struct{ Items, Other Path }
	var got config
	if err := json.Unmarshal([]byte(`{"Items":"$.a"}`), &got); err != nil {
		t.Fatal(err)
	}
	if got.Items.String() != "$.a" || !got.Other.IsZero() || got.Other.Singular() {
		t.Errorf("got %+v", got)
	}
	text, err := json.Marshal(got.Items)
	if err != nil || string(text) != `"$.a"` {
		t.Errorf("marshal: %s, %v", text, err)
	}
	for _, bad := range []string{`{"Items":"a.b"}`, `{"Items":""}`} {
		if json.Unmarshal([]byte(bad), &got) == nil {
			t.Errorf("%s accepted", bad)
		}
	}
}
