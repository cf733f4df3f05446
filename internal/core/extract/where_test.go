package extract_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/extract"
)

// Whatever a rule leaves out, every item is accounted for once, paging counts all of them, and no
// item that is left out is a record (I4).
func TestWhereAccountsForEveryItem(t *testing.T) {
	path, predicate := pathTo(t, "$.items"), selectorOf(t, "${jsonPath('$.kind') != 'x'}")
	id := selectorOf(t, "$.id")
	rapid.Check(t, func(t *rapid.T) {
		type item struct {
			ID   string `json:"id,omitempty"`
			Kind string `json:"kind,omitempty"`
		}
		items := rapid.SliceOf(rapid.Custom(func(t *rapid.T) item {
			return item{rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "id"), rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "kind")}
		})).Draw(t, "items")
		body, err := json.Marshal(map[string]any{"items": append([]item{}, items...)})
		if err != nil {
			t.Fatal(err)
		}
		r, err := extract.Compile(extract.Config{Items: path, ID: id, Where: extract.Predicate{Selector: predicate}}.WithDefaults())
		if err != nil {
			t.Fatal(err)
		}
		page, err := r.Read(body, extract.Asked{})
		if err != nil {
			t.Fatal(err)
		}
		left := 0
		for _, i := range items {
			if i.Kind == "x" {
				left++
			}
		}
		if page.Excluded != left || page.Seen != len(items) || page.Says.Items != len(items) || len(page.Keys) != len(items) ||
			page.Seen != len(page.Records)+page.Duplicate+len(page.Rejects)+page.Outside+page.Excluded {
			t.Fatalf("%s: %+v", body, page)
		}
		for _, in := range page.Records {
			if strings.Contains(string(in.Payload), `"x"`) {
				t.Fatalf("left out and stored: %s", in.Payload)
			}
		}
	})
}

// A rule that cannot be answered of an item leaves nothing out.
func TestWhereInDoubtKeepsTheItem(t *testing.T) {
	c := extract.Config{Items: pathTo(t, "$"), ID: selectorOf(t, "$.id"), Where: extract.Predicate{Selector: selectorOf(t, "${int(jsonPath('$.n')) > 1}")}}
	page := readWith(t, c, fmt.Sprintf(`[{"id":"a","n":%q},{"id":"b","n":1},{"id":"c","n":2}]`, "much"), extract.Asked{})
	if len(page.Records) != 2 || page.Excluded != 1 {
		t.Errorf("%+v", page)
	}
}
