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
