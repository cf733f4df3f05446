package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The page shows what the program prints, wall-clock instants apart. The file of the
// source is mended before it is applied.
func TestQuarantinePageIsTrue(t *testing.T) {
	s := newShelf(t, "")
	file := filepath.Join(s.dir, "shelf.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, papersFile, s.address, mendedTitle), 0o600); err != nil {
		t.Fatal(err)
	}
	clock := regexp.MustCompile(`20(2[6-9]|[3-9]\d)-\d\d-\d\d(T\d\d:\d\d:\d\dZ| \d\d:\d\dZ)`)
	tell := func(text string) string { return clock.ReplaceAllString(text, "<then>") }
	all := examples(t, "../../docs/quarantine.md")
	if len(all) < 6 {
		t.Fatalf("only %d examples were found", len(all))
	}
	for _, e := range all {
		args := append([]string{}, e.args...)
		for i, arg := range args {
			if arg == "shelf.yaml" {
				args[i] = file
			}
		}
		var out, err bytes.Buffer
		Main(t.Context(), append(args, "-q", "--db", s.database), &out, &err)
		got := strings.ReplaceAll(out.String(), file, "shelf.yaml")
		if want := tell(e.out); tell(got) != want || want == "" {
			t.Errorf("patra %s prints\n%s%s\nthe page says\n%s", strings.Join(e.args, " "), tell(got), err.String(), want)
		}
	}
}
