package extract_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/extract"
	"github.com/patra-ingest/patra/internal/core/registry"
)

// Every example of docs/records.md is a source that passes all checks, and makes of the answer below
// it the records that the page shows.
func TestRecordsExamples(t *testing.T) {
	text, err := os.ReadFile("../../../docs/records.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(text), "\n```")
	var parts [][2]string // language and text
	for _, b := range blocks {
		if language, body, ok := strings.Cut(b, "\n"); ok && (language == "yaml" || language == "json" || language == "xml" || language == "text") {
			parts = append(parts, [2]string{language, body})
		}
	}
	if len(parts) == 0 || len(parts)%3 != 0 {
		t.Fatalf("%d blocks, and each example has three", len(parts))
	}
	for i := 0; i < len(parts); i += 3 {
		source, _, err := registry.Decode("example.yaml", []byte("source: example\nname: Example\nhttp: {baseUrl: https://api.example.org}\nrate: {perSecond: 1}\n"+parts[i][1]+"\n"))
		if err != nil {
			t.Fatalf("example %d: %v", i/3+1, err)
		}
		if problems := source.Validate(); len(problems) > 0 {
			t.Errorf("example %d: %v", i/3+1, problems)
		}
		for name := range source.Endpoints {
			resolved, err := registry.Resolve(source, name, "HARVEST", nil)
			if err != nil {
				t.Fatalf("example %d: %v", i/3+1, err)
			}
			page := readWith(t, resolved.Response, parts[i+1][1], extract.Asked{})
			var got []string
			for _, in := range page.Records {
				got = append(got, fmt.Sprintf("%s %s", in.ProviderID, in.Fields))
			}
			for _, bad := range page.Rejects {
				got = append(got, fmt.Sprintf("quarantined: %s %s", bad.Reason, bad.Detail))
			}
			if strings.Join(got, "\n") != parts[i+2][1] {
				t.Errorf("example %d:\n%s\n--- the page has\n%s", i/3+1, strings.Join(got, "\n"), parts[i+2][1])
			}
		}
	}
}
