package registry

import (
	"os"
	"strings"
	"testing"
)

// Every example of docs/rate.md is a source that passes all checks.
func TestRateExamples(t *testing.T) {
	page, err := os.ReadFile("../../../docs/rate.md")
	if err != nil {
		t.Fatal(err)
	}
	const head = "source: example\nname: Example\nhttp: {baseUrl: https://api.example.org}\nrate: {perSecond: 1}\nfilter: {field: updated}\n"
	examples := strings.Split(string(page), "```yaml\n")[1:]
	if len(examples) != 2 {
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
	}
}
