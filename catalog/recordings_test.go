package catalog_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"testing"

	"github.com/patra-ingest/patra/internal/core/extract"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/spec"
)

// claim says who reads a recorded answer, and what it holds.
type claim struct {
	source, endpoint string
	forTests         bool // the definition lies in testdata/definitions
	count            func(t *testing.T, body []byte) int
	refused          bool
}

// TestRecordings reads real answers of the sources, where somebody has them: a
// folder with one folder per source, each with an index.json. Every file must be
// claimed by a definition that finds as many items as the file has, counted here
// without the program's own readers; every error must be refused.
func TestRecordings(t *testing.T) {
	root := os.Getenv("PATRA_FIXTURES")
	if root == "" {
		t.Skip("PATRA_FIXTURES names no folder with recorded answers")
	}
	var files, items, refused int
	for _, file := range recorded(t, root) {
		c, ok := claims[file]
		if !ok {
			t.Errorf("%s is claimed by no definition", file)
			continue
		}
		files++
		t.Run(file, func(t *testing.T) {
			body, err := os.ReadFile(filepath.Join(root, file))
			if err != nil {
				t.Fatal(err)
			}
			if status := indexed(t, root, file).Status; status >= 300 {
				f := fault.RetryPolicy{}.ClassifyStatus(status)
				if !c.refused || f == nil {
					t.Errorf("status %d: claimed as refused %v, fault %v", status, c.refused, f)
				}
			}
			if c.refused {
				refused++
			}
			items += c.check(t, body)
		})
	}
	t.Logf("%d files, %d items, %d refused", files, items, refused)
}

func (c claim) check(t *testing.T, body []byte) (items int) {
	t.Helper()
	page, err := c.program(t).Read.Read(body, extract.Asked{Window: always, FetchAt: noon})
	if c.refused {
		if err == nil {
			t.Errorf("an error was read as a page of %d items", page.Seen)
		}
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	if want := c.count(t, body); page.Seen+page.Nulls != want || len(page.Rejects) != 0 || page.Outside != 0 {
		t.Errorf("%d items and %d nulls, want %d; %d outside; rejects %+v", page.Seen, page.Nulls, want, page.Outside, page.Rejects)
	}
	if len(page.Records)+page.Duplicate != page.Seen {
		t.Errorf("%d records and %d duplicates of %d items", len(page.Records), page.Duplicate, page.Seen)
	}
	return page.Seen
}

func (c claim) program(t *testing.T) *spec.Program {
	t.Helper()
	if c.forTests {
		return program(t, definition(t, c.source), c.endpoint)
	}
	return program(t, bundled(t, c.source), c.endpoint)
}

// recorded lists every file, whether an index names it or not.
func recorded(t *testing.T, root string) []string {
	t.Helper()
	var files []string
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Base(name) == "index.json" || path.Base(name) == "README.md" {
			return err
		}
		files = append(files, name)
		return nil
	})
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files in %s: %v", len(files), root, err)
	}
	return files
}

// listed is what an index says about a recording.
type listed struct {
	File, URL string
	Status    int // zero: not recorded
}

func indexed(t *testing.T, root, file string) listed {
	t.Helper()
	var index struct{ Files []listed }
	body, err := os.ReadFile(filepath.Join(root, path.Dir(file), "index.json"))
	if err == nil {
		err = json.Unmarshal(body, &index)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range index.Files {
		if entry.File == path.Base(file) {
			return entry
		}
	}
	t.Fatalf("the index does not list %s", file)
	return listed{}
}

// TestClaimsHaveDefinitions keeps the list right where there are no recordings.
func TestClaimsHaveDefinitions(t *testing.T) {
	used := map[string]bool{}
	for file, c := range claims {
		c.program(t)
		if c.count == nil && !c.refused {
			t.Errorf("%s: nobody counts", file)
		}
		used[c.source] = used[c.source] || c.forTests
	}
	definitions, err := filepath.Glob("testdata/definitions/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range definitions {
		if code := filepath.Base(file[:len(file)-len(".yaml")]); !used[code] {
			t.Errorf("%s reads no recording", file)
		}
	}
}
