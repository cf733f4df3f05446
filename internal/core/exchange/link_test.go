package exchange

import "testing"

func TestNextLink(t *testing.T) {
	for name, tc := range map[string]struct {
		fields []string
		want   string
	}{
		"none":                    {nil, ""},
		"plain":                   {[]string{`</p?page=2>; rel="next"`}, "/p?page=2"},
		"among others":            {[]string{`<https://x.org/1>; rel="prev", <https://x.org/3>; rel="next", <https://x.org/9>; rel="last"`}, "https://x.org/3"},
		"in a second field":       {[]string{`</1>; rel=prev`, `</3>; rel=next`}, "/3"},
		"without quotes":          {[]string{`</3>;rel=next`}, "/3"},
		"another case":            {[]string{`</3>; REL="Next"`}, "/3"},
		"one of several words":    {[]string{`</3>; rel="last next"`}, "/3"},
		"a comma in the address":  {[]string{`</p?ids=1,2>; rel="next"`}, "/p?ids=1,2"},
		"a comma in quotes":       {[]string{`</1>; title="a, b"; rel="prev", </3>; rel="next"`}, "/3"},
		"an escaped quote":        {[]string{`</1>; title="a\", <x>; rel=next", </3>; rel="next"`}, "/3"},
		"only the first rel":      {[]string{`</1>; rel="prev"; rel="next"`}, ""},
		"next in another's value": {[]string{`</1>; title="next"`}, ""},
		"not a link":              {[]string{`next`}, ""},
		"never closed":            {[]string{`</3; rel=next`}, ""},
	} {
		if got := NextLink(Header{"Link": tc.fields}); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

func FuzzNextLink(f *testing.F) {
	f.Add(`</3>; rel="next", <b>`)
	f.Fuzz(func(t *testing.T, field string) {
		NextLink(Header{"Link": {field}}) // ends, and does not panic
	})
}
