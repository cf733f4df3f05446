package cli

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/view"
)

// ledgerCommands are all commands that need a database and only read it.
func ledgerCommands() [][]string {
	return [][]string{
		{"task", "list"}, {"task", "show", "1"},
		{"run", "list"}, {"run", "show", "1"},
		{"batch", "list"}, {"batch", "show", "1"},
		{"cursor", "list"}, {"cursor", "list", "crossref"}, {"cursor", "show", "1"}, {"cursor", "history", "1"}, {"cursor", "verify"}, {"cursor", "verify", "1"},
		{"coverage", "show"}, {"coverage", "show", "crossref"}, {"coverage", "gaps", "crossref"},
	}
}

func TestMissingDatabase(t *testing.T) {
	for _, args := range ledgerCommands() {
		for _, more := range []string{"--output=table", "--output=json"} {
			d := emptyDesk(t)
			r := d.expect(term.ExitNotFound, append(args, more)...)
			if r.out != "" {
				t.Errorf("%v: output %q", args, r.out)
			}
			d.holds(r.err, d.file, "patra harvest")
			d.noFile()
		}
	}
}

func TestReadingWritesNothing(t *testing.T) {
	d := harvested(t)
	before := d.dump()
	for _, args := range append(ledgerCommands(), []string{"source", "list"}, []string{"source", "show", "crossref"}) {
		for _, output := range []string{"table", "json"} {
			r := d.run(append(args, "-o", output)...)
			want := term.ExitOK
			if args[1] == "gaps" {
				want = term.ExitFindings
			}
			if r.code != want || r.out == "" {
				t.Errorf("%v -o %s: exit code %d\n%s%s", args, output, r.code, r.out, r.err)
			}
			if output == "json" && !json.Valid([]byte(r.out)) {
				t.Errorf("%v: not one JSON document:\n%s", args, r.out)
			}
			if output == "table" && !slices.Contains(args, "batch") { // evidence has long lines
				d.fits(r.out)
			}
		}
	}
	if d.dump() != before {
		t.Error("a command that only reads changed the database")
	}
}

func TestIDs(t *testing.T) {
	d := harvested(t)
	for _, args := range [][]string{{"task", "show"}, {"run", "show"}, {"batch", "show"}, {"cursor", "show"}, {"cursor", "history"}, {"cursor", "verify"}} {
		for id, code := range map[string]int{"0": term.ExitUsage, "x": term.ExitUsage, "1.5": term.ExitUsage, "99999999999999999999": term.ExitUsage, "4711": term.ExitNotFound} {
			r := d.expect(code, append(args, id)...)
			if !strings.Contains(r.err, args[0]) || !strings.Contains(r.err, id) {
				t.Errorf("%v %s: %s", args, id, r.err)
			}
			if r.out != "" {
				t.Errorf("%v %s: output %q", args, id, r.out)
			}
		}
		if args[1] != "verify" {
			d.expect(term.ExitUsage, args...)
		}
		d.expect(term.ExitUsage, append(args, "1", "2")...)
	}
}

func TestFilters(t *testing.T) {
	d := harvested(t)
	ids := func(noun string, flags ...string) []int64 {
		t.Helper()
		var rows []struct{ ID int64 }
		d.decode(d.expect(term.ExitOK, append([]string{noun, "list", "-o", "json"}, flags...)...).out, &rows)
		var out []int64
		for _, r := range rows {
			out = append(out, r.ID)
		}
		return out
	}
	for _, c := range []struct {
		args string
		want []int64
	}{
		{"task", []int64{4, 3, 2, 1}},
		{"task --status FAILED", []int64{3}},
		{"task --status failed", []int64{3}},
		{"task --source crossref --plan 1 --before 3", []int64{2, 1}},
		{"task --plan 2", nil},
		{"task --limit 1", []int64{4}},
		{"run --task 2", []int64{2}},
		{"run --status SUCCEEDED --limit 2", []int64{4, 2}},
		{"run --plan 1 --before 2", []int64{1}},
		{"batch --run 2", []int64{6, 5, 4}},
		{"batch --task 1 --limit 2", []int64{3, 2}},
		{"batch --status FAILED --source crossref", []int64{7}},
	} {
		words := strings.Fields(c.args)
		if got := ids(words[0], words[1:]...); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.args, got, c.want)
		}
	}
	for _, bad := range []string{
		"task --status DONE", "run --status QUEUED", "batch --status X", "task --limit 0", "task --limit -1", "task --limit 10001", "task --limit x",
		"task --plan 0", "task --plan -1", "run --task 0", "batch --run x", "task --before 0", "task --run 1", "task extra",
	} {
		words := strings.Fields(bad)
		r := d.expect(term.ExitUsage, append([]string{words[0], "list"}, words[1:]...)...)
		if len(words) > 1 && !strings.Contains(r.err, strings.TrimPrefix(words[1], "--")) {
			t.Errorf("%s: %s", bad, r.err)
		}
	}
}

func (d *desk) decode(text string, into any) {
	d.Helper()
	if err := decodeJSON(text, into); err != nil {
		d.Fatalf("%v in\n%s", err, text)
	}
}

// decodeJSON reads what a command printed; into a slice, the items of a list.
func decodeJSON(text string, into any) error {
	if reflect.TypeOf(into).Elem().Kind() != reflect.Slice {
		return json.Unmarshal([]byte(text), into)
	}
	var page view.List[json.RawMessage]
	if err := json.Unmarshal([]byte(text), &page); err != nil {
		return err
	}
	items, err := json.Marshal(page.Items)
	if err != nil {
		return err
	}
	return json.Unmarshal(items, into)
}

// emptyList is what a list prints for programs when nothing is in it.
const emptyList = "{\n  \"items\": [],\n  \"more\": false,\n  \"next\": null\n}\n"

func TestNextPage(t *testing.T) {
	d := harvested(t)
	first := d.expect(term.ExitOK, "task", "list", "--limit", "2")
	d.holds(first.err, "--before 3")
	if quiet := d.expect(term.ExitOK, "task", "list", "--limit", "2", "-q"); quiet.err != "" {
		t.Errorf("quiet: %q", quiet.err)
	}
	if last := d.expect(term.ExitOK, "task", "list", "--limit", "2", "--before", "3"); last.err != "" {
		t.Errorf("the last page hints at another one: %q", last.err)
	}
	d.holds(d.expect(term.ExitOK, "run", "show", "1", "--limit", "2").err, "patra batch list --run 1 --before 2")
	d.holds(d.expect(term.ExitOK, "cursor", "history", "1", "--limit", "2").err, "--after 2")
	if rest := d.expect(term.ExitOK, "cursor", "history", "1", "--after", "2", "--limit", "3"); rest.err != "" {
		t.Errorf("the last page hints at another one: %q", rest.err)
	}
	d.holds(d.expect(term.ExitOK, "task", "list", "--plan", "9").err, "no tasks")
}
