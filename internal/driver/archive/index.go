package archive

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

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

// encodeFrame makes a skippable frame: magic, length, the index, its length again and
// the mark, so that it can be found from the end.
func (i index) encodeFrame() []byte {
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

// maxIndex is the most an index may take: over 100,000 parts, which is 25 GB of
// text. It is held against the length that a file claims before any memory is
// taken for it (I14).
const maxIndex = 16 << 20

// leastPart is the size of the smallest frame of zstd that holds anything.
const leastPart = 9

// readIndex reads the index of a file. The file may be a stranger's: every number in
// it is compared with the size of the file before it is used (D§5.30).
func readIndex(file io.ReaderAt, size int64) (i index, err error) {
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
	if length > maxIndex {
		return i, fmt.Errorf("its index claims %d bytes, more than the %d that one may have", length, maxIndex)
	}
	text := make([]byte, length)
	if _, err := file.ReadAt(text, size-int64(tail)-length); err != nil {
		return i, err
	}
	if err := i.decodeText(text, size-int64(tail)-length); err != nil {
		return index{}, fmt.Errorf("its index cannot be read: %w", err)
	}
	return i, nil
}

// decodeText reads the text of an index whose parts end before an offset. Parts are
// held against it one by one: a list of a million that claim nothing would cost
// more memory than its text.
func (i *index) decodeText(text []byte, before int64) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if err := expectToken(d, json.Delim('{')); err != nil {
		return err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		switch name {
		case "parts":
			err = i.decodeParts(d, before)
		case "auditHead":
			err = d.Decode(&i.Audit)
		default:
			err = fmt.Errorf("%.40q does not belong into it", name)
		}
		if err != nil {
			return err
		}
	}
	if err := expectToken(d, json.Delim('}')); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more after its end")
	}
	return nil
}

func (i *index) decodeParts(d *json.Decoder, before int64) error {
	if i.Parts != nil {
		return errors.New("its parts are listed twice")
	}
	i.Parts = []part{}
	token, err := d.Token()
	if err != nil || token == nil { // of a file without rows
		return err
	}
	if token != json.Delim('[') {
		return fmt.Errorf("its parts are no list but %.40q", fmt.Sprint(token))
	}
	end := int64(0)
	for d.More() {
		var p part
		if err := d.Decode(&p); err != nil {
			return err
		}
		if end, err = p.checkBounds(end, before); err != nil {
			return fmt.Errorf("part %d: %w", len(i.Parts), err)
		}
		i.Parts = append(i.Parts, p)
	}
	return expectToken(d, json.Delim(']'))
}

// checkBounds holds a part against the end of the one before it and against where
// the index begins, and gives its own end. Parts follow one another without a gap,
// so no byte of a file is unpacked twice. Nothing is added before it is known to be
// small: sizes of 2^62 must not wrap round.
func (p part) checkBounds(after, before int64) (end int64, err error) {
	switch {
	case p.Offset != after:
		return 0, fmt.Errorf("it begins at byte %d, the one before it ends at %d", p.Offset, after)
	case p.Size < leastPart || p.Size > before-after:
		return 0, fmt.Errorf("it claims %d bytes, the file has %d for it", p.Size, before-after)
	case p.Size > maxPart:
		return 0, fmt.Errorf("it claims %d bytes, more than the %d that one may have", p.Size, maxPart)
	case p.Rows < 0 || len(p.Lineage) > mostLevels:
		return 0, errors.New("it claims more than a part can hold")
	}
	return after + p.Size, nil
}

// mostLevels is more than there are levels of lineage.
const mostLevels = 16

func expectToken(d *json.Decoder, want json.Delim) error {
	token, err := d.Token()
	if err == nil && token != want {
		err = fmt.Errorf("%.40q where %s is expected", fmt.Sprint(token), want)
	}
	return err
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
