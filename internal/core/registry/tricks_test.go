package registry

import (
	"strings"
	"testing"
)

// Each of these files says something untrue that would lose data without a sign. Every one is refused,
// and by a name of its own (issue: reach of source files).
func TestTricksThatLoseDataAreRefused(t *testing.T) {
	const search = `source: trick
name: A trick
http: {baseUrl: https://api.example.org}
endpoints:
  works:
    role: SEARCH
    request: {path: /works, query: {QUERY}}
    FILTER
    paging: {PAGING}
    response: {RESPONSE}
    MORE
`
	const dates, response, token = `from: "${filter.from}", until: "${filter.to}", after: "${page.token}"`, `items: $.works, id: $.id, updatedAt: $.updated, filtered: $.updated, nextToken: $.next`, `type: TOKEN`
	for name, c := range map[string]struct {
		query, filter, paging, response, more string
		want                                  string
	}{
		"a slice of which one end is sent":            {query: `from: "${filter.from}", after: "${page.token}"`, want: "E-WINDOW-UNSENT"},
		"one day of a slice of three":                 {query: `day: "${filter.from}", after: "${page.token}"`, filter: `filter: {field: updated}`, more: `slicing: {step: P3D}`, want: "E-WINDOW-UNSENT"},
		"a unit that is stretched":                    {query: `day: "${filter.at}", after: "${page.token}"`, filter: `filter: {field: updated, bounds: UNIT}`, more: `slicing: {step: P3D}`, want: "E-WINDOW-UNIT"},
		"no date, and yet one is sent":                {filter: `filter: {field: updated, bounds: NONE}`, more: `window: {ordered: true}`, want: "E-WINDOW-"},
		"a page that is never asked for":              {query: `from: "${filter.from}", until: "${filter.to}"`, want: "E-PAGE-UNSENT"},
		"a token that nothing names":                  {response: `items: $.works, id: $.id, updatedAt: $.updated`, want: "E-PAGING-NEXT"},
		"a status of a search that is ignored":        {more: `retry: {ignoreStatus: [404]}`, want: "E-RETRY-IGNORE"},
		"a status that alone means nothing here":      {response: response + `, emptyStatus: [404]`, want: "E-EMPTY-STATUS"},
		"a refused key that means nothing here":       {response: response + `, emptyStatus: [403], emptyWhen: [$.none]`, want: "E-EMPTY-STATUS"},
		"items left out before they are counted":      {query: `from: "${filter.from}", until: "${filter.to}", at: "${page.offset}", n: "${page.size}"`, paging: `type: OFFSET`, response: `items: "$.works[?@.id]", id: $.id, updatedAt: $.updated`, want: "E-ITEMS-FILTER"},
		"one id for all items":                        {response: `items: $.works, id: "${'all'}", updatedAt: $.updated, nextToken: $.next`, want: "E-ID-CONSTANT"},
		"the first of many ids":                       {response: `items: $.works, id: "${first(ids)}", updatedAt: $.updated, nextToken: $.next`, want: "E-IDS-SEVERAL"},
		"a hash that replaces nothing, unsaid":        {response: `items: $.works, id: "${hash()}", updatedAt: $.updated, nextToken: $.next`, want: "E-REPLACES"},
		"a hash that says the list replaces it":       {response: `items: $.works, id: "${hash()}", replaces: LIST, updatedAt: $.updated, nextToken: $.next`, want: "E-REPLACES"},
		"an id that is another one tomorrow":          {response: `items: $.works, id: "${jsonPath('$.id')}-${fetched}", updatedAt: $.updated, nextToken: $.next`, want: "E-GIVEN"},
		"a date of change that is that of the answer": {response: `items: $.works, id: $.id, updatedAt: "${fetched}", nextToken: $.next`, want: "E-GIVEN"},
		"a date that is always inside the window":     {response: `items: $.works, id: $.id, updatedAt: $.updated, filtered: "${window.from}", nextToken: $.next`, want: "E-GIVEN"},
		"a rule that asks the request":                {response: response + `, where: "${header('X') == 'y'}"`, want: "E-GIVEN"},
		"a key of items that have none":               {response: `items: $.works, id: "${key}", updatedAt: $.updated, nextToken: $.next`, want: "E-KEY"},
		"a token that is the key of an item":          {response: `items: $.works.*, id: $.id, updatedAt: $.updated, nextToken: "${key}"`, want: "E-KEY"},
		"parts that a filter leaves out":              {response: response + `, expand: {path: "$.parts[?@.n]"}`, want: "E-EXPAND"},
		"parts of which the first is taken":           {response: response + `, expand: {path: "$.parts[0]"}`, want: "E-EXPAND"},
		"what is carried under no name":               {response: `items: $.works, id: "${carried('work')}", updatedAt: $.updated, nextToken: $.next, expand: {path: "$.parts[*]"}`, want: "E-EXPAND"},
		"parts of a list whose order is believed":     {query: `after: "${page.token}"`, filter: `filter: {field: updated, bounds: NONE}`, response: response + `, expand: {path: "$.parts[*]"}`, more: `window: {order: DESC}`, want: "E-EXPAND"},
		"a table of one row":                          {response: response + `, single: true, table: {names: "$.names"}`, want: "E-TABLE"},
		"a total that is expected and not read":       {paging: `type: TOKEN, expectTotal: true`, want: "E-TOTAL"},
	} {
		pick := func(text, other string) string {
			if text == "" {
				return other
			}
			return text
		}
		text := strings.NewReplacer("QUERY", pick(c.query, dates), "FILTER", pick(c.filter, `filter: {field: updated}`), "PAGING", pick(c.paging, token), "RESPONSE", pick(c.response, response), "MORE", c.more).Replace(search)
		src, _, err := Decode("trick.yaml", []byte(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if found := src.Validate(); !strings.Contains(found.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, found, c.want)
		}
	}
	// Without a trick the same file is good.
	text := strings.NewReplacer("QUERY", dates, "FILTER", `filter: {field: updated}`, "PAGING", token, "RESPONSE", response, "MORE", "").Replace(search)
	src, _, err := Decode("trick.yaml", []byte(text))
	if err != nil || len(src.Validate()) > 0 {
		t.Errorf("%v %v", src.Validate(), err)
	}
}
