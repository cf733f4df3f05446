package document

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Whatever quick reads, the decoder reads, and finds the same in it.
func FuzzQuick(f *testing.F) {
	for _, seed := range []string{
		`{"m":{"total":12,"items":[{"id":1,"a":[{"b":2}]},{"id":"x\u00e9\/"}],"next":"t"}}`, ` [ ] `, `{"a":1,"a":2}`, `[1,]`, `{"m":{"items":[-0.5e+7,true,null,false]}} `,
		`{"m":{"items":[{"id":1,"id":2}]}}`, `{"m":{"items":[],}}`, `{"m":{"items":[}]}`, `{"m" "x"}`, `{"m":1 "x":2}`, `[1 2]`, `{}{}`, `{"m":{"items":["` + "\xff" + `"]}}`,
	} {
		f.Add([]byte(seed))
	}
	reader := mustCompile(f, "$.m.items",
		[]string{"$.m.total", "$.m.next", "$.m.items[-1].id", "$.l[?@.r=='n'].h", "$", "$[1]"},
		[]string{"$", "$.id", "$.a[0].b", "$.a[-1]", "$.a[*].b"})
	f.Fuzz(func(t *testing.T, body []byte) { quickAgrees(t, reader, body) })
}

func quickAgrees(t interface{ Fatalf(string, ...any) }, reader *Reader, body []byte) (taken bool) {
	lim := Limits{MaxDepth: 20, MaxItems: 200}.withDefaults()
	got, _, err := reader.readQuickly(body, lim)
	if err != nil {
		return false
	}
	want, err := reader.readBody(body, lim, false)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%q: quick\n%+v\ndecoder\n%+v, %v", body, got, want, err)
	}
	return true
}

func TestQuickAgreesWithTheDecoder(t *testing.T) {
	reader := mustCompile(t, "$.a", []string{"$.b", "$.c[0]", "$.a[-1].b"}, []string{"$.a", "$.b[1]", "$.c.a"})
	taken := false
	rapid.Check(t, func(t *rapid.T) {
		var text strings.Builder
		writeShuffled(t, &text, drawTree(t, 5))
		body := []byte(text.String())
		if rapid.Bool().Draw(t, "damaged") {
			at := rapid.IntRange(0, len(body)-1).Draw(t, "where")
			body[at] = rapid.SampledFrom([]byte("\x00\"\\{}[],:u0e.-/\xff a")).Draw(t, "byte")
		}
		taken = quickAgrees(t, reader, body) || taken
	})
	if !taken {
		t.Error("quick refused every page")
	}
}

// A quick that refused everything would agree too.
func TestQuickTakesOrdinaryPages(t *testing.T) {
	reader := benchReader(t)
	for name, body := range map[string][]byte{
		"synthetic": syntheticPage(),
		"escapes":   []byte(`{"message":{"items":[{"DOI":"10.5555\/\u00e9\ud83d\ude00\"\\\b\f\n\r\t"}]}}`),
		"not ASCII": []byte(`{"message":{"items":[{"DOI":"ünïcode — 中文 ` + "\U0001F600" + `"}]}}`),
		"spaced":    []byte(" {\n\t\"message\" : { \"items\" : [ { \"DOI\" : [ 1 , -0.5E+7 , {} , [ ] , true ] } , null ] , \"total-results\" : 0 } }\r\n"),
		"many":      manyMembers(1000),
	} {
		if !quickAgrees(t, reader, body) {
			t.Errorf("%s: refused", name)
		}
	}
}

func manyMembers(n int) []byte {
	var b bytes.Buffer
	b.WriteString(`{"message":{"items":[{"DOI":{`)
	for i := range n {
		fmt.Fprintf(&b, `%s"%d":{"%[2]d":1}`, appendComma(nil, i), i)
	}
	b.WriteString(`}}]}}`)
	return b.Bytes()
}

// Wherever a name is repeated, near or far, in an object that is skipped or in
// one that is walked.
func TestQuickFindsRepeatedNames(t *testing.T) {
	reader := benchReader(t)
	for _, n := range []int{2, 3, 10, manyNames, manyNames + 1, manyNames + 2, 300} {
		for _, pair := range [][2]int{{0, 1}, {0, n - 1}, {n / 2, n - 1}, {n - 2, n - 1}} {
			if pair[0] == pair[1] {
				continue
			}
			once := string(manyMembers(n))
			twice := strings.Replace(once, fmt.Sprintf(`"%d":{`, pair[1]), fmt.Sprintf(`"%d":{`, pair[0]), 1)
			skipped, walked := twice, strings.Replace(twice, `{"DOI":`, `{"indexed":`, 1)
			for _, body := range []string{skipped, walked} {
				if _, _, err := reader.readQuickly([]byte(body), Limits{}.withDefaults()); err == nil {
					t.Errorf("%d members, %v the same: read", n, pair)
				}
			}
			if _, _, err := reader.readQuickly([]byte(once), Limits{}.withDefaults()); err != nil {
				t.Errorf("%d members: %v", n, err)
			}
		}
	}
}

func TestQuickRefuses(t *testing.T) {
	reader := mustCompile(t, "$.items", []string{"$.next", "$.list[0]", "$.o.x"}, []string{"$.id"})
	deep := strings.Repeat("[", quickDepth+1) + strings.Repeat("]", quickDepth+1)
	for _, body := range []string{
		``, ` `, `{`, `{"items"`, `{"items":`, `{"items":[`, `{"items":[]`, `{"items":[]]`, `{"items":[}}`, `{"items":[1,]}`, `{"items":[,1]}`, `{"items":[1 2]}`, `{"items":[]}x`,
		`{"items":[]}{}`, `{"items":[],}`, `{,"items":[]}`, `{"items" []}`, `{items:[]}`, `{"items":[],"items":[]}`, `{"items":[{"id":1,"id":2}]}`, `{"items":[{"x":{"a":1,"a":2}}]}`,
		`{"it\u0065ms":[]}`, `{"é":1}`, `{"list":[1}`, `{"list":{]}`, `{"o":{"x":1]}`, `{"o":{"x"}}`, `{"o":{"x":}}`, `{"o":{1:2}}`, `{"o":{[]:2}}`, `{"o":{"y":1,}}`,
		`"`, `"a`, `"\`, `"\x"`, `"\u12"`, `"\u12g4"`, `"\ud800"`, `"\ud800\u0041"`, "\"\xff\"", "\"01234567\xff\"", "\"\n\"", "\"01234567\n\"", `-`, `01`, `1.`, `.5`, `1e`, `1e+`, `tru`, `nul`, `fals`, `truex`,
		"\x00", "{}\x00", deep,
	} {
		if page, _, err := reader.readQuickly([]byte(body), Limits{}.withDefaults()); err == nil {
			t.Errorf("%q read as %+v", body, page)
		}
	}
}
