package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/cli/work"
)

// What is asked for differs: the run has its own watermark, the source's does
// not move, and neither hides a gap of the other (D§5.7).
func TestChangedQuestionHasItsOwnWatermark(t *testing.T) {
	d := newDesk(t)
	file, _ := d.simulated("")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	// The simulated source takes words, and finds everything whatever they are.
	d.rows(d.write("words.yaml", d.changed(string(text), "FILTER_JOIN}", "FILTER_JOIN}\n      query: {name: query}",
		"        type: {", "        words: {type: TEXT, ops: [TERM]}\n        type: {",
		"        type_is: {", "        words: {field: words, op: TERM, emit: QUERY, template: \"${v}\"}\n        type_is: {")))
	harvest := func(to string, set ...string) (work.Summary, result) {
		t.Helper()
		args := []string{"harvest", "crossref", "--from", "2025-03-01", "--to", to, "-o", "json"}
		for _, text := range set {
			args = append(args, "--set", text)
		}
		r := d.expect(term.ExitOK, args...)
		var s work.Summary
		d.decode(r.out, &s)
		return s, r
	}
	const mine = "this run has a watermark of its own"
	whole, r := harvest("2025-03-02")
	slower, quiet := harvest("2025-03-02T06:00:00Z", "rate.concurrency=1")
	if strings.Contains(r.err+quiet.err, mine) || whole.CursorTo != "2025-03-02T00:00:00Z" || slower.CursorFrom != whole.CursorTo {
		t.Errorf("%+v %+v\n%s%s", whole, slower, r.err, quiet.err)
	}
	hearts, r := harvest("2025-03-04", `query.where=phrase(words, "heart")`, "rate.concurrency=1")
	d.holds(r.err, mine+`, because what is asked for differs: query.where=phrase(words, "heart")`+"\n")
	if hearts.CursorFrom != "" || hearts.CursorTo != "2025-03-04T00:00:00Z" {
		t.Errorf("%+v", hearts)
	}
	path, r := harvest("2025-03-03", "request.query.select=DOI,indexed")
	d.holds(r.err, mine, ": request.query.select=DOI,indexed")
	if path.CursorFrom != "" || path.CursorTo != "2025-03-03T00:00:00Z" {
		t.Errorf("%+v", path)
	}
	again, _ := harvest("2025-03-02T12:00:00Z")
	if again.CursorFrom != slower.CursorTo || again.CursorTo != "2025-03-02T12:00:00Z" {
		t.Errorf("the watermark of the source moved to %s", again.CursorTo)
	}
	// The hearts of 3 March say nothing about what else there is.
	gaps := d.expect(term.ExitFindings, "coverage", "gaps", "crossref", "--from", "2025-03-01", "--to", "2025-03-04")
	d.holds(gaps.out, "[2025-03-02T12:00:00Z, 2025-03-04)", "never asked for")
	d.holds(gaps.err, "asked for something else than the source does now")
	plan := d.writesNothing("plan", "crossref", "--dry-run", "--set", "request.query.select=DOI")
	if plan.code != term.ExitOK {
		t.Errorf("%+v", plan)
	}
	d.holds(plan.err, mine)
}
