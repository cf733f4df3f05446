package tmpl

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Templates of an answer read what was asked for and what came with it; what is not there is absent.
func TestGiven(t *testing.T) {
	given := &Given{
		IDs: []string{"a"}, Fetched: time.Date(2025, 3, 4, 5, 6, 7, 0, time.UTC),
		Window: WindowVars{From: time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)},
		Header: func(name string) string { return map[string]string{"X-Total-Count": "12"}[name] },
		Whole:  func() ([]byte, error) { return []byte("{}"), nil },
	}
	for text, want := range map[string]any{
		"${first(ids)}":                          "a",
		"${int(header('X-Total-Count'))}":        int64(12),
		"${header('X-None')}":                    nil,
		"${formatDateTime(window.from, 'yyyy')}": "2025",
		"${window.to}":                           nil,
		"${fetched}":                             given.Fetched,
		"${hash()}":                              "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
		"${hash('a', 1) == hash('a', 1)}":        true,
		"${hash('a') == hash()}":                 false,
		"x-${first(ids)}":                        "x-a",
	} {
		compiled, err := CompileItem(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := compiled.Eval(nil, given); err != nil || got != want {
			t.Errorf("%s: %v, %v, want %v", text, got, err, want)
		}
		if _, err := compiled.Eval(nil, nil); err != nil {
			t.Errorf("%s of nothing: %v", text, err)
		}
	}
	compiled, err := CompileItem("${default(header('Link'), first(ids))}${hash()}${jsonPath('$.x')}")
	if err != nil || !slices.Equal(compiled.Given(), []string{"Link", "ids", "hash"}) {
		t.Errorf("%v, %v", compiled.Given(), err)
	}
}

// Two lists of values have the same hash only if they are the same: no joining makes one of two.
func TestHashTellsValuesApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		some := rapid.SliceOfN(rapid.SampledFrom([]any{"", "a", "b", "ab", "a,b", nil, int64(1), "1", true, 1.5}), 1, 4)
		a, b := some.Draw(t, "a"), some.Draw(t, "b")
		x, err := hashValues(a)
		if err != nil {
			t.Fatal(err)
		}
		y, err := hashValues(b)
		if err != nil || slices.Equal(a, b) != (x == y) {
			t.Fatalf("%v %v, %v %v, %v", a, x, b, y, err)
		}
	})
}
