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
	const parted, undated = dates + `, set: "${partition.set}"`, `items: $.works, id: $.id, nextToken: $.next`
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
		"a part of a list that is never sent":         {more: `partitions: {set: {values: [a, b]}}`, want: "E-PARTITION-UNSENT"},
		"a part that asks for all of the list":        {query: parted, more: `partitions: {set: {values: [a, ""]}}`, want: "E-PARTITION: an empty value"},
		"one record for all items of a part":          {query: parted, response: `items: $.works, id: "${partition.set}", updatedAt: $.updated, nextToken: $.next`, more: `partitions: {set: {values: [a, b]}}`, want: "E-ID-CONSTANT"},
		"a refused key that leaves one part alone":    {query: parted, more: `partitions: {set: {values: [a, b], refusedStatus: [401]}}`, want: "E-PARTITION: 401 is about the key"},
		"too many requests that leave a part alone":   {query: parted, more: `partitions: {set: {values: [a, b], refusedStatus: [429]}}`, want: "E-PARTITION: 429 is about the key"},
		"most parts that may be refused":              {query: parted, more: `partitions: {set: {values: [a, b], refusedStatus: [403], maxRefused: 0.9}}`, want: "E-SHARE"},
		"a whole list without one of its parts":       {query: `set: "${partition.set}", after: "${page.token}"`, filter: `filter: {bounds: NONE}`, response: undated, more: "snapshot: {every: P1D}\n    partitions: {set: {values: [a, b], refusedStatus: [403]}}", want: "is read for all of its parts or not at all"},
		"a whole list of which a date is sent":        {filter: `filter: {bounds: NONE}`, response: undated, more: `snapshot: {every: P1D}`, want: "E-WINDOW-BOUNDS"},
		"the newest page for a whole list":            {query: `n: "${page.size}"`, filter: `filter: {bounds: NONE}`, paging: `type: TIME, size: 10`, response: `items: $.works, id: $.id`, more: `snapshot: {every: P1D}`, want: "E-SNAPSHOT: paging by TIME"},
		"no date, no order, and not read whole":       {query: `after: "${page.token}"`, filter: `filter: {bounds: NONE}`, response: undated, more: `supports: [HARVEST]`, want: "E-WINDOW-SUPPORT"},
		"one day of three that is said to be none":    {query: `day: "${filter.from}", after: "${page.token}"`, filter: `filter: {field: updated}`, more: "window: {updatedSince: false}\n    slicing: {step: P3D}", want: "E-WINDOW-BOUNDS"},
		"a lower bound, and nothing tells the upper":  {query: `from: "${filter.from}", after: "${page.token}"`, filter: `filter: {field: updated, bounds: FROM}`, response: `items: $.works, id: $.id, nextToken: $.next`, want: "E-WINDOW-SUPPORT: with FROM"},
		"a feed whose items have no date":             {query: `after: "${page.token}"`, filter: `filter: {field: updated, bounds: NONE}`, response: undated, more: `window: {order: DESC}`, want: "E-WINDOW-SUPPORT"},
		"another request that forgets the page":       {query: dates + `}, next: {query: {again: "yes"}`, want: "E-PAGE-UNSENT"},
		"parts of a crowded window without a count":   {paging: `type: TOKEN, maxResults: 1000`, more: `slicing: {second: {field: weight, from: 0, to: 9}}`, want: "E-SLICING-SECOND: whether the parts are all of a window"},
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
	// A file that ends after a line looks whole.
	const file = `source: trick
name: A trick
http: {baseUrl: https://api.example.org}
endpoints:
  works: {role: FILE, files: {listing: index, every: P1D}, response: {format: JSONL, items: $, id: $.id}}
  index: {role: LISTING, request: {path: /index}, paging: {type: ONE}, response: {items: $.files, id: $.name, fields: {address: $.url LINES}}}
`
	for lines, want := range map[string]string{"": "E-FILES-END", ", lines: $.lines": ""} {
		src, _, err := Decode("trick.yaml", []byte(strings.Replace(file, " LINES", lines, 1)))
		if err != nil {
			t.Fatal(err)
		}
		if found := src.Validate(); want == "" && len(found) > 0 || want != "" && !strings.Contains(found.Error(), want) {
			t.Errorf("a file whose end nothing shows%s: %v, want %q", lines, found, want)
		}
	}
	// Without a trick the same file is good.
	text := strings.NewReplacer("QUERY", dates, "FILTER", `filter: {field: updated}`, "PAGING", token, "RESPONSE", response, "MORE", "").Replace(search)
	src, _, err := Decode("trick.yaml", []byte(text))
	if err != nil || len(src.Validate()) > 0 {
		t.Errorf("%v %v", src.Validate(), err)
	}
}
