package registry

import (
	"os"
	"strings"
	"testing"
)

// Every example of docs/paging.md is a source that passes all checks.
func TestPagingExamples(t *testing.T) {
	for i, source := range examples(t, "paging.md", 8, "filter: {field: updated, precision: SECOND, from: INCLUSIVE, to: EXCLUSIVE}\n") {
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

// examples reads the examples of a page as sources and checks each. They leave out
// what every source has.
func examples(t *testing.T, page string, want int, head string) (out []*Source) {
	t.Helper()
	text, err := os.ReadFile("../../../docs/" + page)
	if err != nil {
		t.Fatal(err)
	}
	head = "source: example\nname: Example\nhttp: {baseUrl: https://api.example.org}\nrate: {perSecond: 1}\n" + head
	found := strings.Split(string(text), "```yaml\n")[1:]
	if len(found) != want {
		t.Fatalf("%d examples", len(found))
	}
	for i, example := range found {
		example, _, _ = strings.Cut(example, "```")
		source, _, err := Decode("example.yaml", []byte(head+example))
		if err != nil {
			t.Fatalf("example %d: %v", i+1, err)
		}
		if problems := source.Validate(); len(problems) > 0 {
			t.Errorf("example %d: %v", i+1, problems)
		}
		out = append(out, source)
	}
	return out
}

// Every example of docs/bounds.md is a source that passes all checks.
func TestBoundsExamples(t *testing.T) { examples(t, "bounds.md", 5, "") }
