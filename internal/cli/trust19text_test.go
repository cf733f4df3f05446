package cli

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/patra-ingest/patra/internal/cli/term"
)

func TestTrust19ArithmeticOfADryRunIsForThoseWhoAsk(t *testing.T) {
	d := newDesk(t)
	args := []string{"plan", "crossref", "--offline", "--dry-run", "--from", "2025-03-01", "--to", "2025-03-03"}
	short := d.expect(term.ExitOK, args...)
	d.holds(short.out, "slices over [2025-03-01T00:00:00Z, 2025-03-03T00:00:00Z)")
	d.holds(short.err, "-v shows how the window came about")
	if strings.Contains(short.out, "STEP") {
		t.Errorf("the arithmetic is shown to everybody:\n%s", short.out)
	}
	d.holds(d.expect(term.ExitOK, append(args, "-v")...).out, "STEP", "WHY", "slices over")
	d.holds(d.expect(term.ExitOK, append(args, "-o", "json")...).out, `"explain"`)
}

// The library takes a word in backticks for the name of a flag's value.
func TestTrust19NoBackticksInFlagHelp(t *testing.T) {
	everyCommand(func(c *cobra.Command) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if strings.Contains(f.Usage, "`") {
				t.Errorf("%s --%s: %s", c.CommandPath(), f.Name, f.Usage)
			}
		})
	})
}

// LAG is the time from the watermark to now, and nothing else is called so.
func TestTrust19LagMeansOneThing(t *testing.T) {
	d := harvested(t)
	d.holds(d.run("status").out, "LAG")
	for _, args := range [][]string{{"cursor", "list"}, {"cursor", "show", "1"}} {
		r := d.expect(term.ExitOK, args...)
		if strings.Contains(strings.ToLower(r.out), "lag") {
			t.Errorf("%v: %s", args, r.out)
		}
		d.holds(strings.ToLower(r.out), "seen ahead")
	}
}

func TestTrust19TablesFitTheLine(t *testing.T) {
	d := planned(t)
	file := d.write("crossref.yaml", d.expect(term.ExitOK, "source", "export", "crossref").out)
	commands := append(listCommands(file), [][]string{
		{"task", "show", "3"}, {"run", "show", "3"}, {"plan", "show", "1"}, {"slice", "show", "1"}, {"cursor", "show", "1"}, {"rate", "show", "crossref"}, {"status"},
	}...)
	whole := d.expect(term.ExitOK, "task", "list").out
	for _, columns := range []int{80, 60} {
		t.Setenv("COLUMNS", fmt.Sprint(columns))
		for _, args := range commands {
			if args[0] == "source" && (args[1] == "diff" || args[1] == "validate") {
				continue // no tables, but lines that editors follow
			}
			if args[0] == "status" && columns < 80 {
				continue // made for 80
			}
			for line := range strings.Lines(d.run(args...).out) {
				if n := len([]rune(strings.TrimRight(line, "\n"))); n > columns && !strings.Contains(line, `"`) {
					t.Errorf("patra %s at %d columns: %d in %q", strings.Join(args, " "), columns, n, line)
				}
			}
		}
	}
	t.Setenv("COLUMNS", "")
	if d.expect(term.ExitOK, "task", "list").out != whole {
		t.Error("rows are cut where nobody said how wide a line is")
	}
}

// complete asks for what a shell would be offered.
func (d *desk) complete(args ...string) string {
	d.Helper()
	var out, side bytes.Buffer
	if code := Main(context.Background(), append([]string{"__complete", "--db", "sqlite:" + d.file}, args...), &out, &side); code != term.ExitOK {
		d.Errorf("completing %v: %d %s", args, code, side.String())
	}
	return out.String()
}

func TestTrust19Completion(t *testing.T) {
	d := planned(t)
	d.expect(term.ExitOK, "backfill", "crossref", "--from", "2025-02-01", "--to", "2025-02-03", "--name", "history", "--detach")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"harvest", ""}, "crossref\tCrossref"}, {[]string{"source", "show", ""}, "pubmed"}, {[]string{"coverage", "gaps", "c"}, "crossref"},
		{[]string{"status", ""}, "crossref"}, {[]string{"task", "list", "--source", ""}, "crossref"},
		{[]string{"task", "show", ""}, "3\tcrossref FAILED"}, {[]string{"run", "show", ""}, "1\tcrossref SUCCEEDED"}, {[]string{"batch", "show", ""}, "1\tcrossref run 1"},
		{[]string{"slice", "show", ""}, "1\tcrossref"}, {[]string{"plan", "show", ""}, "2\tcrossref HARVEST"}, {[]string{"cursor", "show", ""}, "1\tcrossref/works"},
		{[]string{"task", "retry", "1", ""}, "3\tcrossref"}, {[]string{"backfill", "show", ""}, "history\tcrossref"}, {[]string{"backfill", "pause", ""}, "history"},
		{[]string{"rate", "show", ""}, "crossref"}, {[]string{"task", "list", "--status", ""}, "SUCCEEDED"}, {[]string{"task", "list", "-o", ""}, "json"},
	} {
		if got := d.complete(c.args...); !strings.Contains(got, c.want) {
			t.Errorf("%v offers\n%s", c.args, got)
		}
	}
	fresh := emptyDesk(t)
	if got := fresh.complete("harvest", ""); !strings.Contains(got, "crossref") {
		t.Errorf("without a database: %s", got)
	}
	fresh.complete("task", "show", "")
	fresh.noFile()
}
