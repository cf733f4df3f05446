package export

import "github.com/patra-ingest/patra/internal/core/export"

// Table is a table that others query.
type Table interface {
	// Put takes records in the place of those that have the same id, and removes those
	// that are gone.
	Put(records []export.Record) error
	// Finish makes all of it visible at once, with what the manifest says.
	Finish(m *export.Manifest) error
}

// tableSink hands rows to a table, a page at a time.
type tableSink struct {
	form export.Form
	to   Table
	page []export.Record
	sum  export.File
}

func (t *tableSink) begin() error { return nil }

func (t *tableSink) take(row *export.Row) error {
	r, err := t.form.NewRecord(row)
	if err != nil {
		return err
	}
	t.page = append(t.page, r)
	t.sum.Add(row)
	return nil
}

func (t *tableSink) flush() error {
	err := t.to.Put(t.page)
	clear(t.page)
	t.page = t.page[:0]
	return err
}

func (t *tableSink) finish(m *export.Manifest) error {
	m.Records, m.Gone = t.sum.Records, t.sum.Gone
	return t.to.Finish(m)
}
