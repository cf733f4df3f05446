package extract_test

import (
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/document"
	"github.com/patra-ingest/patra/internal/core/extract"
	"github.com/patra-ingest/patra/internal/core/window"
)

func selectorOf(t *testing.T, text string) extract.Selector {
	t.Helper()
	s, err := extract.ParseSelector(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func pathTo(t *testing.T, text string) document.Path {
	t.Helper()
	p, err := document.ParsePath(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func readWith(t *testing.T, c extract.Config, body string, asked extract.Asked) *extract.Page {
	t.Helper()
	r, err := extract.Compile(c.WithDefaults())
	if err != nil {
		t.Fatal(err)
	}
	page, err := r.Read([]byte(body), asked)
	if err != nil {
		t.Fatal(err)
	}
	return page
}

// The answer to one id is one record under that id, whatever it looks like: a list that is
// empty is a record as well.
func TestOneAnswerIsOneRecord(t *testing.T) {
	c := extract.Config{Items: pathTo(t, "$"), Single: true, ID: selectorOf(t, "${first(ids)}"), Fields: map[string]extract.Selector{"count": selectorOf(t, "${length(jsonPath('$'))}")}}
	for body, count := range map[string]string{`[]`: `{"count":0}`, `[{"a":1},{"a":2}]`: `{"count":2}`} {
		page := readWith(t, c, body, extract.Asked{IDs: []string{"10.1/X"}})
		if len(page.Records) != 1 || page.Seen != 1 || page.Records[0].ProviderID != "10.1/X" || string(page.Records[0].Fields) != count {
			t.Errorf("%s: %+v", body, page)
		}
	}
	if page := readWith(t, c, `[]`, extract.Asked{}); len(page.Rejects) != 1 {
		t.Errorf("without what was asked for there is no id: %+v", page)
	}
}

// An item without an id is told by its hash. What is volatile is no part of it, and two equal items are one.
func TestHashIsAnID(t *testing.T) {
	c := extract.Config{Items: pathTo(t, "$.rows"), ID: selectorOf(t, "${hash()}"), Replaces: "NOTHING", Volatile: []document.Path{pathTo(t, "$.seen")}}
	page := readWith(t, c, `{"rows":[{"a":1,"seen":1},{"seen":2,"a":1},{"a":2}]}`, extract.Asked{})
	if page.Seen != 3 || len(page.Records) != 2 || page.Duplicate != 1 || len(page.Records[0].ProviderID) != 64 {
		t.Errorf("%+v", page)
	}
	c.ID = selectorOf(t, "${hash(jsonPath('$.date'), jsonPath('$.country'))}")
	page = readWith(t, c, `{"rows":[{"date":"d","country":"a","n":1},{"date":"d","country":"b"},{"date":"d"}]}`, extract.Asked{})
	if len(page.Records) != 2 || len(page.Rejects) != 1 || !strings.Contains(page.Rejects[0].Detail, "$.country") {
		t.Errorf("a part that is missing must not make one record of many: %+v", page)
	}
}

// Totals and tokens may come with headers, and fields may say what was asked for.
func TestHeadersAndWindowInTemplates(t *testing.T) {
	c := extract.Config{
		Items: pathTo(t, "$"), ID: selectorOf(t, "$.id"), Total: selectorOf(t, "${int(header('X-Total-Count'))}"), NextToken: selectorOf(t, "${header('X-Cursor')}"),
		Fields: map[string]extract.Selector{"day": selectorOf(t, "${formatDateTime(window.from, 'yyyy-MM-dd')}"), "at": selectorOf(t, "${fetched}")},
	}
	headers := map[string]string{"X-Total-Count": "7", "X-Cursor": "next"}
	asked := extract.Asked{
		Slice: window.Window{From: time.Date(2025, 3, 4, 0, 0, 0, 0, time.UTC)}, FetchAt: time.Date(2025, 3, 5, 1, 2, 3, 0, time.UTC),
		Header: func(name string) string { return headers[name] },
	}
	page := readWith(t, c, `[{"id":"a"}]`, asked)
	if page.Says.Total == nil || *page.Says.Total != 7 || page.Says.Token != "next" || string(page.Records[0].Fields) != `{"at":"2025-03-05T01:02:03Z","day":"2025-03-04"}` {
		t.Errorf("%+v %s", page.Says, page.Records[0].Fields)
	}
	delete(headers, "X-Cursor")
	if page := readWith(t, c, `[{"id":"a"}]`, asked); page.Says.Token != "" {
		t.Errorf("%+v", page.Says)
	}
	if names := c.Headers(); strings.Join(names, " ") != "X-Total-Count X-Cursor" {
		t.Errorf("%v", names)
	}
}
