package cli

import (
	"fmt"

	"github.com/patra-ingest/patra/internal/core/blackbox"
	"github.com/patra-ingest/patra/internal/core/record"
)

// actions in the order in which they are told.
func actions() []record.Action {
	return []record.Action{record.Insert, record.Update, record.Remove, record.Unchanged, record.Touch, record.Stale}
}

// mostShown is how many differences a table has; all of them are in the JSON.
const mostShown = 20

// diffWidth is how much of a value a table shows.
const diffWidth = 36

// showDifferences lists what is not as it was, each with whose doing it is.
func (e *env) showDifferences(r *blackbox.Report) {
	var rows [][]any
	for _, d := range r.Differences {
		rows = append(rows, []any{d.What, short(d.Was, diffWidth), short(d.Is, diffWidth), d.Cause})
	}
	for _, c := range r.Records {
		if len(c.Fields) == 0 {
			rows = append(rows, recordRow(c))
		}
		for _, f := range c.Fields {
			name := fmt.Sprintf("%s %s", short(c.ID, 30), f.Name)
			rows = append(rows, []any{name, short(dash(string(f.Was)), diffWidth), short(dash(string(f.Is)), diffWidth), c.Cause})
		}
	}
	if len(rows) == 0 {
		return
	}
	w := newTable(e)
	w.AppendHeader(cells([]string{"what", "was", "is", "cause"}))
	for _, row := range rows[:min(len(rows), mostShown)] {
		w.AppendRow(clean(row))
	}
	fmt.Fprintf(e.out, "\n%s\n", w.Render())
	if len(rows) > mostShown {
		e.hint("%d more: use -o json", len(rows)-mostShown)
	}
}

func recordRow(c blackbox.RecordChange) []any {
	id := short(c.ID, 46)
	switch c.Change {
	case blackbox.Added:
		return []any{id, "-", "added", c.Cause}
	case blackbox.Missing:
		return []any{id, "there", "missing", c.Cause}
	}
	return []any{id, "content", "other, outside the mapped fields", c.Cause}
}
