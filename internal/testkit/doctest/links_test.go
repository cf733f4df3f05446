package doctest

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// brokenLinks are the relative links of a page that lead nowhere.
func brokenLinks(p page, exists func(string) bool) (broken []string) {
	for _, l := range p.lines() {
		if l.fence != "" {
			continue
		}
		for _, m := range link.FindAllStringSubmatch(l.text, -1) {
			target, _, _ := strings.Cut(m[1], "#")
			if target == "" || strings.Contains(target, ":") {
				continue // within the page, or not ours
			}
			if file := path.Join(path.Dir(p.path), target); !exists(file) {
				broken = append(broken, fmt.Sprintf("%s:%d: there is no %s", p.path, l.number, file))
			}
		}
	}
	return broken
}

func TestLinksLeadSomewhere(t *testing.T) {
	for _, p := range pages(t) {
		for _, broken := range brokenLinks(p, exists(t)) {
			t.Error(broken)
		}
	}
}

func TestBrokenLinksAreFound(t *testing.T) {
	p := page{"docs/a.md", "[x](b.md) and [y](../c.md#part)\n[web](https://example.org/z) [here](#part)\n```\n[code](d.md)\n```\n[z](e/f.md)\n"}
	got := brokenLinks(p, func(file string) bool { return file == "c.md" })
	want := []string{"docs/a.md:1: there is no docs/b.md", "docs/a.md:6: there is no docs/e/f.md"}
	if !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

// TestDecisionsAreListed: a decision nobody finds is decided again.
func TestDecisionsAreListed(t *testing.T) {
	index := pageAt(t, decisions+"/README.md")
	n := 0
	for _, p := range pages(t) {
		if path.Dir(p.path) != decisions || p.path == index.path {
			continue
		}
		n++
		number, _, _ := strings.Cut(path.Base(p.path), "-")
		if !strings.Contains(index.text, "| ["+number+"](") && !strings.Contains(index.text, "| "+number+" |") {
			t.Errorf("%s does not list %s", index.path, p.path)
		}
	}
	if n == 0 {
		t.Error("no decisions were found")
	}
}
