package kernel

import "strings"

// Where collects the conditions of a list. Columns are ours, values are bound.
type Where struct {
	Terms []string
	Args  []any
}

// Add adds a condition if it is set.
func (w *Where) Add(set bool, term string, arg any) {
	if set {
		w.Terms, w.Args = append(w.Terms, term), append(w.Args, arg)
	}
}

func (w *Where) String() string {
	if len(w.Terms) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(w.Terms, " AND ")
}

// UnionOf repeats a statement: one question about many instead of one about each.
func UnionOf(statement string, n int) string {
	return statement + strings.Repeat(" UNION ALL "+statement, n-1)
}
