package registry

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Limits of a source file (A22). A real one has a few hundred tokens; the
// parser's time grows with their square. The dashes of lists are counted apart:
// as many values as partitions may have (sector.Most) fit in.
const (
	maxBytes   = 1 << 20
	maxTokens  = 20_000
	maxDepth   = 32
	maxAliases = 100
	maxNodes   = 20_000
)

// parseYAML reads one document into nodes. Aliases share nodes; what their
// expansion would cost is counted, not spent.
func parseYAML(file string, text []byte) (*node, Problems) {
	if len(text) > maxBytes {
		return nil, wholeFile(file, fmt.Sprintf("the file has %d bytes, more than %d", len(text), maxBytes), "")
	}
	if !utf8.Valid(text) {
		return nil, wholeFile(file, "the file is not UTF-8", "save it as UTF-8")
	}
	parsed, problems := parseText(file, string(text))
	if problems != nil {
		return nil, problems
	}
	reader := yamlReader{file: file, anchors: map[string]*node{}}
	root, problem := reader.readDocument(parsed)
	if problem != nil {
		return nil, Problems{*problem}
	}
	return root, nil
}

func wholeFile(file, message, hint string) Problems {
	return Problems{problemAt(Position{File: file, Line: 1, Col: 1}, "", message, hint)}
}

func checkTokens(file string, tokens token.Tokens) Problems {
	count, dashes, aliases := 0, 0, 0
	for _, t := range tokens {
		at := Position{file, t.Position.Line, t.Position.Column}
		switch t.Type {
		case token.CommentType:
			continue
		case token.SequenceEntryType:
			if dashes++; dashes <= maxTokens {
				continue
			}
		case token.AnchorType, token.AliasType:
			aliases++
		case token.TagType:
			return Problems{problemAt(at, "", "tags (!) are not used in a source file", "remove it, or quote the text")}
		case token.MappingKeyType:
			return Problems{problemAt(at, "", "complex keys (?) are not used in a source file", "write key: value")}
		case token.MergeKeyType:
			return Problems{problemAt(at, "", "merge keys (<<) are not used in a source file",
				"put what endpoints share at the top of the file: sections are merged field by field")}
		}
		count++
		if aliases > maxAliases {
			return Problems{problemAt(at, "", fmt.Sprintf("more than %d anchors and aliases", maxAliases), "")}
		}
		if count > maxTokens || dashes > maxTokens {
			return Problems{problemAt(at, "", fmt.Sprintf("the file has too many values (more than %d tokens)", maxTokens), "")}
		}
	}
	return nil
}

// parseText turns a panic of the library into a problem: the text comes from
// outside, and a broken file must not take a server down.
func parseText(file, text string) (parsed *ast.File, problems Problems) {
	defer func() {
		if crash := recover(); crash != nil {
			parsed, problems = nil, wholeFile(file, fmt.Sprintf("the text cannot be parsed: %v", crash), "")
		}
	}()
	text = strings.TrimPrefix(text, "\ufeff") // the lexer would make the mark part of the first key
	tokens := lexer.Tokenize(text)
	if problems := checkTokens(file, tokens); problems != nil {
		return nil, problems
	}
	parsed, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, Problems{syntaxProblem(file, err)}
	}
	return parsed, nil
}

func syntaxProblem(file string, err error) Problem {
	var located yaml.Error
	if !errors.As(err, &located) || located.GetToken() == nil {
		return wholeFile(file, "not valid YAML: "+err.Error(), "")[0]
	}
	at := located.GetToken().Position
	hint := ""
	switch {
	case strings.Contains(located.GetMessage(), "alias"):
		hint = `quote a value that starts with *, as in "*"`
	case strings.Contains(located.GetMessage(), "reserved character"):
		hint = "quote the value"
	case strings.Contains(located.GetMessage(), "tab character"):
		hint = "indent with blanks"
	}
	return problemAt(Position{file, at.Line, at.Column}, "", "not valid YAML: "+located.GetMessage(), hint)
}

type yamlReader struct {
	file    string
	anchors map[string]*node
}

func (r *yamlReader) readDocument(parsed *ast.File) (*node, *Problem) {
	start := Position{r.file, 1, 1}
	var body ast.Node
	for _, doc := range parsed.Docs {
		switch {
		case doc.Body == nil:
		case doc.Body.Type() == ast.DirectiveType:
			return nil, r.refuseNode(doc.Body, "directives (%) are not used in a source file", "")
		case body != nil:
			return nil, r.refuseNode(doc.Body, "a second document starts here", "write one file per source")
		default:
			body = doc.Body
		}
	}
	if body == nil {
		p := problemAt(start, "", "the file is empty", "a source file starts with source: and name:")
		return nil, &p
	}
	root, problem := r.readNode(body, 0)
	switch {
	case problem != nil:
		return nil, problem
	case root.deep > maxDepth:
		return nil, r.refuseNode(body, fmt.Sprintf("nested deeper than %d", maxDepth), "")
	case root.size > maxNodes:
		return nil, r.refuseNode(body, fmt.Sprintf("aliases expand to more than %d values", maxNodes), "write the values out")
	}
	return root, nil
}

func (r *yamlReader) refuseNode(n ast.Node, message, hint string) *Problem {
	p := problemAt(r.positionOf(n), "", message, hint)
	return &p
}

// positionOf returns where a node starts. The token of a block mapping is its first
// colon, so its first key is asked instead.
func (r *yamlReader) positionOf(n ast.Node) Position {
	switch v := n.(type) {
	case *ast.MappingNode:
		if !v.IsFlowStyle && len(v.Values) > 0 {
			return r.positionOf(v.Values[0].Key)
		}
	case *ast.MappingValueNode:
		return r.positionOf(v.Key)
	}
	t := n.GetToken()
	if t == nil || t.Position == nil {
		return Position{r.file, 1, 1}
	}
	return Position{r.file, t.Position.Line, t.Position.Column}
}
