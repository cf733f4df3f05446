package document

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
)

// parseXML checks the whole document and returns its tree. Offsets of the
// errors are in the text.
func parseXML(doc xmlText, maxDepth int) (*xmlTree, *SyntaxError) {
	if len(doc.text) > math.MaxInt32 {
		return nil, &SyntaxError{0, "larger than 2 GB"}
	}
	p := xmlParser{treeBuilder: newTreeBuilder(doc.text), dec: xml.NewDecoder(bytes.NewReader(doc.text)), size: len(doc.text), maxDepth: maxDepth}
	p.dec.CharsetReader = func(label string, in io.Reader) (io.Reader, error) {
		// The text is UTF-8 already, if this is the label it was read by.
		if !strings.EqualFold(label, doc.charset) {
			return nil, fmt.Errorf("character set %.40q is not declared where it should be", label)
		}
		return in, nil
	}
	for {
		start := int(p.dec.InputOffset())
		// Raw tokens, because prefixes are dropped and end tags compared here.
		token, err := p.dec.RawToken()
		switch {
		case errors.Is(err, io.EOF):
			return p.end()
		case err != nil:
			return nil, p.failure(err)
		}
		if problem := p.take(token, start); problem != "" {
			return nil, p.refuse(problem)
		}
	}
}

type xmlParser struct {
	*treeBuilder
	dec      *xml.Decoder
	size     int
	maxDepth int
	started  bool // something other than white space was there
}

func (p *xmlParser) take(token xml.Token, start int) (problem string) {
	first := !p.started
	p.started = true
	switch token := token.(type) {
	case xml.StartElement:
		if p.depth() == p.maxDepth {
			return fmt.Sprintf("nested deeper than %d levels", p.maxDepth)
		}
		return p.start(token, start)
	case xml.EndElement:
		return p.close(token, int(p.dec.InputOffset()))
	case xml.CharData:
		p.started = !first || len(bytes.Trim(token, xmlSpace)) > 0
		return p.characters(token)
	case xml.ProcInst:
		if token.Target == "xml" && !first {
			return "an XML declaration inside the document"
		}
	case xml.Directive:
		if p.begun() {
			return "a declaration inside the document"
		}
	}
	return ""
}

func (p *xmlParser) end() (*xmlTree, *SyntaxError) {
	switch {
	case p.depth() > 0:
		return nil, &SyntaxError{int64(p.size), "ends before the document does"}
	case !p.begun():
		return nil, &SyntaxError{int64(p.size), "no root element"}
	}
	p.finish(p.size)
	return &p.xmlTree, nil
}

func (p *xmlParser) failure(err error) *SyntaxError {
	reason := err.Error()
	if syntax, ok := errors.AsType[*xml.SyntaxError](err); ok {
		reason = syntax.Msg
	}
	if strings.HasPrefix(reason, "unexpected EOF") {
		return &SyntaxError{int64(p.size), "ends before the document does"}
	}
	return p.refuse(reason)
}

func (p *xmlParser) refuse(reason string) *SyntaxError {
	return &SyntaxError{min(p.dec.InputOffset(), int64(p.size)), shorten(reason)}
}
