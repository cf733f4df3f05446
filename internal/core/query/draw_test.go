package query

import (
	"fmt"
	"hash/fnv"
	"math/big"
	"strings"
	"time"
	"unicode"

	"pgregory.net/rapid"
)

// drawExpr gives any well-formed tree, normal or not.
func drawExpr(t *rapid.T, depth int) Expr {
	most := 9
	if depth == 0 {
		most = 5
	}
	switch rapid.IntRange(0, most).Draw(t, "node") {
	case 0:
		return Expr{Kind: KindConst, Truth: rapid.Bool().Draw(t, "truth")}
	case 6, 7:
		return Expr{Kind: KindAnd, Children: drawChildren(t, depth-1)}
	case 8:
		return Expr{Kind: KindOr, Children: drawChildren(t, depth-1)}
	case 9:
		return Not(drawExpr(t, depth-1))
	}
	return Is(drawAtom(t))
}

func drawChildren(t *rapid.T, depth int) []Expr {
	var out []Expr
	for range rapid.IntRange(0, 4).Draw(t, "children") {
		out = append(out, drawExpr(t, depth))
	}
	return out
}

func drawAtom(t *rapid.T) Atom {
	a := Atom{Field: rapid.SampledFrom([]string{"title", "year", "in", "true", "if", "not", "x_1"}).Draw(t, "field")}
	a.Op = rapid.SampledFrom(allOps).Draw(t, "op")
	switch a.Op {
	case OpTerm:
		a.Term = Term{drawText(t), rapid.SampledFrom([]Match{MatchPhrase, MatchExact, MatchAny}).Draw(t, "match"), drawCase(t)}
	case OpIn:
		a.In.Case = drawCase(t)
		for range rapid.IntRange(1, 4).Draw(t, "values") {
			a.In.Values = append(a.In.Values, drawText(t))
		}
	case OpRange:
		a.Range = drawInterval(t)
	case OpExists:
		a.Exists = rapid.Bool().Draw(t, "exists")
	case OpToken:
		a.Token = Token{drawText(t), drawText(t)}
	}
	return a
}

func drawCase(t *rapid.T) Case {
	return rapid.SampledFrom([]Case{Insensitive, Sensitive}).Draw(t, "case")
}

func drawText(t *rapid.T) string {
	if rapid.Bool().Draw(t, "wild") {
		return strings.ReplaceAll(strings.ToValidUTF8(rapid.String().Draw(t, "text"), ""), "\x00", "")
	}
	return rapid.SampledFrom([]string{"heart", "Heart", "HEART ", "heart  failure", "heart failure", `a"b\c`, "", "  ", "SENSITIVE", "K", "\u212a", "ſ", "s", "a\nb", "\u2028"}).Draw(t, "text")
}

func drawInterval(t *rapid.T) Interval {
	bound := func() Boundary { return rapid.SampledFrom([]Boundary{Open, Closed}).Draw(t, "boundary") }
	r := Interval{Type: rapid.SampledFrom([]RangeType{RangeDate, RangeDateTime, RangeNumber}).Draw(t, "type"), FromBoundary: bound(), ToBoundary: bound()}
	if rapid.Bool().Draw(t, "has from") {
		r.From = drawValue(t, r.Type)
	}
	if rapid.Bool().Draw(t, "has to") {
		r.To = drawValue(t, r.Type)
	}
	return r
}

func drawValue(t *rapid.T, kind RangeType) string {
	day := time.Date(2020, 2, 27, 0, 0, 0, 0, time.UTC).AddDate(0, 0, rapid.IntRange(0, 4).Draw(t, "day"))
	switch kind {
	case RangeDate:
		return day.Format(time.DateOnly)
	case RangeDateTime:
		at := day.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "ticks")) * 100 * time.Millisecond)
		zone := time.FixedZone("", rapid.SampledFrom([]int{0, 3600, -12600}).Draw(t, "zone"))
		return at.In(zone).Format(rapid.SampledFrom([]string{time.RFC3339Nano, "2006-01-02T15:04:05.000000Z07:00"}).Draw(t, "layout"))
	}
	return rapid.SampledFrom([]string{"1", "1.0", "1.50", "01.5", "-0", "0", "-2.25", "123456789012345678901234567890", "0.1234567890123456789", "2020"}).Draw(t, "number")
}

// truth evaluates a tree over a world in which every simple condition is true or
// false at random. It shares no code with Normalise.
func truth(e Expr, world uint64) bool {
	switch e.Kind {
	case KindConst:
		return e.Truth
	case KindNot:
		return !truth(e.Children[0], world)
	case KindAnd:
		for _, child := range e.Children {
			if !truth(child, world) {
				return false
			}
		}
		return true
	case KindOr:
		for _, child := range e.Children {
			if truth(child, world) {
				return true
			}
		}
		return false
	}
	return holds(*e.Atom, world)
}

func holds(a Atom, world uint64) bool {
	coin := func(parts ...string) bool {
		h := fnv.New64a()
		fmt.Fprint(h, world, a.Field, parts)
		return h.Sum64()>>7&1 == 1
	}
	words := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	switch a.Op {
	case OpTerm:
		text := words(a.Term.Text)
		if a.Term.Match == MatchExact {
			text = strings.TrimSpace(a.Term.Text)
		}
		if a.Term.Match == MatchPhrase {
			text = smallestFold(text, a.Term.Case)
		}
		return coin("term", string(a.Term.Match), string(a.Term.Case), text)
	case OpIn:
		for _, v := range a.In.Values {
			if v = words(v); v != "" && coin("term", string(MatchPhrase), string(a.In.Case), smallestFold(v, a.In.Case)) {
				return true
			}
		}
		return false
	case OpExists:
		return coin("exists", fmt.Sprint(a.Exists))
	case OpToken:
		return coin("token", strings.ToLower(strings.TrimSpace(a.Token.Type)), strings.TrimSpace(a.Token.Value))
	}
	return coin("range", string(a.Range.Type), end(a.Range.Type, a.Range.From, a.Range.FromBoundary), end(a.Range.Type, a.Range.To, a.Range.ToBoundary))
}

func smallestFold(text string, c Case) string {
	if c == Sensitive {
		return text
	}
	var out []rune
	for _, r := range text {
		orbit := r
		for range 6 {
			r = unicode.SimpleFold(r)
			orbit = min(orbit, r)
		}
		out = append(out, orbit)
	}
	return string(out)
}

func end(kind RangeType, text string, b Boundary) string {
	switch {
	case text == "":
		return "infinity"
	case kind == RangeDateTime:
		at, _ := time.Parse(time.RFC3339Nano, text)
		text = fmt.Sprint(at.UnixMicro())
	case kind == RangeNumber:
		x, _ := new(big.Rat).SetString(text)
		text = x.String()
	}
	return text + string(b)
}
