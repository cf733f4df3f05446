package doctest

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// page is one Markdown file.
type page struct {
	path string // relative to the repository, with slashes
	text string
}

// line is one line of a page, with what Markdown makes of it.
type line struct {
	number int
	text   string
	fence  string // language of the code block it stands in; empty outside
}

// plain is the language of a code block that names none.
const plain = "plain"

// lines splits a page. The fences themselves are left out.
func (p page) lines() (out []line) {
	fence := ""
	number := 0
	for text := range strings.Lines(p.text) {
		number++
		text = strings.TrimRight(text, "\r\n")
		if mark, ok := strings.CutPrefix(strings.TrimSpace(text), "```"); ok {
			switch {
			case fence != "":
				fence = ""
			case mark == "":
				fence = plain
			default:
				fence = mark
			}
			continue
		}
		out = append(out, line{number, text, fence})
	}
	return out
}

// root is the folder with go.mod.
func root(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	for err == nil {
		if _, missing := os.Stat(filepath.Join(dir, "go.mod")); missing == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	t.Fatalf("no go.mod above the test: %v", err)
	return ""
}

// skipped are folders that hold no pages and no packages of ours.
var skipped = []string{".git", "testdata", "bin", "data"}

// pages reads every Markdown file of the repository.
func pages(t *testing.T) (out []page) {
	t.Helper()
	dir := root(t)
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && slices.Contains(skipped, entry.Name()) {
			return filepath.SkipDir
		}
		if filepath.Ext(path) != ".md" {
			return nil
		}
		text, err := os.ReadFile(path)
		out = append(out, page{relative(dir, path), string(text)})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, expected := range []string{"README.md", architecture, stateMachines, decisions + "/README.md"} {
		if !slices.ContainsFunc(out, func(p page) bool { return p.path == expected }) {
			t.Fatalf("%s was not found among %d pages", expected, len(out))
		}
	}
	return out
}

const (
	architecture  = "docs/architecture.md"
	stateMachines = "docs/state-machines.md"
	decisions     = "docs/decisions"
)

func pageAt(t *testing.T, path string) page {
	t.Helper()
	all := pages(t)
	at := slices.IndexFunc(all, func(p page) bool { return p.path == path })
	if at < 0 {
		t.Fatalf("there is no page %s", path)
	}
	return all[at]
}

func relative(dir, path string) string {
	rest, err := filepath.Rel(dir, path)
	if err != nil {
		return path
	}
	return filepath.ToSlash(rest)
}

// exists asks for a file or folder of the repository.
func exists(t *testing.T) func(path string) bool {
	dir := root(t)
	return func(path string) bool {
		_, err := os.Stat(filepath.Join(dir, filepath.FromSlash(path)))
		return err == nil
	}
}
