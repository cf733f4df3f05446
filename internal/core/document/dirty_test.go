package document

import (
	"errors"
	"strings"
	"testing"
)

func TestDirtyItemsAreBadAndThePageIsGood(t *testing.T) {
	tests := map[string]struct {
		item   string
		values string // $.id $.a.b $.l[*]
	}{
		"duplicate elsewhere":           {`{"id":1,"x":{"k":1,"k":1}}`, "1 - -"},
		"duplicate at the top":          {`{"id":1,"x":1,"x":1}`, "1 - -"},
		"duplicate of a read value":     {`{"id":1,"a":{"b":2},"id":1}`, "- 2 -"},
		"three of them":                 {`{"id":1,"id":2,"id":3}`, "- - -"},
		"duplicate by escape":           {`{"id":1,"\u0069d":2}`, "- - -"},
		"duplicate parent":              {`{"id":1,"a":{"b":2},"a":{"c":3}}`, "1 - -"},
		"duplicate below a query":       {`{"id":1,"l":[{"k":1,"k":2}]}`, "1 - -"},
		"invalid UTF-8 elsewhere":       {"{\"id\":1,\"x\":\"\xff\"}", "1 - -"},
		"invalid UTF-8 in a name":       {"{\"id\":1,\"\xff\":0}", "1 - -"},
		"lone surrogate":                {`{"id":1,"x":"\ud800"}`, "1 - -"},
		"lone surrogate in a name":      {`{"id":1,"\ud800":0}`, "1 - -"},
		"duplicates of a number string": {`{"id":1,"9":0,"9":0}`, "1 - -"},
	}
	reader := mustCompile(t, "$.items", []string{"$.total"}, []string{"$.id", "$.a.b", "$.l[*]"})
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			body := `{"items":[{"id":"before"},` + test.item + `,{"id":"after","l":[1]}],"total":3}`
			page, err := reader.Read([]byte(body), Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if len(page.Items) != 3 || show(page.Values) != "3" {
				t.Fatalf("%d items, values %s", len(page.Items), show(page.Values))
			}
			if page.Items[0].Err != nil || page.Items[2].Err != nil || show(page.Items[2].Values) != `"after" - [1]` {
				t.Error("a neighbour was hurt")
			}
			item := page.Items[1]
			bad, ok := errors.AsType[*ItemError](item.Err)
			if !ok {
				t.Fatalf("item error %v", item.Err)
			}
			if bad.Offset < item.Offset || bad.Offset > item.Offset+int64(len(item.Raw)) || !strings.Contains(bad.Error(), bad.Reason) {
				t.Errorf("%v does not point into the item", bad)
			}
			if got := show(item.Values); got != test.values || string(item.Raw) != test.item {
				t.Errorf("values %s, want %s; raw %s", got, test.values, item.Raw)
			}
		})
	}
}

func TestDirtyPages(t *testing.T) {
	paths := []string{"$.m.total", "$.m.next", "$.links[?@.rel=='next'].href", "$.m.items[-1].id"}
	reader := mustCompile(t, "$.m.items", paths, []string{"$.id"})
	tests := map[string]struct {
		body   string
		values string // "" if the page must be refused
	}{
		"duplicate that is not read":       {`{"q":1,"q":2,"m":{"w":1,"w":1,"total":1,"items":[]}}`, "1 - - -"},
		"duplicate below what is not read": {`{"q":{"total":1,"total":2},"m":{"total":1,"items":[]}}`, "1 - - -"},
		"invalid UTF-8 that is not read":   {"{\"q\":\"\xff\",\"m\":{\"total\":1,\"items\":[]}}", "1 - - -"},
		"invalid name":                     {"{\"\xff\":1,\"m\":{\"total\":1,\"items\":[]}}", "1 - - -"},
		"duplicate total":                  {`{"m":{"total":1,"items":[],"total":1}}`, ""},
		"duplicate by escape":              {`{"m":{"total":1,"items":[],"tot\u0061l":2}}`, ""},
		"duplicate parent":                 {`{"m":{"total":1,"items":[]},"m":{}}`, ""},
		"duplicate items":                  {`{"m":{"items":[1],"items":[2]}}`, ""},
		"invalid UTF-8 in the token":       {"{\"m\":{\"next\":\"a\xff\",\"items\":[]}}", ""},
		"lone surrogate in the token":      {`{"m":{"next":"\udc00","items":[]}}`, ""},
		"duplicate below a query":          {`{"m":{"items":[]},"links":[{"rel":"next","href":1,"href":2}]}`, ""},
		"duplicate in an item, not read":   {`{"m":{"items":[{"id":5,"z":1,"z":1}]}}`, "- - - 5"},
		"duplicate in an item, page value": {`{"m":{"items":[{"id":5,"id":6}]}}`, ""},
		"bad and truncated":                {`{"q":1,"q":2,"m":{"items":[1,2`, ""},
		"bad and too deep":                 {`{"q":1,"q":` + strings.Repeat("[", 101) + strings.Repeat("]", 101) + `}`, ""},
	}
	for name, test := range tests {
		page, err := reader.Read([]byte(test.body), Limits{})
		if _, refused := errors.AsType[*SyntaxError](err); test.values == "" {
			if !refused {
				t.Errorf("%s: error %v", name, err)
			}
			continue
		}
		if err != nil || show(page.Values) != test.values || !page.HasItems {
			t.Errorf("%s: %v, page %+v", name, err, page)
		}
	}
}

func TestReasonsStayShort(t *testing.T) {
	name := strings.Repeat("é", 500)
	_, err := mustCompile(t, "", []string{"$." + name}, nil).Read([]byte(`{"`+name+`":1,"`+name+`":1}`), Limits{})
	if err == nil || len(err.Error()) > 300 || strings.ContainsRune(err.Error(), '\uFFFD') {
		t.Errorf("%v", err)
	}
}
