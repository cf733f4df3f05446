package extract_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/extract"
	"github.com/patra-ingest/patra/internal/core/fault"
)

// An answer is refused exactly if one of its items names parts of the list, and none of those it was asked for.
func TestAnAnswerOfAnotherPartIsRefused(t *testing.T) {
	c := extract.Config{Items: pathTo(t, "$"), ID: selectorOf(t, "$.id"), Parts: map[string]extract.Part{
		"set": {At: pathTo(t, "$.sets[*]"), Values: func(sent string) []string { return strings.Split(sent, ",") }},
	}}
	r, err := extract.Compile(c.WithDefaults())
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		type item struct {
			ID   int `json:"id"`
			Sets any `json:"sets,omitempty"`
		}
		sent := rapid.SampledFrom([]string{"cs", "math", "cs,math", "7"}).Draw(t, "sent")
		var items []item
		stray := false
		for id := range rapid.IntRange(0, 4).Draw(t, "items") {
			one := item{ID: id + 1}
			named := rapid.SliceOfN(rapid.SampledFrom([]any{"cs", "math", "physics", 7, "c"}), 0, 3).Draw(t, "named")
			if len(named) > 0 {
				one.Sets = named
				stray = stray || !slices.ContainsFunc(named, func(v any) bool {
					text, _ := json.Marshal(v)
					return slices.Contains(strings.Split(sent, ","), strings.Trim(string(text), `"`))
				})
			}
			items = append(items, one)
		}
		body, _ := json.Marshal(append([]item{}, items...))
		page, err := r.Read(body, extract.Asked{Sector: map[string]string{"set": sent}})
		var f *fault.Error
		switch {
		case !stray && (err != nil || len(page.Records) != len(items)):
			t.Fatalf("%s for %s: %v", body, sent, err)
		case stray && (!errors.As(err, &f) || f.Code != fault.BadBody || !strings.Contains(err.Error(), "partitions.set.inItem")):
			t.Fatalf("%s for %s: %v", body, sent, err)
		}
		if _, err := r.Read(body, extract.Asked{}); err != nil { // such as a kept answer that is read again
			t.Fatalf("nobody asked for a part: %v", err)
		}
	})
}

// What stands there and is no value must not pass for an item that names no part.
func TestAPartThatIsNoValueIsRefused(t *testing.T) {
	c := extract.Config{Items: pathTo(t, "$"), ID: selectorOf(t, "$.id"), Parts: map[string]extract.Part{
		"set": {At: pathTo(t, "$.sets"), Values: func(sent string) []string { return []string{sent} }},
	}}
	r, err := extract.Compile(c.WithDefaults())
	if err != nil {
		t.Fatal(err)
	}
	for body, fails := range map[string]bool{
		`[{"id":1,"sets":["cs","math"]}]`: true, `[{"id":1,"sets":{"a":1}}]`: true, `[{"id":1,"sets":"math"}]`: true,
		`[{"id":1,"sets":"cs"}]`: false, `[{"id":1,"sets":null}]`: false, `[{"id":1}]`: false,
	} {
		if _, err := r.Read([]byte(body), extract.Asked{Sector: map[string]string{"set": "cs"}}); fails != (err != nil) {
			t.Errorf("%s: %v", body, err)
		}
	}
}
