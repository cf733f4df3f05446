package oaipmh

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/extract"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Lines are: recorded answer, records, how many of them are gone, whether another page follows.
const recordedLists = `
pmc-listrecords-p01.xml                | 50 0 true
pmc-listrecords-p02.xml                | 50 0 true
pmc-listrecords-p17-last.xml           | 44 0 false
datacite-oai-p1.xml                    | 50 0 true
datacite-oai-p2-last.xml               | 6 0 false
dataverse-p1-deleted.xml               | 10 9 true
dataverse-p2-last-selfclosed-token.xml | 9 6 false
bepress-p3-last.xml                    | 8 0 false
zenodo-single-page.xml                 | 7 0 false
mla-p13-token.xml                      | 19 0 true
mla-p14-noRecordsMatch.xml             | 0 0 false
mit-listrecords-noRecordsMatch.xml     | 0 0 false
mit-listrecords-deleted.xml            | 1 1 false
`

// The file that is written for a repository reads the answers of real ones: with deletions, tokens that are empty or close
// themselves, and lists that end with an error which says that there is nothing.
func TestTheWrittenFileReadsRealRepositories(t *testing.T) {
	root := os.Getenv("PATRA_FIXTURES")
	if root == "" {
		t.Skip("NOT TESTED: PATRA_FIXTURES names no folder with recorded answers")
	}
	text, _ := FileFor(at(t, "https://repo.example.org/oai"), Facts{Granularity: "YYYY-MM-DDThh:mm:ssZ", Deleted: "persistent"}, Wanted{Code: "mine", File: "mine.yaml"}, now)
	resolved, err := registry.Resolve(checked(t, text), "records", "HARVEST", nil)
	if err != nil {
		t.Fatal(err)
	}
	reader, err := extract.Compile(resolved.Response.WithDefaults())
	if err != nil {
		t.Fatal(err)
	}
	ever := extract.Asked{Window: window.Window{From: time.Date(1000, 1, 1, 0, 0, 0, 0, time.UTC), To: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}}
	for line := range strings.Lines(strings.TrimSpace(recordedLists)) {
		name, want, _ := strings.Cut(strings.TrimSpace(line), "|")
		body, err := os.ReadFile(filepath.Join(root, "oai-pmh", strings.TrimSpace(name)))
		if err != nil {
			t.Fatal(err)
		}
		page, err := reader.Read(body, ever)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		gone := 0
		for _, r := range page.Records {
			if r.Gone {
				gone++
			}
		}
		if got := fmt.Sprint(len(page.Records), " ", gone, " ", page.Says.Token != ""); got != strings.TrimSpace(want) || len(page.Rejects) > 0 {
			t.Errorf("%s: %s, want %s; rejects %.300v", name, got, want, page.Rejects)
		}
	}
}
