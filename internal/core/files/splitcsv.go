package files

import (
	"bytes"

	"github.com/patra-ingest/patra/internal/core/document"
)

// rowScanner finds the rows of CSV. Line breaks within quotes are no end of a row.
type rowScanner struct {
	csv    document.CSV
	header []byte
}

func (r *rowScanner) open(data []byte, last bool) (int, bool, error) {
	at, more := afterMark(data, last)
	if more || r.csv.NoHeader {
		return at, more, nil
	}
	_, end, more, done, err := r.next(data, at, true, last)
	if more || done || err != nil {
		return 0, true, err // a file without a header is cut
	}
	r.header = bytes.Clone(data[at:end])
	return end, false, nil
}

func (r *rowScanner) next(data []byte, from int, _, last bool) (begin, end int, more, done bool, err error) {
	for at := from; ; {
		if at >= len(data) {
			return 0, 0, !last, last, nil
		}
		end, more := r.endOfRow(data, at, last)
		if more {
			return 0, 0, true, false, nil
		}
		comment := r.csv.Comment != "" && bytes.HasPrefix(data[at:end], []byte(r.csv.Comment))
		if !comment && len(bytes.Trim(data[at:end], "\r\n")) > 0 {
			return at, end, false, false, nil
		}
		at = end
	}
}

// endOfRow returns where the row ends that begins at a place, with its line break.
func (r *rowScanner) endOfRow(data []byte, at int, last bool) (end int, more bool) {
	comment := r.csv.Comment != "" && bytes.HasPrefix(data[at:], []byte(r.csv.Comment))
	quoted := false
	for i := at; i < len(data); i++ {
		switch data[i] {
		case '"':
			quoted = !quoted && !comment
		case '\n':
			if !quoted {
				return i + 1, false
			}
		}
	}
	return len(data), !last || quoted
}

func (r *rowScanner) wrap(items []byte) []byte {
	out := make([]byte, 0, len(r.header)+len(items))
	out = append(out, r.header...)
	return append(out, items...)
}
