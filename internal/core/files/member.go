package files

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/patra-ingest/patra/internal/core/document"
)

// ArchiveRoot is the root below which the files of an archive stand as elements: response.items of
// an archive of XML begins with it.
const ArchiveRoot = "archive"

// Frame is what stands round the items of an archive, and between two of them, so that they are one
// document. What opens an archive is no end of it: the closing part comes when its end was met.
type Frame struct{ Open, Between, Close string }

// FrameOf returns the frame of an archive of files in a format.
func FrameOf(format document.Format) (Frame, error) {
	switch format {
	case document.FormatXML:
		return Frame{Open: "<" + ArchiveRoot + ">", Close: "</" + ArchiveRoot + ">"}, nil
	case document.FormatJSON, "":
		return Frame{Open: "[", Between: ",", Close: "]"}, nil
	}
	return Frame{}, fmt.Errorf("an archive of files in %s cannot be read", format)
}

// CutMember returns the one item of a file of an archive: its value of JSON, or the root of its
// document of XML with what is in it. Whatever could reach out of its place among the other files is
// refused: several roots, a root that is not closed, something behind it.
func CutMember(format document.Format, data []byte) ([]byte, error) {
	data = bytes.TrimPrefix(data, []byte(byteOrderMark))
	if format == document.FormatXML {
		return cutRoot(data)
	}
	at := skipSpace(data, 0)
	if at == len(data) || data[at] != '{' {
		return nil, errors.New("it is not a JSON object")
	}
	end, more, err := endOfValue(data, at)
	switch {
	case err != nil:
		return nil, err
	case more:
		return nil, errCut
	case skipSpace(data, end) < len(data):
		return nil, errors.New("there is more after the JSON object")
	}
	return data[at:end], nil
}

// cutRoot returns the root of a document.
func cutRoot(data []byte) ([]byte, error) {
	if bytes.IndexByte(data, 0) >= 0 {
		return nil, errors.New("it is in UTF-16 or not text")
	}
	begin, end, depth := -1, -1, 0
	for at := 0; ; {
		if end >= 0 && skipSpace(data, at) == len(data) {
			return data[begin:end], nil
		}
		m, more, err := nextMark(data, at)
		switch {
		case err != nil:
			return nil, err
		case more:
			return nil, errCut
		case depth == 0 && len(bytes.TrimSpace(data[at:m.begin])) > 0:
			return nil, errors.New("text stands outside of the root of the document")
		case m.kind == '?':
			if err := checkProlog(data[m.begin:m.end], depth); err != nil {
				return nil, err
			}
		case m.kind == '/':
			if depth--; depth < 0 {
				return nil, errors.New("an end tag has no start")
			}
			if depth == 0 {
				end = m.end
			}
		default:
			if depth == 0 && begin >= 0 {
				return nil, errors.New("the document has several roots")
			}
			if depth == 0 {
				begin = m.begin
			}
			if m.kind == '<' {
				depth++
			} else if depth == 0 {
				end = m.end
			}
		}
		at = m.end
	}
}

// checkProlog refuses declarations that hold for one file of an archive only: the others are read in the same
// document.
func checkProlog(text []byte, depth int) error {
	switch {
	case bytes.HasPrefix(text, []byte("<!DOCTYPE")):
		return errors.New("it has a DOCTYPE, which the files of an archive may not have")
	case bytes.HasPrefix(text, []byte("<?xml ")):
		lower := strings.ToLower(string(text))
		if i := strings.Index(lower, "encoding"); i >= 0 && !strings.Contains(lower[i:], "utf-8") && !strings.Contains(lower[i:], "us-ascii") {
			return fmt.Errorf("it is not in UTF-8: %.80s", text)
		}
	case depth == 0 && bytes.HasPrefix(text, []byte("<![CDATA[")):
		return errors.New("text stands outside of the root of the document")
	}
	return nil
}
