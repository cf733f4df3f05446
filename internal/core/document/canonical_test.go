package document

import (
	"errors"
	"testing"
)

func TestCanonical(t *testing.T) {
	tests := map[string]struct {
		raw  string
		drop []string
		want string
	}{
		"order, space, escapes": {` { "b" : "x\/y" , "a" : [ 1 , {"z":0,"y":"\u00e9\u0041\u001f"} ] } `, nil, `{"a":[1,{"y":"éA\u001f","z":0}],"b":"x/y"}`},
		"UTF-16 order":          {`{"\ufb33":1,"\ud83d\ude00":2,"é":3,"1":4,"\r":5,"":6}`, nil, "{\"\":6,\"\\r\":5,\"1\":4,\"é\":3,\"😀\":2,\"\ufb33\":1}"},
		"numbers as written":    {`[9007199254740993,9007199254740992,1.0,1e2,1E2,-0,0.10]`, nil, `[9007199254740993,9007199254740992,1.0,1e2,1E2,-0,0.10]`},
		"scalar":                {` "a" `, nil, `"a"`},
		"drop first":            {`{"d":1,"b":2,"a":3}`, []string{"$.d"}, `{"a":3,"b":2}`},
		"drop middle":           {`{"b":2,"d":1,"a":3}`, []string{"$.d"}, `{"a":3,"b":2}`},
		"drop last":             {`{"b":2,"a":3,"d":{"x":[1]}}`, []string{"$.d"}, `{"a":3,"b":2}`},
		"drop all":              {`{"d":1}`, []string{"$.d"}, `{}`},
		"drop two":              {`{"d":1,"e":2,"a":3}`, []string{"$.e", "$.d"}, `{"a":3}`},
		"drop deep":             {`{"x":{"d":1,"c":0},"d":5}`, []string{"$.x.d"}, `{"d":5,"x":{"c":0}}`},
		"drop parent and child": {`{"x":{"d":1,"c":0},"d":5}`, []string{"$.x.d", "$.x"}, `{"d":5}`},
		"drop in an element":    {`{"l":[{"d":1},{"d":2,"e":3}]}`, []string{"$.l[1].d"}, `{"l":[{"d":1},{"e":3}]}`},
		"drop by escape":        {`{"\u0064":1,"a":3}`, []string{"$.d"}, `{"a":3}`},
		"drop where absent":     {`{"a":[1]}`, []string{"$.d", "$.a.b", "$.a[3].c"}, `{"a":[1]}`},
		"drop from a scalar":    {`7`, []string{"$.d"}, `7`},
		"drop duplicates":       {`{"d":1,"a":3,"d":2}`, []string{"$.d"}, `{"a":3}`},
	}
	for name, test := range tests {
		got, err := Canonical([]byte(test.raw), mustPaths(t, test.drop...))
		if err != nil || string(got) != test.want {
			t.Errorf("%s: %s, %v, want %s", name, got, err, test.want)
		}
	}
}

func TestCanonicalRefuses(t *testing.T) {
	for raw, offset := range map[string]int64{
		``:                      0,
		`{"a":1`:                6,
		`{"a":1}x`:              7,
		`{"a":1} {}`:            8,
		`{"d":1,"a":1,"a":1}`:   13,
		`{"a":1,"a":1}`:         7,
		"{\"a\":\"\xff\"}":      6,
		`{"a":"\ud800"}`:        6,
		`{"a":01}`:              6,
		`{"d":1 , "x":[1,2,,]}`: 18,
	} {
		for _, drop := range [][]Path{nil, mustPaths(t, "$.d")} {
			_, err := Canonical([]byte(raw), drop)
			if bad, ok := errors.AsType[*SyntaxError](err); !ok || bad.Offset != offset {
				t.Errorf("%q drop %v: %v, want offset %d", raw, drop, err, offset)
			}
		}
	}
	for _, path := range []string{"$", "$[0]", "$.a[0]", "$.a[-1].b", "$.*", "$..a"} {
		if _, err := NewCanonicalizer(mustPaths(t, path)); err == nil {
			t.Errorf("drop path %s accepted", path)
		}
	}
	if _, err := NewCanonicalizer([]Path{{}}); err == nil {
		t.Error("zero drop path accepted")
	}
}

func TestCanonicalAppends(t *testing.T) {
	for _, drop := range [][]Path{nil, mustPaths(t, "$.d")} {
		c, err := NewCanonicalizer(drop)
		if err != nil {
			t.Fatal(err)
		}
		raw := []byte(`{"b":1,"a":2}`)
		out, err := c.Append([]byte("x:"), raw)
		if err != nil || string(out) != `x:{"a":2,"b":1}` || string(raw) != `{"b":1,"a":2}` {
			t.Errorf("%s %v, raw %s", out, err, raw)
		}
		if out, err = c.Append([]byte("x:"), []byte(`{"b":1,}`)); err == nil || string(out) != "x:" {
			t.Errorf("after an error: %q %v", out, err)
		}
	}
}
