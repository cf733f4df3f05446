package doctest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// cited is a rule as comments and pages write it.
	cited = regexp.MustCompile(`(?:^|[^\pL\pN_-])((?:[DWSC]?§[0-9]+(?:\.[0-9]+)*)|[IFAR][0-9]{1,2})(?:[^\pL\pN_-]|$)`)
	// listed is the row of a rule in docs/rules.md.
	listed = regexp.MustCompile(`(?m)^\| ([DWSC]?§[0-9.]+|[IFAR][0-9]+) \|`)
)

// citedRules finds the rules that the comments of a Go or SQL file, or a page, cite.
// Lines that cite an RFC have paragraphs of their own.
func citedRules(name, text string) (out []string) {
	for l := range strings.Lines(text) {
		switch filepath.Ext(name) {
		case ".go":
			_, l, _ = strings.Cut(l, "//")
		case ".sql":
			_, l, _ = strings.Cut(l, "--")
		}
		if strings.Contains(l, "RFC ") {
			continue
		}
		for l != "" {
			m := cited.FindStringSubmatchIndex(l)
			if m == nil {
				break
			}
			out = append(out, l[m[2]:m[3]])
			l = l[m[3]:]
		}
	}
	return out
}

// unlistedRules are citations that no row of the page of rules explains.
func unlistedRules(page string, citations []string) (out []string) {
	known := map[string]bool{}
	for _, m := range listed.FindAllStringSubmatch(page, -1) {
		known[m[1]] = true
	}
	for _, c := range citations {
		if !known[c] && !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	return out
}

// The documents that first stated the rules are not part of the repository, so each
// rule that somebody may meet in it is explained there.
func TestEveryCitedRuleIsListed(t *testing.T) {
	dir := root(t)
	rules, err := os.ReadFile(filepath.Join(dir, "docs", "rules.md"))
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if slices.Contains(skipped, entry.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if !slices.Contains([]string{".go", ".sql", ".md"}, filepath.Ext(path)) {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		for _, rule := range unlistedRules(string(rules), citedRules(path, string(text))) {
			t.Errorf("%s cites %s, which docs/rules.md does not list", strings.TrimPrefix(path, dir+"/"), rule)
		}
		return nil
	})
	if err != nil || files < 500 {
		t.Errorf("looked at %d files: %v", files, err)
	}
}

func TestCitedRulesAreFound(t *testing.T) {
	got := fmt.Sprint(
		citedRules("a.go", "x := I99 // see I2, (D§5.7), §4.10.5 and F26/A39.\n// RFC 6749 §5.2\n// not UTF8 nor A-1"),
		citedRules("a.sql", "SELECT I1 -- W§3.2\n"),
		unlistedRules("| I2 | x |\n| D§5.7 | y |\n", []string{"I2", "I3", "D§5.7", "I3"}))
	if want := "[I2 D§5.7 §4.10.5 F26 A39] [W§3.2] [I3]"; got != want {
		t.Errorf("found %s, want %s", got, want)
	}
}
