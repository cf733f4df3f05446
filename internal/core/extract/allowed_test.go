package extract_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/extract"
	"github.com/patra-ingest/patra/internal/core/record"
)

// An item becomes a record exactly if every value of its field is allowed; whatever it has, it is counted (I4).
func TestAllowedValuesDecideWhatIsARecord(t *testing.T) {
	allowed := []string{"article", "book", "3", "true"}
	c := extract.Config{Items: pathTo(t, "$"), ID: selectorOf(t, "$.id"),
		Fields: map[string]extract.Selector{"kind": selectorOf(t, "$.kind"), "made": selectorOf(t, "${jsonPath('$.kind')}")}, Allowed: map[string][]string{"kind": allowed}}
	r, err := extract.Compile(c.WithDefaults())
	if err != nil {
		t.Fatal(err)
	}
	one := rapid.SampledFrom([]any{"article", "book", "Article", "", " book", 3, 4, true, false, "3"})
	legal := func(v any) bool {
		text, _ := json.Marshal(v)
		return slices.Contains(allowed, strings.Trim(string(text), `"`))
	}
	rapid.Check(t, func(t *rapid.T) {
		type item struct {
			ID   string `json:"id"`
			Kind any    `json:"kind,omitempty"`
		}
		var items []item
		want := map[string]bool{}
		for _, id := range []string{"a", "b", "c"} {
			i := item{ID: id}
			switch rapid.SampledFrom([]string{"none", "one", "list"}).Draw(t, "shape") {
			case "none":
				want[id] = true
			case "one":
				i.Kind = one.Draw(t, "value")
				want[id] = legal(i.Kind)
			case "list":
				list := rapid.SliceOfN(one, 0, 4).Draw(t, "values")
				i.Kind, want[id] = list, !slices.ContainsFunc(list, func(v any) bool { return !legal(v) })
			}
			items = append(items, i)
		}
		body, err := json.Marshal(items)
		if err != nil {
			t.Fatal(err)
		}
		page, err := r.Read(body, extract.Asked{})
		if err != nil {
			t.Fatal(err)
		}
		if page.Seen != len(page.Records)+len(page.Rejects) {
			t.Fatalf("%s: %+v", body, page)
		}
		for _, in := range page.Records {
			if !want[in.ProviderID] {
				t.Fatalf("%s: %s is a record", body, in.ProviderID)
			}
		}
		for _, bad := range page.Rejects {
			if want[bad.ProviderID] || bad.Reason != record.IllegalValue || bad.Path != "$.kind" || !strings.Contains(bad.Detail, "article, book, 3, true") {
				t.Fatalf("%s: %+v", body, bad)
			}
		}
	})
}

func TestAllowedValuesOfNothingAreRefused(t *testing.T) {
	c := extract.Config{Items: pathTo(t, "$"), ID: selectorOf(t, "$.id"), Fields: map[string]extract.Selector{"kind": selectorOf(t, "$.kind")}}
	for why, allowed := range map[string]map[string][]string{"is not among": {"type": {"a"}}, "has no value": {"kind": {}}} {
		c.Allowed = allowed
		if _, err := extract.Compile(c.WithDefaults()); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%v: %v", allowed, err)
		}
	}
}
