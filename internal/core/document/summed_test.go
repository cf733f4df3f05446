package document

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func sumOf(canonical []byte) Sum {
	sum := sha256.Sum256(canonical)
	return Sum(sum[:16])
}

// failer is what tests, fuzz tests and property tests have in common.
type failer interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

func sumItems(t failer, shape *Shape, drop []Path) {
	t.Helper()
	canonical, err := NewCanonicalizer(drop)
	if err != nil {
		t.Fatal(err)
	}
	shape.Canonical, shape.Sum = canonical, sumOf
}

// checkSums expects of items that were summed the sum of their canonical form by the general way.
func checkSums(t failer, page *Page, drop []Path) {
	t.Helper()
	c, err := NewCanonicalizer(drop)
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range page.Items {
		if !item.Summed {
			continue
		}
		form, err := c.canonicaliseAny(nil, item.Raw)
		if err != nil || item.Err != nil || item.Sum != sumOf(form) {
			t.Fatalf("%s: summed as another form than %s (%v, %v)", item.Raw, form, err, item.Err)
		}
	}
}

// linesAgree holds a line that is read as an ordinary one against the same under the strict rules.
func linesAgree(t failer, reader *Reader, line []byte) {
	t.Helper()
	limits := Limits{MaxItemBytes: 100}.withDefaults()
	fast, strict := reader.newFastScan(limits), reader.newScan(limits, false)
	defer fast.giveBack()
	got, err := fast.wholeItem(line, 5)
	if err != nil {
		return
	}
	want, err := strict.wholeItem(line, 5)
	if err != nil {
		t.Fatalf("%q was read, although %v", line, err)
	}
	if got, want := describePage(&Page{Items: []Item{got}}), describePage(&Page{Items: []Item{want}}); got != want {
		t.Fatalf("%q was read as %s, by the library as %s", line, got, want)
	}
}

// A page whose items are summed is the page that it is without: with good items and broken
// ones, and where the text ends in the middle of one.
func TestPagesAreTheSameWithSums(t *testing.T) {
	drop := mustPaths(t, "$.a", "$.c[1].a")
	shape := Shape{Items: mustPath(t, "$.m"), Page: mustPaths(t, "$.n", "$.m[-1].a"), Item: mustPaths(t, "$", "$.a", "$.b", "$.b.c", "$.c[0]", "$.c[-1]", "$.c[*].a", "$.b[1].c[0]")}
	plain := mustShape(t, shape)
	sumItems(t, &shape, drop)
	summing := mustShape(t, shape)
	rows := shape
	rows.Items, rows.Page, rows.Format = mustPath(t, "$"), nil, FormatJSONL
	lines := mustShape(t, rows)
	rapid.Check(t, func(t *rapid.T) {
		var text strings.Builder
		text.WriteString(`{"m":[`)
		for i := range rapid.IntRange(0, 3).Draw(t, "items") {
			text.Write(appendComma(nil, i))
			writeShuffled(t, &text, drawTree(t, 4))
		}
		text.WriteString(`],"n":1}`)
		body := []byte(text.String())
		switch rapid.IntRange(0, 2).Draw(t, "damage") {
		case 1:
			body[rapid.IntRange(0, len(body)-1).Draw(t, "where")] = rapid.SampledFrom([]byte("\x00\"\\{}[],:u0e.-/\xff ab")).Draw(t, "byte")
		case 2:
			body = body[:rapid.IntRange(0, len(body)).Draw(t, "end")]
		}
		want, wrong := plain.Read(body, Limits{})
		got, err := summing.Read(body, Limits{})
		if (err == nil) != (wrong == nil) || err != nil && err.Error() != wrong.Error() {
			t.Fatalf("%q: %v, without sums %v", body, err, wrong)
		}
		if err != nil {
			return
		}
		if got, want := describePage(got), describePage(want); got != want {
			t.Fatalf("%q was read as %s, without sums as %s", body, got, want)
		}
		checkSums(t, got, drop)
		for _, item := range got.Items {
			linesAgree(t, lines, item.Raw)
		}
	})
}

// A reader that summed nothing would agree too.
func TestOrdinaryItemsAreSummed(t *testing.T) {
	drop := mustPaths(t, "$.indexed", "$.score")
	shape := Shape{Items: mustPath(t, "$.message.items"), Item: mustPaths(t, "$.DOI", "$.title[0]", "$.author[*].family", "$.ISSN[-1]", "$.issued['date-parts'][0][0]")}
	body := syntheticPage()
	plain, err := mustShape(t, shape).Read(body, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	sumItems(t, &shape, drop)
	page, err := mustShape(t, shape).Read(body, Limits{})
	if err != nil || describePage(page) != describePage(plain) {
		t.Fatal("another page than without sums", err)
	}
	shape.Items, shape.Format = mustPath(t, "$"), FormatJSONL
	var lines bytes.Buffer
	for _, item := range page.Items {
		lines.Write(item.Raw)
		lines.WriteByte('\n')
	}
	rows, err := mustShape(t, shape).Read(lines.Bytes(), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range []*Page{page, rows} {
		for i, item := range page.Items {
			if !item.Summed || item.Values[0].Raw() == nil {
				t.Fatalf("item %d: %v %s", i, item.Summed, item.Values[0].Raw())
			}
		}
		checkSums(t, page, drop)
	}
}

// What the one pass refuses is read as ever: also an item of which it had read half, and one that has
// a dropped member twice.
func TestWhatIsNotOrdinaryIsNotSummed(t *testing.T) {
	shape := Shape{Items: mustPath(t, "$"), Item: mustPaths(t, "$.id", "$.b")}
	sumItems(t, &shape, mustPaths(t, "$.v"))
	plain := shape
	plain.Sum, plain.Canonical = nil, nil
	for body, summed := range map[string]bool{
		`[{"id":1,"v":[1]}]`: true, `[ [] ]`: true, `[null]`: true, `[{"id":1,"v":[{"x":1}],"b":{}}]`: true,
		`[{"id":1,"b":2,"grün":1}]`: false, `[{"id":1,"v":1,"v":2}]`: false, `[{"id":1,"id":2}]`: false, `[{"id":1,"v":{"x":1,"x":1}}]`: false,
		"[{\"id\":1,\"v\":\"\xff\"}]": false, `[{"id":1,"b":"\ud800"}]`: false, `[{"id":"x` + strings.Repeat("y", 300) + `"}]`: false,
	} {
		limits := Limits{MaxItemBytes: 200}
		page, err := mustShape(t, shape).Read([]byte(body), limits)
		if err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		if page.Items[0].Summed != summed {
			t.Errorf("%s: %v", body, page.Items[0].Summed)
		}
		want, err := mustShape(t, plain).Read([]byte(body), limits)
		if err != nil || describePage(page) != describePage(want) {
			t.Errorf("%s: %s, without sums %s, %v", body, describePage(page), describePage(want), err)
		}
	}
}

// How deep an item may be nested does not depend on who reads it.
func TestDepthIsLimitedWithSums(t *testing.T) {
	shape := Shape{Items: mustPath(t, "$"), Item: mustPaths(t, "$.id")}
	sumItems(t, &shape, nil)
	for depth, summed := range map[int]bool{5: false, expressDepth + 1: true} {
		page, err := mustShape(t, shape).Read([]byte(`[{"id":[[[]]]}]`), Limits{MaxDepth: depth})
		if err != nil || page.Items[0].Summed != summed {
			t.Errorf("%d levels are allowed: %v, %v", depth, page, err)
		}
	}
	if page, err := mustShape(t, shape).Read([]byte(`[{"id":[[[]]]}]`), Limits{MaxDepth: 4}); err == nil {
		t.Errorf("five levels were read where four are allowed: %v", page)
	}
}

// An item that costs too much to search through costs its page no more than it does without sums: whoever
// reads it in the end decides.
func TestCostsAreToldByWhoReadsTheItem(t *testing.T) {
	huge := "[0" + strings.Repeat(",0", 1_000_100) + "]"
	var many strings.Builder
	for i := range swiftMembers + 1 {
		fmt.Fprintf(&many, `"n%d":0,`, i)
	}
	shape := Shape{Items: mustPath(t, "$"), Item: mustPaths(t, "$.id", "$.a[*].x")}
	plain := mustShape(t, shape)
	sumItems(t, &shape, nil)
	summing := mustShape(t, shape)
	for _, body := range []string{`[{"id":7},{"a":1,"a":` + huge + `}]`, `[{"id":7},{"b":1,"b":2,"a":` + huge + `}]`, `[{"id":7},{` + many.String() + `"a":` + huge + `}]`} {
		want, wrong := plain.Read([]byte(body), Limits{})
		got, err := summing.Read([]byte(body), Limits{})
		if (err == nil) != (wrong == nil) || err != nil && err.Error() != wrong.Error() {
			t.Errorf("%.60s: %v, without sums %v", body, err, wrong)
		} else if err == nil && describePage(got) != describePage(want) {
			t.Errorf("%.60s: another page than without sums", body)
		}
	}
}

// Queries below one another are answered once each.
func TestNestedQueriesAreNotAnsweredAgain(t *testing.T) {
	body := []byte(`[` + strings.Repeat(`{"n":`, 10) + "[0" + strings.Repeat(",0", 200) + "]" + strings.Repeat(`}`, 10) + `]`)
	var paths []string
	for depth := range 10 {
		paths = append(paths, "$"+strings.Repeat(".n", depth+1)+"[*].x")
	}
	shape := Shape{Items: mustPath(t, "$"), Item: mustPaths(t, paths...)}
	allocations := func(r *Reader) float64 {
		return testing.AllocsPerRun(5, func() {
			if _, err := r.Read(body, Limits{}); err != nil {
				t.Fatal(err)
			}
		})
	}
	apart := allocations(mustShape(t, shape))
	sumItems(t, &shape, nil)
	if together := allocations(mustShape(t, shape)); together > 1.2*apart {
		t.Errorf("%.0f allocations, without sums %.0f", together, apart)
	}
}

// An item that is longer than allowed is not written, and what was written of others is not kept for ever.
func TestLongItemsLeaveNothing(t *testing.T) {
	body := []byte(`[{"b":"` + strings.Repeat("x", 3*maxSpareBytes) + `","a":1}]`)
	for limit, summed := range map[int]bool{1000: false, 0: true} {
		shape := Shape{Items: mustPath(t, "$"), Item: mustPaths(t, "$.a")}
		sumItems(t, &shape, nil)
		reader := mustShape(t, shape)
		s := reader.newFastScan(Limits{MaxItemBytes: limit}.withDefaults())
		page, err := s.readBody(body)
		if err != nil || page.Items[0].Summed != summed || (page.Items[0].Err == nil) != summed {
			t.Fatalf("%d bytes are allowed: %v", limit, err)
		}
		e := s.express
		if written := cap(e.out) > len(body)/2; written != summed {
			t.Errorf("%d bytes are allowed: %d were written", limit, cap(e.out))
		}
		if s.giveBack(); cap(e.out)+cap(e.sorted) > maxSpareBytes {
			t.Errorf("%d bytes are kept", cap(e.out)+cap(e.sorted))
		}
	}
	many := []byte("[{")
	for i := range 2 * maxSpareMembers {
		many = fmt.Appendf(many, `"n%d":0,`, 3*maxSpareMembers-i)
	}
	shape := Shape{Items: mustPath(t, "$"), Item: mustPaths(t, "$.a")}
	sumItems(t, &shape, nil)
	s := mustShape(t, shape).newFastScan(Limits{}.withDefaults())
	if page, err := s.readBody(append(many, `"a":1}]`...)); err != nil || !page.Items[0].Summed {
		t.Fatalf("many members: %v", err)
	}
	e := s.express
	if s.giveBack(); cap(e.members) > maxSpareMembers || slices.ContainsFunc(e.orders[:], func(o order) bool { return cap(o.ranks) > maxSpareMembers }) {
		t.Errorf("room for %d members is kept", cap(e.members))
	}
	for path, body := range map[string]string{"$": `[123456]`, "$[*]": `[1,23456]`, "$.*": `{"a":"123456"}`, "$[0:]": `[12345]`} { // cut numbers look like numbers
		shape := Shape{Items: mustPath(t, path), Item: mustPaths(t, "$")}
		sumItems(t, &shape, nil)
		page, err := mustShape(t, shape).Read([]byte(body), Limits{MaxItemBytes: 3})
		if err != nil || page.Items[len(page.Items)-1].Err == nil {
			t.Errorf("%s: %v, %v", body, page, err)
		}
	}
}

// A panic while an item is summed costs no page: the item is read without.
func TestPanicsCostNoPage(t *testing.T) {
	shape := Shape{Items: mustPath(t, "$"), Item: mustPaths(t, "$.id")}
	sumItems(t, &shape, nil)
	shape.Sum = func(canonical []byte) Sum {
		if bytes.Contains(canonical, []byte("2")) {
			panic("planted")
		}
		return sumOf(canonical)
	}
	page, err := mustShape(t, shape).Read([]byte(`[{"id":1},{"id":2},{"id":3}]`), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for i, item := range page.Items {
		if item.Summed != (i != 1) || string(item.Values[0].Raw()) != string(rune('1'+i)) {
			t.Errorf("item %d: %v %s", i, item.Summed, item.Values[0].Raw())
		}
	}
}

func TestSumsNeedAForm(t *testing.T) {
	if _, err := Compile(Shape{Items: mustPath(t, "$"), Sum: sumOf}); err == nil {
		t.Error("items were to be summed in no form")
	}
}

func BenchmarkReadSummed(b *testing.B) {
	body := syntheticPage()
	paths := []string{"$.DOI", "$.indexed['date-time']", "$.title[0]", "$.type", "$.publisher", "$['container-title'][0]", "$.volume", "$.issue", "$.issued['date-parts'][0]", "$.URL"}
	for _, way := range []string{"apart", "together"} {
		b.Run(way, func(b *testing.B) {
			shape := Shape{Items: mustPath(b, "$.message.items"), Item: mustPaths(b, paths...)}
			sumItems(b, &shape, mustPaths(b, "$.indexed"))
			canonical := shape.Canonical
			if way == "apart" {
				shape.Sum, shape.Canonical = nil, nil
			}
			reader := mustShape(b, shape)
			b.SetBytes(int64(len(body)))
			var form []byte
			for b.Loop() {
				page, err := reader.Read(body, Limits{})
				if err != nil {
					b.Fatal(err)
				}
				for _, item := range page.Items {
					if !item.Summed {
						if form, err = canonical.Append(form[:0], item.JSON); err != nil {
							b.Fatal(err)
						}
						sumOf(form)
					}
				}
			}
		})
	}
}
