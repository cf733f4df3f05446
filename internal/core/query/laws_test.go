package query

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/window"
	"pgregory.net/rapid"
)

func TestPrintedTextReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := drawExpr(t, 4)
		text, err := e.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var back Expr
		if err := back.UnmarshalText(text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if !back.Equal(e) {
			t.Fatalf("%s reads back as %s", text, back)
		}
	})
}

func TestJSONReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := drawExpr(t, 4)
		text, err := e.JSON()
		if err != nil {
			t.Fatal(err)
		}
		back, err := Parse(string(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if !back.Equal(e) {
			t.Fatalf("%s reads back as %s", text, back)
		}
	})
}

func TestNormaliseKeepsTheMeaning(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := drawExpr(t, 4)
		n := Normalise(e)
		if again := Normalise(n); !again.Equal(n) {
			t.Fatalf("%s becomes %s and then %s", e, n, again)
		}
		if err := n.Valid(); err != nil {
			t.Fatalf("%s becomes %s: %v", e, n, err)
		}
		checkNormal(t, n, true)
		for world := range uint64(24) {
			if truth(e, world) != truth(n, world) {
				t.Fatalf("%s becomes %s, which selects something else", e, n)
			}
		}
	})
}

func checkNormal(t *rapid.T, e Expr, root bool) {
	for _, child := range e.Children {
		checkNormal(t, child, false)
		if child.Kind == e.Kind {
			t.Fatalf("%s is not flat", e)
		}
	}
	if !root && e.Kind == KindConst || (e.Kind == KindAnd || e.Kind == KindOr) && len(e.Children) < 2 {
		t.Fatalf("%s is not normal", e)
	}
}

func TestHashSeesTheMeaningOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := drawExpr(t, 4)
		want := hashOf(t, e)
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		for name, same := range map[string]Expr{
			"shuffled": shuffle(e, random), "normal": Normalise(e), "And(x)": And(e), "Or(x)": Or(e), "And(x,x)": And(e, e),
			"Not(Not(x))": Not(Not(e)), "And(TRUE,x)": And(All(), e),
		} {
			if hashOf(t, same) != want {
				t.Fatalf("%s of %s has another hash", name, e)
			}
		}
		canonical, err := Canonical(e)
		if err != nil {
			t.Fatal(err)
		}
		back, err := ParseJSON(canonical)
		if err != nil || hashOf(t, back) != want {
			t.Fatalf("%s: the canonical form %s reads back differently: %v", e, canonical, err)
		}
	})
}

func hashOf(t tester, e Expr) string {
	t.Helper()
	hash, err := Hash(e)
	if err != nil {
		t.Fatal(err)
	}
	return hash
}

// shuffle mixes children and the values of lists.
func shuffle(e Expr, random *rand.Rand) Expr {
	if e.Kind == KindAtom && e.Atom.Op == OpIn {
		a := *e.Atom
		a.In.Values = slices.Clone(a.In.Values)
		random.Shuffle(len(a.In.Values), func(i, j int) { a.In.Values[i], a.In.Values[j] = a.In.Values[j], a.In.Values[i] })
		return Is(a)
	}
	out := e
	out.Children = nil
	for _, child := range e.Children {
		out.Children = append(out.Children, shuffle(child, random))
	}
	random.Shuffle(len(out.Children), func(i, j int) { out.Children[i], out.Children[j] = out.Children[j], out.Children[i] })
	return out
}

func TestHashTellsApart(t *testing.T) {
	w := window.Window{From: time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC), To: time.Date(2025, 3, 2, 0, 0, 0, 0, time.UTC)}
	later := window.Window{From: w.From, To: w.To.Add(time.Microsecond)}
	list := []Expr{
		{}, None(), Range("indexed", w), Range("indexed", later), Range("created", w),
		Phrase("title", "heart failure"), Phrase("title", "heartfailure"), Phrase("title", "Heart failure"), Not(Phrase("title", "heart failure")),
		Is(Atom{Field: "title", Op: OpTerm, Term: Term{"heart failure", MatchAny, Insensitive}}),
		Is(Atom{Field: "title", Op: OpTerm, Term: Term{"heart failure", MatchPhrase, Sensitive}}),
		And(Phrase("title", "a"), Phrase("title", "b")), Or(Phrase("title", "a"), Phrase("title", "b")), OneOf("title", "a", "b"),
		Is(Atom{Field: "x", Op: OpExists, Exists: true}), Is(Atom{Field: "x", Op: OpExists}),
	}
	seen := map[string]Expr{}
	for _, e := range list {
		hash := hashOf(t, e)
		if other, twice := seen[hash]; twice {
			t.Errorf("%s and %s have one hash", e, other)
		}
		seen[hash] = e
	}
	for a, b := range map[string]string{
		`phrase(title, " heart   failure ")`:                 `phrase(title, "heart failure")`,
		`oneOf(title, "a")`:                                  `phrase(title, "a")`,
		`since(at, "2025-01-01T00:00:00Z")`:                  `since(at, "2025-01-01T01:00:00.000+01:00")`,
		`between(n, 1.50, 2)`:                                `between(n, "01.5", 2.0)`,
		`range(n, "NUMBER", "[1", "]")`:                      `since(n, 1)`,
		`exists(x) and exists(y) or exists(y) and exists(x)`: `exists(x) and exists(y)`,
		`true and exists(x)`:                                 `exists(x)`,
		`oneOf(x, "b", "a", "A", " a ")`:                     `oneOf(x, "A", "b")`,
		`not (exists(x) and (exists(y) or exists(z)))`:       `not allOf(anyOf(exists(z), exists(y)), exists(x))`,
	} {
		if x, y := mustParse(t, a), mustParse(t, b); hashOf(t, x) != hashOf(t, y) {
			t.Errorf("%s and %s have different hashes", a, b)
		}
	}
}

func mustParse(t tester, text string) Expr {
	t.Helper()
	e, err := Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return e
}

func TestPrototype(t *testing.T) {
	base := Prototype{}
	hash, err := base.Hash()
	if err != nil {
		t.Fatal(err)
	}
	for _, other := range []Prototype{{Selection: "x"}, {Where: Phrase("title", "a")}} {
		if got, err := other.Hash(); err != nil || got == hash {
			t.Errorf("%+v: %s, %v", other, got, err)
		}
	}
	if got, _ := (Prototype{Where: All()}).Hash(); got != hash {
		t.Error("no condition and TRUE are different prototypes")
	}
	canonical, _ := Prototype{Where: Phrase("title", "a"), Selection: "s"}.Canonical()
	want := `{"selection":"s","where":{"field":"title","op":"TERM","type":"ATOM","value":{"case":"INSENSITIVE","kind":"TERM","match":"PHRASE","text":"a"}}}`
	if string(canonical) != want {
		t.Errorf("got %s", canonical)
	}
}

// A deep tree must not cost more than its size.
func TestDeepTreesAreCheap(t *testing.T) {
	e := Phrase("title", "x")
	for i := range maxDepth / 2 {
		e = Not(And(e, Phrase("title", string(rune('a'+i%26)))))
		if i%2 == 0 {
			e.Children[0].Kind = KindOr
		}
	}
	e = e.Children[0]
	if err := e.Valid(); err != nil {
		t.Fatal(err)
	}
	hashOf(t, e)
}
