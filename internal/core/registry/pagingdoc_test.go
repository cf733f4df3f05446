package registry

import (
	"os"
	"strings"
	"testing"
)

// Every example of docs/paging.md is a source that passes all checks.
func TestPagingExamples(t *testing.T) {
	page, err := os.ReadFile("../../../docs/paging.md")
	if err != nil {
		t.Fatal(err)
	}
	const head = "source: example\nname: Example\nhttp: {baseUrl: https://api.example.org}\nrate: {perSecond: 1}\n" +
		"filter: {field: updated, precision: SECOND, from: INCLUSIVE, to: EXCLUSIVE}\n"
	examples := strings.Split(string(page), "```yaml\n")[1:]
	if len(examples) != 6 {
		t.Fatalf("%d examples", len(examples))
	}
	for i, text := range examples {
		text, _, _ = strings.Cut(text, "```")
		source, _, err := Decode("example.yaml", []byte(head+text))
		if err != nil {
			t.Errorf("example %d: %v", i+1, err)
			continue
		}
		if problems := source.Validate(); len(problems) > 0 {
			t.Errorf("example %d: %v", i+1, problems)
		}
		for name, endpoint := range source.Endpoints {
			if endpoint.Role == "DETAIL" {
				continue
			}
			if _, err := Resolve(source, name, "HARVEST", nil); err != nil {
				t.Errorf("example %d: %v", i+1, err)
			}
		}
	}
}
