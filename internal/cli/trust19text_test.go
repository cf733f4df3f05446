package cli

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/daemon"
)

func TestTrust19ArithmeticOfADryRunIsForThoseWhoAsk(t *testing.T) {
	d := newDesk(t)
	args := []string{"plan", "crossref", "--offline", "--dry-run", "--from", "2025-03-01", "--to", "2025-03-03"}
	short := d.expect(exitOK, args...)
	d.holds(short.out, "slices over [2025-03-01T00:00:00Z, 2025-03-03T00:00:00Z)")
	d.holds(short.err, "-v shows how the window came about")
	if strings.Contains(short.out, "STEP") {
		t.Errorf("the arithmetic is shown to everybody:\n%s", short.out)
	}
	d.holds(d.expect(exitOK, append(args, "-v")...).out, "STEP", "WHY", "slices over")
	d.holds(d.expect(exitOK, append(args, "-o", "json")...).out, `"explain"`)
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
		r := d.expect(exitOK, args...)
		if strings.Contains(strings.ToLower(r.out), "lag") {
			t.Errorf("%v: %s", args, r.out)
		}
		d.holds(strings.ToLower(r.out), "seen ahead")
	}
}

func TestTrust19TablesFitTheLine(t *testing.T) {
	d := planned(t)
	file := d.write("crossref.yaml", d.expect(exitOK, "source", "export", "crossref").out)
	commands := append(listCommands(file), [][]string{
		{"task", "show", "3"}, {"run", "show", "3"}, {"plan", "show", "1"}, {"slice", "show", "1"}, {"cursor", "show", "1"}, {"rate", "show", "crossref"}, {"status"},
	}...)
	whole := d.expect(exitOK, "task", "list").out
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
	if d.expect(exitOK, "task", "list").out != whole {
		t.Error("rows are cut where nobody said how wide a line is")
	}
}

func TestWrapCell(t *testing.T) {
	for _, c := range []struct {
		cell  string
		width int
		want  string
	}{
		{"short", 10, "short"}, {"two words", 5, "two\nwords"}, {"abcdefghij", 4, "abcd\nefgh\nij"}, {"a,b,c,d,e", 4, "a,b,\nc,d,\ne"}, {"one\ntwo three", 5, "one\ntwo\nthree"}, {"", 3, ""},
	} {
		if got := wrapCell(c.cell, c.width); got != c.want {
			t.Errorf("%q at %d: %q", c.cell, c.width, got)
		}
	}
}

// A mail of cron has a line a minute, and the last state.
func TestTrust19ProgressOffATerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		b := newBar(&env{err: &out}, "s")
		p := view.Progress{PlanID: 1, Total: 10}
		for range 150 {
			<-time.After(time.Second)
			p.Stats.Seen++
			b.update(p)
		}
		p.Done = 10
		b.stop(p)
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(lines) != 3 || !strings.Contains(lines[2], "10/10 slices") || !strings.Contains(lines[2], "done in 2m29s") {
			t.Errorf("two and a half minutes: %q", lines)
		}
	})
}

// Items that are read twice are records once, and the last frame is that of the end.
func TestTrust19ProgressCountsRecordsOnce(t *testing.T) {
	twice := ingest.RunStats{BatchStats: ingest.BatchStats{Seen: 20, Inserted: 10, Unchanged: 10}}
	line := progressLine("s", view.Progress{}, view.Progress{PlanID: 1, Total: 1, Done: 1, Stats: twice}, time.Second)
	if !strings.Contains(line, "20 read, 10 stored") {
		t.Error(line)
	}
	last := view.Progress{PlanID: 3, Total: 7, Done: 7}
	if got := lastProgress(daemon.Harvested{Continued: []view.Progress{last}}); got.PlanID != 3 {
		t.Errorf("a harvest that only continued ends with %+v", got)
	}
	if got := lastProgress(daemon.Harvested{Plan: view.Progress{PlanID: 4, Total: 1}, Continued: []view.Progress{last}}); got.PlanID != 4 {
		t.Errorf("%+v", got)
	}
}

func TestTrust19TombstonesAndCancelledHaveTheirNames(t *testing.T) {
	s := summary{Source: "s", Slices: map[string]int{"SUCCEEDED": 3, "CANCELLED": 2, "PARTIAL": 1}, Replaced: 1}
	s.Stats.Inserted, s.Stats.Gone = 5, 4
	text := printed(t, "table", func(e *env) error { return e.printSummary(s) })
	for _, part := range []string{"3 covered, 0 failed, 2 cancelled, 0 other; 1 were cut into smaller ones", "5 new, 0 updated, 0 unchanged, 4 gone, 0 quarantined"} {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
	cancelled := summary{Source: "s", Slices: map[string]int{"SUCCEEDED": 3, "CANCELLED": 2}}
	if err := cancelled.verdict(); err == nil || !strings.Contains(err.Error(), "2 slices cancelled by somebody") || exitCode(t.Context(), err) != exitPartial {
		t.Errorf("%v", err)
	}
}

// complete asks for what a shell would be offered.
func (d *desk) complete(args ...string) string {
	d.Helper()
	var out, side bytes.Buffer
	if code := Main(context.Background(), append([]string{"__complete", "--db", "sqlite:" + d.file}, args...), &out, &side); code != exitOK {
		d.Errorf("completing %v: %d %s", args, code, side.String())
	}
	return out.String()
}

func TestTrust19Completion(t *testing.T) {
	d := planned(t)
	d.expect(exitOK, "backfill", "crossref", "--from", "2025-02-01", "--to", "2025-02-03", "--name", "history", "--detach")
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
	fresh := newDesk(t)
	if got := fresh.complete("harvest", ""); !strings.Contains(got, "crossref") {
		t.Errorf("without a database: %s", got)
	}
	fresh.complete("task", "show", "")
	fresh.noFile()
}
