package archive

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/retention"
)

// index tells where the parts of a file are and which ids may be in them. It is
// the last frame of the file, of the kind that readers of zstd skip: one file, one
// rename, one hash over rows and index.
type index struct {
	Parts []part `json:"parts"`
	Audit string `json:"auditHead,omitempty"` // of the audit log, when the file was written
}

type part struct {
	Offset  int64            `json:"offset"`
	Size    int64            `json:"size"`
	Rows    int64            `json:"rows"`
	Lineage retention.Ranges `json:"lineage"`
}

const (
	skippable = 0x184D2A50 // the first of the magic numbers of skippable frames
	endMark   = "PATRAIX1"
	tail      = 4 + len(endMark) // the length of the index, and the mark
)

// encode makes a skippable frame: magic, length, the index, its length again and
// the mark, so that it can be found from the end.
func (i index) encode() []byte {
	text, err := json.Marshal(i)
	if err != nil {
		panic(err) // numbers only
	}
	out := binary.LittleEndian.AppendUint32(nil, skippable)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(text)+tail))
	out = append(out, text...)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(text)))
	return append(out, endMark...)
}

var errNoIndex = errors.New("it has no index at its end: it was cut short or is no archive")

func readIndex(file *os.File) (i index, err error) {
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return i, err
	}
	if size < int64(tail) {
		return i, errNoIndex
	}
	end := make([]byte, tail)
	if _, err := file.ReadAt(end, size-int64(tail)); err != nil {
		return i, err
	}
	length := int64(binary.LittleEndian.Uint32(end))
	if string(end[4:]) != endMark || length > size-int64(tail) {
		return i, errNoIndex
	}
	text := make([]byte, length)
	if _, err := file.ReadAt(text, size-int64(tail)-length); err != nil {
		return i, err
	}
	if err := json.Unmarshal(text, &i); err != nil {
		return i, fmt.Errorf("its index cannot be read: %w", err)
	}
	for _, p := range i.Parts {
		if p.Offset < 0 || p.Size < 0 || p.Offset+p.Size > size {
			return i, errNoIndex
		}
	}
	return i, nil
}

// line is one row of a file.
type line struct {
	Table   retention.Table `json:"table"`
	ID      int64           `json:"id"`
	Cursor  int64           `json:"cursorId,omitempty"`
	Lineage ingest.Lineage  `json:"lineage"`
	Row     json.RawMessage `json:"row"`
}

// encodeLine keeps the columns byte for byte: they are compared with the database.
func encodeLine(r retention.Row) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(line{r.Table, r.ID, r.CursorID, r.Lineage, r.Columns}); err != nil {
		return nil, fmt.Errorf("row %d of %s: %w", r.ID, r.Table, err)
	}
	return out.Bytes(), nil
}

func decodeLine(text []byte) (retention.Row, error) {
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		return retention.Row{}, fmt.Errorf("a line cannot be read: %w", err)
	}
	return retention.Row{Table: l.Table, ID: l.ID, CursorID: l.Cursor, Lineage: l.Lineage, Columns: l.Row}, nil
}
