package registry

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the .want files")

// check is what a user gets to see: problems of the text, else of the merge.
func check(file string, text []byte) (*Source, Problems) {
	src, _, err := Decode(file, text)
	if err != nil {
		var problems Problems
		if !errors.As(err, &problems) {
			return nil, Problems{{Message: "not Problems: " + err.Error()}}
		}
		return nil, problems
	}
	return src, src.Validate()
}

func TestBadFiles(t *testing.T) {
	for _, name := range listFiles(t, "testdata/bad/*.yaml") {
		t.Run(filepath.Base(name), func(t *testing.T) {
			_, problems := check(filepath.Base(name), read(t, name))
			if len(problems) == 0 {
				t.Fatal("accepted")
			}
			compare(t, strings.TrimSuffix(name, ".yaml")+".want", problems.Error()+"\n")
		})
	}
}

func TestGoodFiles(t *testing.T) {
	for _, name := range listFiles(t, "testdata/good/*.yaml") {
		t.Run(filepath.Base(name), func(t *testing.T) {
			src, problems := check(filepath.Base(name), read(t, name))
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			var out strings.Builder
			for endpoint := range src.Endpoints {
				if len(src.Endpoints) > 1 && endpoint != "works" {
					continue
				}
				for _, operation := range []string{"HARVEST", "BACKFILL"} {
					resolved, err := Resolve(src, endpoint, operation, nil)
					if err != nil {
						t.Fatal(err)
					}
					out.WriteString("# " + endpoint + " " + operation + "\n")
					for _, e := range resolved.Explain() {
						out.WriteString(e.Path + " = " + e.Value + "  <- " + e.Origin + "\n")
					}
				}
			}
			compare(t, strings.TrimSuffix(name, ".yaml")+".want", out.String())
		})
	}
}

func listFiles(t *testing.T, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: %v, %d files", pattern, err, len(names))
	}
	return names
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func compare(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want := string(read(t, name)); got != want {
		t.Errorf("%s (run with -update if this is right):\n--- got\n%s--- want\n%s", name, got, want)
	}
}

// decode is for tests that need a good source.
func decode(t *testing.T, text string) *Source {
	t.Helper()
	src, _, err := Decode("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return src
}
