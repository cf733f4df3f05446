package registry

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestPathIsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		path := Path(rapid.SliceOfN(rapid.String(), 1, 4).Draw(t, "path"))
		back, rest, err := parsePath(path.String()+"=x", "=")
		if err != nil || rest != "=x" || !slices.Equal(back, path) {
			t.Fatalf("%q written %s, read %q, %q, %v", path, path, back, rest, err)
		}
	})
}

func TestNearest(t *testing.T) {
	valid := []string{"name", "baseUrl", "timeout", "headers"}
	for word, want := range map[string]string{
		"baseURL": "baseUrl", "base_url": "baseUrl", "tiemout": "timeout", "header": "headers",
		"nmae": "name", "xyz": "", "": "", "timeoutInMilliseconds": "",
	} {
		if got := nearest(word, valid); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}
