package tmpl

import (
	"fmt"
	"slices"
)

// parts is a compiled text: literals and expressions in turn.
type parts struct {
	text string
	list []part
}

type part struct {
	literal    string
	expression *expression // nil for a literal
}

// Limits of one template. An expression in a source file is a few nodes; these
// stop nonsense, and they bound what a hostile file can cost (S§14).
const (
	maxNodes    = 200
	maxTextSize = 16 << 10
	maxRendered = 1 << 20
)

const usualValue = 32 // bytes; a guess that saves growing

// variables are the values of one scope.
type variables interface {
	variableValue(name string) (any, error)
}

func compileText(text string, s *scope) (parts, error) {
	if len(text) > maxTextSize {
		return parts{}, fmt.Errorf("template %q… is longer than %d bytes", text[:40], maxTextSize)
	}
	pieces, err := splitPlaceholders(text)
	if err != nil {
		return parts{}, fmt.Errorf("template %q: %w", text, err)
	}
	out := parts{text: text}
	for _, p := range pieces {
		if !p.code {
			out.list = append(out.list, part{literal: p.text})
			continue
		}
		compiled, err := s.compileExpression(p.text)
		if err != nil {
			return parts{}, fmt.Errorf("template %q: in ${%s}: %w", text, p.text, err)
		}
		out.list = append(out.list, part{expression: compiled})
	}
	return out, nil
}

func (t *parts) appendTo(dst []byte, vars variables, encode Encoder) (out []byte, present bool, err error) {
	start := len(dst)
	dst = slices.Grow(dst, len(t.text)+usualValue)
	for i := range t.list {
		p := &t.list[i]
		if p.expression == nil {
			dst = append(dst, p.literal...)
			continue
		}
		value, err := p.expression.evaluateWith(vars)
		if err != nil {
			return nil, false, t.wrapError(err)
		}
		if dst, err = encode(dst, value); err != nil {
			return nil, false, t.wrapError(err)
		}
		if len(dst)-start > maxRendered {
			return nil, false, t.wrapError(errTooLong)
		}
	}
	return dst, len(dst) > start || len(t.list) != 1 || t.list[0].expression == nil, nil
}

func (t *parts) wrapError(err error) error { return fmt.Errorf("template %q: %w", t.text, err) }

func (t *parts) variableNames() []string {
	var out []string
	for _, p := range t.list {
		if p.expression == nil {
			continue
		}
		for _, name := range p.expression.names {
			if !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out
}
