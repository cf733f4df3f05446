package document

import (
	"errors"
	"strings"
	"testing"
)

func lineShape(t testing.TB) Shape {
	return Shape{Items: mustPath(t, "$"), Page: mustPaths(t, "$[-1].id", "$[0].id"), Item: mustPaths(t, "$.id", "$.a[*]"), Format: FormatJSONL}
}

// showItems writes each item as raw bytes and values, with "?" for a bad one.
func showItems(page *Page) []string {
	var out []string
	for _, item := range page.Items {
		line := string(item.Raw) + " -> " + show(item.Values)
		if item.Err != nil {
			line = "?" + line
		}
		out = append(out, line)
	}
	return out
}

func TestLines(t *testing.T) {
	for body, want := range map[string][]string{
		"":             nil,
		" \n\r\n\n":    nil,
		"{\"id\":1}\n": {`{"id":1} -> 1 -`},
		"{\"id\":1}":   {`{"id":1} -> 1 -`},
		"{\"id\":1}\r\n\n \t{ \"id\" : 9007199254740993,\"a\":[1,2]} \r\n": {`{"id":1} -> 1 -`, `{ "id" : 9007199254740993,"a":[1,2]} -> 9007199254740993 [1,2]`},
		"\ufeff{\"id\":1}\n[]\n5\n":                                        {`{"id":1} -> 1 -`, "[] -> - -", "5 -> - -"},
		"{\"id\":1\n{\"id\":2}\n":                                          {`?{"id":1 -> - -`, `{"id":2} -> 2 -`},
		"{\"id\":1} {}\n{\"id\":2}":                                        {`?{"id":1} {} -> - -`, `{"id":2} -> 2 -`},
		"{\"id\":2}\n{\"id\":1\n":                                          {`{"id":2} -> 2 -`, `?{"id":1 -> - -`},
		"{\"id\":1,\"x\":1,\"x\":2}\n{\"id\":2,\"a\":\"\xff\"}":            {`?{"id":1,"x":1,"x":2} -> 1 -`, "?{\"id\":2,\"a\":\"\xff\"} -> 2 -"},
	} {
		page := mustRead(t, lineShape(t), body)
		if got := showItems(page); strings.Join(got, "\n") != strings.Join(want, "\n") || page.HasItems != (want != nil) {
			t.Errorf("%q:\n got %q\nwant %q", body, got, want)
		}
		for _, item := range page.Items {
			if !strings.HasPrefix(body[item.Offset:], string(item.Raw)) || cap(item.Raw) != len(item.Raw) {
				t.Errorf("%q: offset %d", body, item.Offset)
			}
			if item.Err == nil && &item.JSON[0] != &item.Raw[0] {
				t.Errorf("%q: JSON is a copy", body)
			}
		}
	}
}

func TestLinesRefused(t *testing.T) {
	for body, offset := range map[string]int64{
		"{\"id\":1}\n{\"id\":":  15,
		"{\"id\":1}\n{\"id\":2": 16,
		"{\"id\":1}\nx":         9,
		"{\"id\":1} x":          8,
		"12":                    2,
		"1\n12 ":                5,
	} {
		page, err := mustShape(t, lineShape(t)).Read([]byte(body), Limits{})
		if bad, ok := errors.AsType[*SyntaxError](err); !ok || bad.Offset != offset || page != nil {
			t.Errorf("%q: %v", body, err)
		}
	}
	if _, err := mustShape(t, lineShape(t)).Read([]byte("{\"id\":1,\"id\":2}\n"), Limits{}); err == nil {
		t.Error("one of two ids was taken for the page")
	}
}

func TestLinesPageValuesAndLimits(t *testing.T) {
	reader := mustShape(t, lineShape(t))
	page, err := reader.Read([]byte("{\"id\":1}\n{\"id\":2}\n"), Limits{MaxItems: 2, MaxItemBytes: 8})
	if err != nil || show(page.Values) != "2 1" {
		t.Errorf("%v %v", page, err)
	}
	page, err = reader.Read([]byte("{\"id\":1}\nbroken\n"), Limits{})
	if err != nil || show(page.Values) != "- 1" || page.Items[1].JSON != nil {
		t.Errorf("%v %v", page, err)
	}
	if _, err = reader.Read([]byte("1\n2\n3\n"), Limits{MaxItems: 2}); err == nil {
		t.Error("three items where two are allowed")
	}
	page, err = reader.Read([]byte("{\"id\":10}\n[[[1]]]\n{\"id\":2}\n"), Limits{MaxDepth: 2, MaxItemBytes: 8})
	if err != nil || page.Items[0].Err == nil || page.Items[1].Err == nil || page.Items[2].Err != nil {
		t.Errorf("%v %v", page, err)
	}
}
