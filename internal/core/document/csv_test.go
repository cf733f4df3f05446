package document

import (
	"errors"
	"strings"
	"testing"
)

func rowShape(t testing.TB, options CSV) Shape {
	return Shape{Items: mustPath(t, "$"), Page: mustPaths(t, "$[-1].id"), Item: mustPaths(t, "$.id", "$['a b']", "$.c1"), Format: FormatCSV, CSV: options}
}

func TestRows(t *testing.T) {
	for name, test := range map[string]struct {
		options CSV
		body    string
		want    []string
	}{
		"header only":      {CSV{}, "id,a b,c1\n", nil},
		"plain":            {CSV{}, "id,a b\r\n1,x\r\n007, y \r\n", []string{`1,x -> "1" "x" -`, `007, y  -> "007" " y " -`}},
		"byte order mark":  {CSV{}, "\ufeffid,a b\n1,x\n", []string{`1,x -> "1" "x" -`}},
		"quoted":           {CSV{}, "\"id\",\"a b\"\n\"1,\n2\",\"say \"\"hi\"\" \\\"\n3,\"\"\n", []string{"\"1,\n2\",\"say \"\"hi\"\" \\\" -> \"1,\\n2\" \"say \\\"hi\\\" \\\\\" -", `3,"" -> "3" "" -`}},
		"blank lines":      {CSV{}, "\n\r\nid,a b\n\n1,x\n\r\n\n2,y\n\n", []string{`1,x -> "1" "x" -`, `2,y -> "2" "y" -`}},
		"comments":         {CSV{Comment: "#"}, "#x\nid,a b\n# \"\n\n1,#\n#,\n", []string{`1,# -> "1" "#" -`}},
		"delimiter":        {CSV{Delimiter: ";"}, "id;a b\n1;x,y\n", []string{`1;x,y -> "1" "x,y" -`}},
		"wide delimiter":   {CSV{Delimiter: "→", Comment: "é"}, "id→a b\n1→x\néé\n", []string{`1→x -> "1" "x" -`}},
		"no header":        {CSV{NoHeader: true}, "7,x\n8,y\n", []string{`7,x -> - - "7"`, `8,y -> - - "8"`}},
		"wrong counts":     {CSV{}, "id,a b\n1\n2,x\n3,x,y\n", []string{`?1 -> - - -`, `2,x -> "2" "x" -`, `?3,x,y -> - - -`}},
		"bare quote":       {CSV{}, "id,a b\n1,5\" disk\n2,x\n", []string{`?1,5" disk -> - - -`, `2,x -> "2" "x" -`}},
		"invalid UTF-8":    {CSV{}, "id,a b\n1,\xff\n2,x\n", []string{"?1,\xff -> \"1\" - -", `2,x -> "2" "x" -`}},
		"no line break":    {CSV{NoFinalNewline: true}, "id,a b\n1,x", []string{`1,x -> "1" "x" -`}},
		"one empty column": {CSV{}, ",id\n1,2\n", []string{`1,2 -> "2" - -`}},
	} {
		t.Run(name, func(t *testing.T) {
			page := mustRead(t, rowShape(t, test.options), test.body)
			if got := showItems(page); strings.Join(got, "\n") != strings.Join(test.want, "\n") || !page.HasItems {
				t.Errorf("\n got %q\nwant %q", got, test.want)
			}
			for _, item := range page.Items {
				if !strings.HasPrefix(test.body[item.Offset:], string(item.Raw)) || cap(item.Raw) != len(item.Raw) {
					t.Errorf("offset %d", item.Offset)
				}
				if (item.Err == nil) == (item.JSON == nil) {
					t.Errorf("error %v, JSON %s", item.Err, item.JSON)
				}
			}
		})
	}
}

func TestRowsAsJSON(t *testing.T) {
	page := mustRead(t, rowShape(t, CSV{}), "id,\"a\tb\"\n1,\"x\ny\"\n")
	if got := string(page.Items[0].JSON); got != `{"id":"1","a\tb":"x\ny"}` || show(page.Values) != `"1"` {
		t.Errorf("%s, page values %s", got, show(page.Values))
	}
}

func TestRowThatCannotBeSplitHasNoValues(t *testing.T) {
	page := mustRead(t, Shape{Items: mustPath(t, "$"), Item: mustPaths(t, "$"), Format: FormatCSV}, "id,b\n1\n2,3\n")
	if got := showItems(page); got[0] != "?1 -> -" || got[1] != `2,3 -> {"id":"2","b":"3"}` {
		t.Errorf("%q", got)
	}
}

func TestRowsRefused(t *testing.T) {
	for body, says := range map[string]string{
		"":                         "no rows",
		"\n\r\n":                   "no rows",
		"\ufeff":                   "no rows",
		"id,id\n":                  `two columns are named "id"`,
		"id,,\n":                   `two columns are named ""`,
		"id,\xff\n":                "UTF-8",
		"i\"d\n":                   "header",
		"id,a b":                   "may be cut",
		"id,a b\n1,x":              "may be cut",
		"id,a b\n1,\"x\"":          "may be cut",
		"id,a b\n1":                "ends before",
		"id,a b\n1,\"x\n2,y\n":     "end of a row",
		"id,a b\n1,\"x\"y\n2,y\n":  "end of a row",
		"id,a b\n1,\"x\"\"\n2,y\n": "end of a row",
	} {
		page, err := mustShape(t, rowShape(t, CSV{})).Read([]byte(body), Limits{})
		bad, ok := errors.AsType[*SyntaxError](err)
		if !ok || page != nil || !strings.Contains(bad.Reason, says) || bad.Offset < 0 || bad.Offset > int64(len(body)) {
			t.Errorf("%q: %v", body, err)
		}
	}
	cut := mustShape(t, rowShape(t, CSV{NoFinalNewline: true}))
	if _, err := cut.Read([]byte("id,a b\n1,x\n2"), Limits{}); err == nil {
		t.Error("a cut row was taken for a bad one")
	}
}

func TestRowsLimits(t *testing.T) {
	reader := mustShape(t, rowShape(t, CSV{NoHeader: true}))
	if _, err := reader.Read([]byte("1\n2\n3\n"), Limits{MaxItems: 2}); err == nil {
		t.Error("three items where two are allowed")
	}
	page, err := reader.Read([]byte("1\n22\n"), Limits{MaxItems: 2, MaxItemBytes: 1, MaxDepth: 1})
	if err != nil || page.Items[0].Err != nil || page.Items[1].Err == nil {
		t.Errorf("%v %v", page, err)
	}
}
