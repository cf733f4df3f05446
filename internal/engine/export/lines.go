package export

import (
	"fmt"
	"maps"
	"slices"

	"github.com/patra-ingest/patra/internal/core/export"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/crash"
)

// part is one file, with the lines of the page that is being read.
type part struct {
	export.File
	lines []byte
}

// lineSink writes rows as lines, shared out among files.
type lineSink struct {
	order export.Order
	to    Files
	lines *export.Lines
	parts map[string]*part
	page  []*part // that have lines of this page
}

func newLineSink(o export.Order, to Files) *lineSink {
	return &lineSink{order: o, to: to, lines: export.NewLines(o.Form), parts: map[string]*part{}}
}

// begin makes a file also for an export without records.
func (l *lineSink) begin() error {
	if l.order.Cut != export.Whole {
		return nil
	}
	if _, err := l.partNamed(""); err != nil {
		return err
	}
	return l.flush()
}

func (l *lineSink) take(row *export.Row) error {
	p, err := l.partNamed(l.order.Cut.Part(row.UpdatedAt))
	if err != nil {
		return err
	}
	if len(p.lines) == 0 {
		l.page = append(l.page, p)
	}
	if p.lines, err = l.lines.Append(p.lines, row); err != nil {
		return err
	}
	p.Add(row)
	return nil
}

// partNamed finds the file of a part, or begins it.
func (l *lineSink) partNamed(name string) (*part, error) {
	if p := l.parts[name]; p != nil {
		return p, nil
	}
	if len(l.parts) == mostFiles {
		return nil, fmt.Errorf("%w: more than %d files are needed: cut by month or year", fault.ErrInvalid, mostFiles)
	}
	p := &part{File: export.File{Name: l.order.FileOf(name)}}
	l.parts[name] = p
	if p.lines = l.lines.Head(nil); len(p.lines) > 0 || name == "" {
		l.page = append(l.page, p)
	}
	return p, nil
}

func (l *lineSink) flush() error {
	for _, p := range l.page {
		if err := l.to.Append(p.Name, p.lines); err != nil {
			return err
		}
		if p.lines = p.lines[:0]; len(l.parts) > 1 {
			p.lines = nil // many files, each with a buffer, would be much
		}
	}
	l.page = l.page[:0]
	crash.At(crash.Exporting)
	return nil
}

// finish makes the files durable, and then writes the manifest.
func (l *lineSink) finish(m *export.Manifest) error {
	sealed, err := l.to.Seal()
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(l.parts)) {
		p := l.parts[name]
		p.File.Bytes, p.File.SHA256 = sealed[p.Name].Bytes, sealed[p.Name].SHA256
		m.Files = append(m.Files, p.File)
		m.Records, m.Gone, m.Bytes = m.Records+p.Records, m.Gone+p.Gone, m.Bytes+p.File.Bytes
	}
	text, err := m.Encode()
	if err != nil {
		return err
	}
	return l.to.Finish(text)
}
