package doctest

import (
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// named is a path as pages write it: it starts with a folder of ours.
var named = regexp.MustCompile(`(?:^|[^\w./-])((?:cmd|catalog|internal|docs|scripts|\.ci)/[\w./-]*)`)

// missingPaths are paths a page names that do not exist.
func missingPaths(p page, exists func(string) bool) (missing []string) {
	for _, l := range p.lines() {
		for _, m := range named.FindAllStringSubmatch(l.text, -1) {
			if file := path.Clean(strings.TrimRight(m[1], ".")); !exists(file) {
				missing = append(missing, fmt.Sprintf("%s:%d: there is no %s", p.path, l.number, file))
			}
		}
	}
	return missing
}

// Links of pages below docs are relative to the page and start with none of our
// folders; TestLinksLeadSomewhere looks at those.
func TestNamedPathsExist(t *testing.T) {
	for _, p := range pages(t) {
		for _, missing := range missingPaths(p, exists(t)) {
			t.Error(missing)
		}
	}
}

func TestMissingPathsAreFound(t *testing.T) {
	p := page{"docs/a.md", "`internal/core/gone`, internal/core/here. (cmd/patra/x.go)\nhttps://example.org/docs/x and catalog/*.yaml\n```\n go run ./cmd/y\n```\n"}
	got := missingPaths(p, func(file string) bool { return file == "internal/core/here" || file == "catalog" })
	want := []string{"docs/a.md:1: there is no internal/core/gone", "docs/a.md:1: there is no cmd/patra/x.go"}
	if !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

// unnamed are folders that a text does not name in code quotes.
func unnamed(text string, folders []string) (out []string) {
	for _, folder := range folders {
		if !strings.Contains(text, "`"+folder+"`") {
			out = append(out, folder)
		}
	}
	return out
}

// TestEveryRoomIsInThePicture: the list of rooms is worth something only while
// it is complete.
func TestEveryRoomIsInThePicture(t *testing.T) {
	rooms := packages(t)
	if len(rooms) < 20 {
		t.Fatalf("only %d packages were found: %v", len(rooms), rooms)
	}
	for _, room := range unnamed(pageAt(t, architecture).text, rooms) {
		t.Errorf("%s does not name package %s: add its line to the table of rooms", architecture, room)
	}
}

func TestUnnamedRoomsAreFound(t *testing.T) {
	got := unnamed("| `internal/core/window` | … |", []string{"internal/core/window", "internal/core/win", "internal/core"})
	if !slices.Equal(got, []string{"internal/core/win", "internal/core"}) {
		t.Errorf("found %q", got)
	}
}

// packages are the folders with Go files.
func packages(t *testing.T) (out []string) {
	t.Helper()
	dir := root(t)
	err := filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && slices.Contains(skipped, entry.Name()) {
			return filepath.SkipDir
		}
		if filepath.Ext(file) == ".go" {
			out = append(out, path.Dir(relative(dir, file)))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
