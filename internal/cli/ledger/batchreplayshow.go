package ledger

import (
	"fmt"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/blackbox"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/wording"
)

// toldActions in the order in which they are told.
func toldActions() []record.Action {
	return []record.Action{record.Insert, record.Update, record.Remove, record.Unchanged, record.Touch, record.Stale}
}

// mostShown is how many differences a table has; all of them are in the JSON.
const mostShown = 20

// diffWidth is how much of a value a table shows.
const diffWidth = 36

// showDifferences lists what is not as it was, each with whose doing it is.
func showDifferences(e *term.Env, r *blackbox.Report) {
	var rows [][]any
	for _, d := range r.Differences {
		rows = append(rows, []any{d.What, wording.Shorten(d.Was, diffWidth), wording.Shorten(d.Is, diffWidth), d.Cause})
	}
	for _, c := range r.Records {
		if len(c.Fields) == 0 {
			rows = append(rows, recordRow(c))
		}
		for _, f := range c.Fields {
			name := fmt.Sprintf("%s %s", wording.Shorten(c.ID, 30), f.Name)
			rows = append(rows, []any{name, wording.Shorten(wording.OrDash(string(f.Was)), diffWidth), wording.Shorten(wording.OrDash(string(f.Is)), diffWidth), c.Cause})
		}
	}
	if len(rows) == 0 {
		return
	}
	w := term.NewTable(e)
	w.AppendHeader(term.HeadRow([]string{"what", "was", "is", "cause"}))
	for _, row := range rows[:min(len(rows), mostShown)] {
		w.AppendRow(term.CleanRow(row))
	}
	fmt.Fprintf(e.Out, "\n%s\n", w.Render())
	if len(rows) > mostShown {
		e.Hint("%d more: use -o json", len(rows)-mostShown)
	}
}

func recordRow(c blackbox.RecordChange) []any {
	id := wording.Shorten(c.ID, 46)
	switch c.Change {
	case blackbox.Added:
		return []any{id, "-", "added", c.Cause}
	case blackbox.Missing:
		return []any{id, "there", "missing", c.Cause}
	}
	return []any{id, "content", "other, outside the mapped fields", c.Cause}
}
