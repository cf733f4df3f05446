package document

import "bytes"

const (
	utf8Mark  = "\ufeff"
	lineSpace = " \t\r"
)

// readLines reads a body of one JSON value per line.
func (r *Reader) readLines(body []byte, lim Limits) (*Page, error) {
	s := r.newFastScan(lim)
	defer s.giveBack()
	dirty := false
	for at := len(body) - len(bytes.TrimPrefix(body, []byte(utf8Mark))); at < len(body); {
		line, _, ended := bytes.Cut(body[at:], []byte{'\n'})
		offset := at
		at += len(line) + 1
		value := bytes.TrimLeft(line, lineSpace)
		offset += len(line) - len(value)
		value = bytes.TrimRight(value, lineSpace)
		if len(value) == 0 {
			continue
		}
		if len(s.page.Items) == lim.MaxItems {
			return nil, tooManyItems(offset, lim)
		}
		item, err := s.readLine(value[:len(value):len(value)], int64(offset))
		if err == nil && !ended && (Value{raw: value}).Kind() == Number {
			err = &SyntaxError{int64(len(body)), "a number without a line break after it may be cut"}
		}
		if err != nil && !ended {
			return nil, err
		}
		if err != nil {
			item.Err = &ItemError{err.Offset, err.Reason}
		}
		dirty = dirty || item.Err != nil
		s.page.Items = append(s.page.Items, item)
	}
	if s.page.HasItems = len(s.page.Items) > 0; !s.page.HasItems {
		s.page.Lacks = "no line"
	}
	s.lenient, s.swift = dirty, false
	c := s.newCursor(nil, 0)
	if err := c.pageValuesInItems(r.page, target{values: s.page.Values}); err != nil {
		return nil, c.syntaxError(err)
	}
	return &s.page, nil
}

// readLine reads one value, first as an ordinary one, then under the strict rules. The item has no JSON if
// the line is broken.
func (s *scan) readLine(value []byte, offset int64) (Item, *SyntaxError) {
	s.swift = true
	item, err := s.wholeItem(value, offset)
	s.swift = false
	if err == nil {
		return item, nil
	}
	if item, err = s.wholeItem(value, offset); err == nil {
		return item, nil
	}
	s.lenient = true
	defer func() { s.lenient = false }()
	if item, err = s.wholeItem(value, offset); err == nil {
		return item, nil
	}
	return Item{Raw: value, Offset: offset, Values: s.newValues()}, err
}

func (s *scan) wholeItem(value []byte, offset int64) (Item, *SyntaxError) {
	c := s.newCursor(value, offset)
	item, err := c.readItem()
	if err == nil {
		err = c.atEnd()
	}
	if err != nil {
		return Item{}, c.syntaxError(err)
	}
	return item, nil
}
