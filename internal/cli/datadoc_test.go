package cli

import (
	"regexp"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
)

// The page shows what the program prints, in this order, on a desk with a harvest of
// a few days; wall-clock instants, cursors and sizes apart, which hold one.
func TestDataPageIsTrue(t *testing.T) {
	all := examples(t, "../../docs/data.md")
	if len(all) < 6 {
		t.Fatalf("only %d examples were found", len(all))
	}
	varies := regexp.MustCompile(`20(2[6-9]|[3-9]\d)-\d\d-\d\dT\d\d:\d\d:\d\dZ|px1-\S+|\d+(\.\d)?KB`)
	tell := func(text string) string { return strings.TrimSpace(varies.ReplaceAllString(text, "<varies>")) }
	d := harvested(t)
	t.Chdir(d.dir)
	for _, e := range all {
		got := d.expect(term.ExitOK, append(e.args, "-q")...).out
		if want := tell(e.out); !strings.HasPrefix(tell(got), want) || want == "" {
			t.Errorf("patra %s prints\n%s\nthe page says\n%s", strings.Join(e.args, " "), got, e.out)
		}
	}
}
