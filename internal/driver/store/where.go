package store

import "strings"

// where collects the conditions of a list. Columns are ours, values are bound.
type where struct {
	terms []string
	args  []any
}

// add adds a condition if it is set.
func (w *where) add(set bool, term string, arg any) {
	if set {
		w.terms, w.args = append(w.terms, term), append(w.args, arg)
	}
}

func (w *where) String() string {
	if len(w.terms) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(w.terms, " AND ")
}
