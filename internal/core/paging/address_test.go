package paging

import (
	"net/url"
	"testing"

	"pgregory.net/rapid"
)

// Followed page by page, addresses lead where a browser would go.
func TestAddressesAreMeantFromThePageThatNamesThem(t *testing.T) {
	first, err := url.Parse("https://api.example.org/v1/items?from=1")
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		named := rapid.SliceOfN(rapid.SampledFrom([]string{
			"page/2", "3", "./4", "5?x=1", "?cursor=a", "?cursor=b&x=%2F", "/v1/other/6", "https://api.example.org/v1/deep/er/7", "8/9", "a%2Fb", "c d",
		}), 1, 8).Draw(t, "named")
		at, state := first, ""
		for _, name := range named {
			at, state = parse(t, at, name), followAddress(state, name)
			if got := parse(t, first, state); got.String() != at.String() {
				t.Fatalf("after %q the walk is at %s (kept as %q), want %s", name, got, state, at)
			}
		}
	})
}

func parse(t *rapid.T, from *url.URL, name string) *url.URL {
	to, err := from.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	return to
}

func TestAddressesThatSayWhereTheyAreStay(t *testing.T) {
	for _, named := range []string{"", "/v1/x", "//elsewhere.example.org/x", "https://elsewhere.example.org/x", "%zz", "mailto:x@example.org"} {
		for _, current := range []string{"", "page/2", "?cursor=a", "https://api.example.org/v1/items/2"} {
			if got := followAddress(current, named); got != named {
				t.Errorf("from %q, %q became %q", current, named, got)
			}
		}
	}
}
