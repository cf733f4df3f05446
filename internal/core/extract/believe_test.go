package extract

import (
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/document"
	"github.com/patra-ingest/patra/internal/core/fault"
)

// D§5.15: nothing where items should be is an empty page only if the source says
// what an empty one looks like, or the format shows it.
func TestBelieve02NothingIsNotAnEmptyPage(t *testing.T) {
	const oai, noMatch = "$['OAI-PMH'].ListRecords.record", `${jsonPath('$["OAI-PMH"].error["@code"]') == 'noRecordsMatch'}`
	const records = `<OAI-PMH><ListRecords>` + `<entry><id>1</id></entry>` + `<resumptionToken completeListSize="13">t</resumptionToken></ListRecords></OAI-PMH>`
	for name, tc := range map[string]struct {
		format document.Format
		items  string
		empty  string // emptyWhen
		fields map[string]Selector
		body   string
		refuse string // part of the error; "" for an empty page
	}{
		"OAI-PMH with another name of its records": {document.FormatXML, oai, noMatch, nil, records, "entry"},
		"OAI-PMH with a token and no record": {document.FormatXML, oai, noMatch, nil,
			`<OAI-PMH><ListRecords><resumptionToken>t</resumptionToken></ListRecords></OAI-PMH>`, "resumptionToken"},
		"OAI-PMH that says so":      {document.FormatXML, oai, noMatch, nil, `<OAI-PMH><error code="noRecordsMatch"/></OAI-PMH>`, ""},
		"an empty set":              {document.FormatXML, "$.set.a", "", nil, `<set></set>`, ""},
		"an empty set with a date":  {document.FormatXML, "$.set.a", "", nil, `<set at="2025-03-01"> </set>`, ""},
		"a set of other things":     {document.FormatXML, "$.set['a','b']", "", nil, `<set><c/></set>`, "c"},
		"an empty set of two kinds": {document.FormatXML, "$.set['a','b']", "", nil, `<set/>`, ""},
		"a set with text":           {document.FormatXML, "$.set.a", "", nil, `<set at="1">down</set>`, "text"},
		"a set whose items all fail the filter": {document.FormatXML, "$.set.a[?@.kind=='x']", "", nil,
			`<set><a><id>1</id><kind>y</kind></a></set>`, ""},
		"items anywhere, and none":       {document.FormatXML, "$..a", "", nil, `<set><list/></set>`, "no"},
		"a next page and an empty set":   {document.FormatXML, "$.r.set.a", "", nil, `<r><next>t</next><set/></r>`, "next page"},
		"a feed whose total is 0":        {document.FormatXML, "$.feed.entry", "${jsonPath('$.feed.total') == '0'}", nil, `<feed><title>x</title><total>0</total></feed>`, ""},
		"a feed whose total is not 0":    {document.FormatXML, "$.feed.entry", "${jsonPath('$.feed.total') == '0'}", nil, `<feed><title>x</title><total>9</total></feed>`, "title"},
		"CSV with an error":              {document.FormatCSV, "$", "", nil, "error: database is down\n", `"id"`},
		"CSV with a header":              {document.FormatCSV, "$", "", map[string]Selector{"t": sel("$.title")}, "id,at,title\n", ""},
		"CSV without a column of a path": {document.FormatCSV, "$", "", map[string]Selector{"t": sel("${lower(jsonPath('$.title'))}")}, "id,at\n", `"title"`},
		"CSV that may be empty":          {document.FormatCSV, "$", "${jsonPath('$[0]') == nil}", nil, "nothing found\n", ""},
		"CSV with nothing at all":        {document.FormatCSV, "$", "", nil, "", "no header"},
		"JSONL with nothing":             {document.FormatJSONL, "$", "", nil, "", "no line"},
		"JSONL with blank lines":         {document.FormatJSONL, "$", "", nil, "\n \n", "no line"},
		"JSONL that may be empty":        {document.FormatJSONL, "$", "${jsonPath('$[0]') == nil}", nil, "", ""},
		"JSON with an empty array":       {document.FormatJSON, "$.data", "", nil, `{"data":[],"next":"t"}`, ""},
		"JSON with another name":         {document.FormatJSON, "$.hits[*].doc", "", nil, `{"hits":[{"work":{"id":"1"}}]}`, "no"},
		"JSON with no hits":              {document.FormatJSON, "$.hits[*].doc", "", nil, `{"hits":[]}`, ""},
		"JSON, items anywhere, and none": {document.FormatJSON, "$..doc", "", nil, `{"error":"down"}`, "no"},
		"JSON whose items fail a filter": {document.FormatJSON, "$.hits[?@.kind=='x']", "", nil, `{"hits":[{"kind":"y"}]}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := Config{Format: tc.format, Items: path(tc.items), ID: sel("$.id"), UpdatedAt: sel("$.at"), Fields: tc.fields}
			if tc.format == document.FormatXML {
				c.NextToken = sel("$.r.next")
			}
			if tc.empty != "" {
				s, err := ParseSelector(tc.empty)
				if err != nil {
					t.Fatal(err)
				}
				c.EmptyWhen = []Predicate{{s}}
			}
			r, err := Compile(c.WithDefaults())
			if err != nil {
				t.Fatal(err)
			}
			page, err := r.Read([]byte(tc.body), asked)
			switch {
			case tc.refuse == "" && (err != nil || page.Seen != 0):
				t.Errorf("not an empty page: %+v %v", page, err)
			case tc.refuse != "" && err == nil:
				t.Errorf("an empty page: %+v", page)
			case tc.refuse != "" && (fault.As(err).Code != fault.BadBody || !strings.Contains(err.Error(), tc.refuse)):
				t.Errorf("%v", err)
			}
		})
	}
}

// A byte order mark before JSON is no part of it, as before lines of JSON.
func TestBelieve02ByteOrderMark(t *testing.T) {
	r := compiled(t)
	plain := bodyOf(`{"id":"a","at":"2025-03-05"}`, `{"id":"b","at":"2025-03-06"}`)
	page, err := r.Read(append([]byte("\ufeff"), plain...), asked)
	if err != nil || len(page.Records) != 2 || string(page.Records[0].Payload) != `{"id":"a","at":"2025-03-05"}` {
		t.Errorf("%+v %v", page, err)
	}
	if _, err := r.Read([]byte("\ufeff"), asked); err == nil {
		t.Error("a mark alone is a page")
	}
}
