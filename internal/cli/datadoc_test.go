package cli

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
)

// The page shows what the program prints, in this order, on a desk with a harvest of
// a few days; wall-clock instants, cursors and sizes apart, which hold one.
func TestDataPageIsTrue(t *testing.T) {
	page, err := os.ReadFile("../../docs/data.md")
	if err != nil {
		t.Fatal(err)
	}
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
	queriesRun(t, string(page))
}

// queriesRun runs the SQL of the page on the file that its commands made.
func queriesRun(t *testing.T, page string) {
	t.Helper()
	_, sql, _ := strings.Cut(page, "```sql\n")
	sql, _, _ = strings.Cut(sql, "```")
	queries := strings.Split(strings.TrimSpace(sql), ";\n")
	if len(queries) < 5 {
		t.Fatalf("only %d queries were found", len(queries))
	}
	for _, query := range queries {
		if rows := askTable(t, "works.db", query); len(rows) == 0 {
			t.Errorf("%s finds nothing", query)
		}
	}
}
