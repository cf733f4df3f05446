package registry

import (
	"regexp"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/registry/dictionary"
)

const referencePage = "../../../docs/registry.md"

// The page in the documentation is the one the types give; -update writes it.
func TestReferenceIsCurrent(t *testing.T) {
	if *update {
		compare(t, referencePage, string(writeReference()))
		return
	}
	got, want := strings.Split(string(writeReference()), "\n"), strings.Split(string(read(t, referencePage)), "\n")
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Fatalf("%s is out of date from line %d on: run this test with -update\n--- now\n%s\n--- page\n%s",
				referencePage, i+1, strings.Join(got[min(i, len(got)):min(i+1, len(got))], ""), strings.Join(want[min(i, len(want)):min(i+1, len(want))], ""))
		}
	}
}

func TestReferenceNamesEverything(t *testing.T) {
	page := string(writeReference())
	if strings.Contains(page, "{{") {
		t.Errorf("a part was not filled in: %.40s", page[strings.Index(page, "{{"):])
	}
	for _, f := range sectionsShape().fields {
		if !strings.Contains(page, "\n### "+f.name+"\n") {
			t.Errorf("section %s has no table", f.name)
		}
	}
	for _, part := range []string{
		"| `timeout` | duration |  | `PT30S` | whole request, body included (default PT30S, at most PT2M) |",
		"| `type` | code | `OFFSET` `PAGE` `TOKEN` `URL` `TIME` `ONE` | *required* | how the upstream pages |",
		"| `headers` | map of text |  |  | headers of every request; values may hold ${…} |",
		"| `NAME.value` | reference |",
		"| `pagination_mode` *open* |", "`CURSOR` = `TOKEN`", "| platform |", "| override |", "| `E-UNKNOWN-KEY` |",
		"| `source` | text |  | *required* |", "| `lower(text)` |",
	} {
		if !strings.Contains(page, part) {
			t.Errorf("missing: %s", part)
		}
	}
	for _, list := range dictionary.All() {
		if !strings.Contains(page, "| `"+list.Code+"`") {
			t.Errorf("list %s is missing", list.Code)
		}
	}
}

// The example is a file the program takes, as it stands.
func TestReferenceExample(t *testing.T) {
	m := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindSubmatch(writeReference())
	if m == nil {
		t.Fatal("there is no example")
	}
	if _, problems := check("example.yaml", m[1]); len(problems) > 0 {
		t.Error(problems)
	}
}
