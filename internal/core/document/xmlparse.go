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

// An element costs many times the four bytes that it needs at least, so a large
// document may have as many of them as it has this many bytes (I14). The
// densest real ones, lists of ids, have 19 bytes for each.
const (
	leastNode = 12
	freeNodes = 64 << 10
)

// parseXML checks the whole document and returns its tree. Offsets of the
// errors are in the text.
func parseXML(doc xmlText, lim Limits) (*xmlTree, *SyntaxError) {
	if len(doc.text) > math.MaxInt32 {
		return nil, &SyntaxError{0, "larger than 2 GB"}
	}
	lim.MaxNodes = min(lim.MaxNodes, freeNodes+len(doc.text)/leastNode)
	p := xmlParser{treeBuilder: newTreeBuilder(doc.text, lim.MaxNodes), dec: xml.NewDecoder(bytes.NewReader(doc.text)), size: len(doc.text), limits: lim}
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
			return p.finishTree()
		case err != nil:
			return nil, p.syntaxError(err)
		}
		if problem := p.takeToken(token, start); problem != "" {
			return nil, p.refuseSyntax(problem)
		}
	}
}

type xmlParser struct {
	*treeBuilder
	dec     *xml.Decoder
	size    int
	limits  Limits
	started bool // something other than white space was there
}

func (p *xmlParser) takeToken(token xml.Token, start int) (problem string) {
	first := !p.started
	p.started = true
	switch token := token.(type) {
	case xml.StartElement:
		if p.currentDepth() == p.limits.MaxDepth {
			return fmt.Sprintf("nested deeper than %d levels", p.limits.MaxDepth)
		}
		if len(p.elements)+len(p.attributes)+len(token.Attr) > p.limits.MaxNodes {
			return fmt.Sprintf("more than %d elements and attributes in %d bytes", p.limits.MaxNodes, p.size)
		}
		return p.startElement(token, start)
	case xml.EndElement:
		return p.closeElement(token, int(p.dec.InputOffset()))
	case xml.CharData:
		p.started = !first || len(bytes.Trim(token, xmlSpace)) > 0
		return p.addCharacters(token)
	case xml.ProcInst:
		if token.Target == "xml" && !first {
			return "an XML declaration inside the document"
		}
	case xml.Directive:
		if p.hasRoot() {
			return "a declaration inside the document"
		}
		if bytes.IndexByte(blankQuoted(token), '[') >= 0 {
			return "a DOCTYPE with declarations of its own"
		}
	}
	return ""
}

// blankQuoted empties what stands in quotes, where every character is allowed.
func blankQuoted(directive []byte) []byte {
	out := bytes.Clone(directive)
	var quote byte
	for i, c := range out {
		switch {
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case quote == c:
			quote = 0
		case quote != 0:
			out[i] = ' '
		}
	}
	return out
}

func (p *xmlParser) finishTree() (*xmlTree, *SyntaxError) {
	switch {
	case p.currentDepth() > 0:
		return nil, &SyntaxError{int64(p.size), "ends before the document does"}
	case !p.hasRoot():
		return nil, &SyntaxError{int64(p.size), "no root element"}
	}
	p.finishElement(p.size)
	return &p.xmlTree, nil
}

func (p *xmlParser) syntaxError(err error) *SyntaxError {
	reason := err.Error()
	if syntax, ok := errors.AsType[*xml.SyntaxError](err); ok {
		reason = syntax.Msg
	}
	if strings.HasPrefix(reason, "unexpected EOF") {
		return &SyntaxError{int64(p.size), "ends before the document does"}
	}
	return p.refuseSyntax(reason)
}

func (p *xmlParser) refuseSyntax(reason string) *SyntaxError {
	return &SyntaxError{min(p.dec.InputOffset(), int64(p.size)), shortenText(reason)}
}
