package query

import "testing"

func seeds() []string {
	return []string{
		`phrase(title, "heart failure") and not oneOf(type, "editorial", "letter") and between(year, 2020, 2022) and exists(abstract)`,
		`not (missing(a) or token(b, "orcid", "1")) or allOf(true, anyOf())`,
		`range(at, "DATETIME", "(2025-01-01T00:00:00+01:00", "2025-01-02T00:00:00Z]")`,
		`oneOf("in", ['a', "\u00e9"], "SENSITIVE") && !since(n, -1.50) || before(d, "2020-02-29")`,
		"exact(t, `a\nb`) // note",
		`((((exists(a)))))`, `not not not true`, `-1`, `a.b[0]?.c`, `let x = 1; x`, `{`, `{"type":"CONST","value":true}`,
	}
}

// holdsAfterReading: what a reader lets in can be written, read back, normalised
// and hashed, and all of that agrees.
func holdsAfterReading(t *testing.T, e Expr) {
	t.Helper()
	if e.IsZero() {
		return
	}
	if err := e.Valid(); err != nil {
		t.Fatalf("was read but is not valid: %v", err)
	}
	raw, err := e.JSON()
	if err != nil {
		t.Fatal(err)
	}
	if back, err := ParseJSON(raw); len(raw) <= maxSource && (err != nil || !back.Equal(e)) {
		t.Fatalf("%s reads back as %s (%v)", raw, back, err)
	}
	if text, err := e.MarshalText(); err == nil {
		if back, err := Parse(string(text)); err != nil || !back.Equal(e) {
			t.Fatalf("%s reads back as %s (%v)", text, back, err)
		}
	}
	n := Normalise(e)
	if !Normalise(n).Equal(n) {
		t.Fatalf("%s: normalising %s again changes it", e, n)
	}
	if one, two := hashOf(t, e), hashOf(t, And(n)); one != two {
		t.Fatalf("%s and its normal form have different hashes", e)
	}
	for world := range uint64(4) {
		if truth(e, world) != truth(n, world) {
			t.Fatalf("%s becomes %s, which selects something else", e, n)
		}
	}
}

func FuzzExprText(f *testing.F) {
	for _, text := range seeds() {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if e, err := Parse(text); err == nil {
			holdsAfterReading(t, e)
		}
	})
}

func FuzzExprJSON(f *testing.F) {
	for _, text := range seeds() {
		if e, err := Parse(text); err == nil && !e.IsZero() {
			raw, err := e.JSON()
			if err != nil {
				f.Fatal(err)
			}
			f.Add(raw)
		}
	}
	f.Add([]byte(`{"type":"NOT","child":{"type":"NOT","child":{"type":"AND"}}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if e, err := ParseJSON(raw); err == nil {
			holdsAfterReading(t, e)
		}
	})
}

func BenchmarkRender(b *testing.B) {
	p, err := Compile(pubmed(), DateFilter{Field: "entrez_date"})
	if err != nil {
		b.Fatal(err)
	}
	where, err := Parse(`phrase(tiab, "heart failure") and not oneOf(tiab, "letter", "editorial")`)
	if err != nil {
		b.Fatal(err)
	}
	e := Localise(where, "entrez_date", span(b, "2025-03-01T00:00:00Z", "2025-03-02T00:00:00Z"))
	b.ReportAllocs()
	for b.Loop() {
		if _, findings := p.Render(e); len(findings) > 0 {
			b.Fatal(findings)
		}
	}
}
