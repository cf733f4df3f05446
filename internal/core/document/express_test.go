package document

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// What express writes is what the general way writes, on good and on broken
// input; where it refuses, nothing is owed.
func TestExpressAgreesWithTheGeneralWay(t *testing.T) {
	c, err := NewCanonicalizer(mustPaths(t, "$.a", "$.b.c", "$.c[1].a"))
	if err != nil {
		t.Fatal(err)
	}
	used := new(express) // with what it keeps from one item to the next
	rapid.Check(t, func(t *rapid.T) {
		var text strings.Builder
		writeShuffled(t, &text, drawTree(t, 5))
		raw := []byte(text.String())
		if rapid.Bool().Draw(t, "damaged") {
			at := rapid.IntRange(0, len(raw)-1).Draw(t, "where")
			raw[at] = rapid.SampledFrom([]byte("\x00\"\\{}[],:u0e.-/\xff a")).Draw(t, "byte")
		}
		got, ok := used.appendCanonical([]byte("x"), raw, c.drop)
		if !ok {
			return
		}
		want, err := c.canonicaliseAny([]byte("x"), raw)
		if err != nil || string(got) != string(want) {
			t.Fatalf("%q: express %s, general %s, %v", raw, got, want, err)
		}
	})
}

// The order that is kept for one object must not be used for another that looks
// the same by the start of its names.
func TestExpressHoldsOrdersAgainstTheNames(t *testing.T) {
	used := new(express)
	for _, test := range [][2]string{
		{`{"z":0,"container-b":1,"container-a":2}`, `{"container-a":2,"container-b":1,"z":0}`},
		{`{"z":0,"container-a":1,"container-b":2}`, `{"container-a":1,"container-b":2,"z":0}`},
		{`{"z":0,"container-c":1,"container-":2}`, `{"container-":2,"container-c":1,"z":0}`},
		{`{"z":0,"containe":1,"container":2}`, `{"containe":1,"container":2,"z":0}`},
		{`{"z":0,"container-a":1,"container-a":2}`, ""},
		{`{"z":0,"container-b":1,"container-a":2}`, `{"container-a":2,"container-b":1,"z":0}`},
	} {
		got, ok := used.appendCanonical(nil, []byte(test[0]), nil)
		if ok != (test[1] != "") || ok && string(got) != test[1] {
			t.Errorf("%s: %v %s", test[0], ok, got)
		}
	}
}

// An express that refused everything would agree too.
func TestExpressTakesOrdinaryItems(t *testing.T) {
	c, err := NewCanonicalizer(mustPaths(t, "$.indexed"))
	if err != nil {
		t.Fatal(err)
	}
	page, err := benchReader(t).Read(syntheticPage(), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	raws := []string{
		` { "b" : "x\/y\u00e9\ud83d\ude00\u001f\n" , "a" : [ 1 , -0.5E+7 , {} , [ ] , {"z":null,"y":true,"x":false} ] , "indexed" : [{}] } `,
		`[]`, `{}`, `"é"`, `0`, `{"indexed":1}`,
	}
	for _, item := range page.Items {
		raws = append(raws, string(item.Raw))
	}
	for _, raw := range raws {
		want, err := c.canonicaliseAny(nil, []byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := new(express).appendCanonical(nil, []byte(raw), c.drop); !ok || string(got) != string(want) {
			t.Errorf("%s: %v %s, want %s", raw, ok, got, want)
		}
	}
}

func TestExpressRefuses(t *testing.T) {
	deep := strings.Repeat("[", expressDepth+1) + strings.Repeat("]", expressDepth+1)
	for _, raw := range []string{
		``, ` `, `{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,}`, `{"a" 1}`, `{a:1}`, `{"a":1}x`, `{"a":1,"a":2}`, `{"b":1,"a":1,"b":2}`, `{"é":1}`, `{"\u0061":1}`,
		`{"":0  `, `[`, `[1`, `[1 `, `[1,`, `[1,]`, `[1 2]`, `"`, `"a`, `"\`, `"\x"`, `"\u12"`, `"\u12g4"`, `"\ud800"`, `"\ud800\u0041"`, "\"\xff\"", "\"\n\"",
		`-`, `01`, `1.`, `.5`, `1e`, `1e+`, `tru`, `nul`, `fals`, `truex`, deep,
	} {
		if out, ok := new(express).appendCanonical(nil, []byte(raw), nil); ok {
			t.Errorf("%q accepted as %s", raw, out)
		}
	}
}

func TestPlainStopsAtTheFirstSpecialByte(t *testing.T) {
	for special := range 256 {
		for at := range 20 {
			src := []byte(strings.Repeat("a", 20))
			src[at] = byte(special)
			want := at
			if isPlain(byte(special)) {
				want = len(src)
			}
			e := express{lexer: lexer{src: src, at: -1}}
			if e.skipPlain(); e.at != want {
				t.Fatalf("byte %#x at %d: stopped at %d, want %d", special, at, e.at, want)
			}
		}
	}
}

// Whatever express accepts, the general way accepts with the same bytes: a
// content hash must not depend on which of them wrote it.
func FuzzExpress(f *testing.F) {
	for _, seed := range []string{`{"b":1,"a":{"indexed":[1e5,"\u00e9"]},"indexed":2}`, `[{"a":-0},{"a":"\/"}]`, `{"a":1,"a":2}`, `" \u2028"`} {
		f.Add([]byte(seed))
	}
	c, err := NewCanonicalizer(mustPaths(f, "$.indexed", "$.a.b"))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, ok := new(express).appendCanonical(nil, raw, c.drop)
		if !ok {
			return
		}
		want, err := c.canonicaliseAny(nil, raw)
		if err != nil || string(got) != string(want) {
			t.Fatalf("%q: express %s, general %s, %v", raw, got, want, err)
		}
	})
}
