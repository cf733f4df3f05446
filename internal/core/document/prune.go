package document

import "github.com/go-json-experiment/json/jsontext"

// pruner copies a document and leaves out the members whose node has a slot.
type pruner struct {
	dec *jsontext.Decoder
	out []byte
}

func (p *pruner) pruneValue(n *node) error {
	switch kind := p.dec.PeekKind(); {
	case n != nil && kind == '{' && n.names != nil:
		return p.pruneObject(n)
	case n != nil && kind == '[' && n.indexes != nil:
		return p.pruneArray(n)
	}
	raw, err := p.dec.ReadValue()
	p.out = append(p.out, raw...)
	return err
}

func (p *pruner) pruneObject(n *node) error {
	if err := p.copyDelimiter(); err != nil {
		return err
	}
	kept := 0
	for p.dec.PeekKind() != '}' {
		name, err := p.dec.ReadValue()
		if err != nil {
			return err
		}
		child := n.childQuoted(name)
		if child != nil && len(child.slots) > 0 {
			if _, err := p.dec.ReadValue(); err != nil {
				return err
			}
			continue
		}
		p.out = append(append(appendComma(p.out, kept), name...), ':')
		kept++
		if err := p.pruneValue(child); err != nil {
			return err
		}
	}
	return p.copyDelimiter()
}

func (p *pruner) pruneArray(n *node) error {
	if err := p.copyDelimiter(); err != nil {
		return err
	}
	for i := 0; p.dec.PeekKind() != ']'; i++ {
		p.out = appendComma(p.out, i)
		if err := p.pruneValue(n.indexes[i]); err != nil {
			return err
		}
	}
	return p.copyDelimiter()
}

func (p *pruner) copyDelimiter() error {
	token, err := p.dec.ReadToken()
	if err == nil {
		p.out = append(p.out, byte(token.Kind()))
	}
	return err
}
