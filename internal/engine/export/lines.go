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
	full  [][]byte // blocks of lines, which are written before lines
	lines []byte
}

// Lines of a page are gathered in blocks: one text would be copied again and again while
// it grows.
const (
	blockBytes = 256 << 10
	blockRoom  = 32 << 10 // for the last line of a block
)

// lineSink writes rows as lines, shared out among files.
type lineSink struct {
	order export.Order
	to    Files
	lines *export.Lines
	parts map[string]*part
	page  []*part // that have lines of this page
	spare [][]byte
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
	switch {
	case len(p.lines) == 0:
		l.page = append(l.page, p)
	case len(p.lines) >= blockBytes:
		p.full, p.lines = append(p.full, p.lines), l.newBlock()
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

// newBlock returns an empty block, one that was written if there is any.
func (l *lineSink) newBlock() []byte {
	n := len(l.spare)
	if n == 0 {
		return make([]byte, 0, blockBytes+blockRoom)
	}
	block := l.spare[n-1]
	l.spare = l.spare[:n-1]
	return block
}

func (l *lineSink) flush() error {
	for _, p := range l.page {
		for _, block := range p.full {
			if err := l.to.Append(p.Name, block); err != nil {
				return err
			}
			l.spare = append(l.spare, block[:0])
		}
		p.full = p.full[:0]
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
