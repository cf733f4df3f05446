package document

// Sum is what is kept of the canonical form of an item.
type Sum [16]byte

// itemValues is where express puts the values of the item that it writes.
type itemValues struct {
	of   *cursor
	into []Value
}

// maxSpareBytes is the largest buffer that is kept from one page to the next.
const maxSpareBytes = 1 << 20

// takeExpress takes a writer of canonical forms for a page, if its items are to be summed. It is given
// back by giveBack.
func (s *scan) takeExpress() {
	if s.reader.canonical != nil {
		s.express, _ = s.reader.canonical.express.Get().(*express)
	}
}

func (s *scan) giveBack() {
	e := s.express
	if e == nil {
		return
	}
	s.express = nil
	e.src, e.values = nil, itemValues{} // the pool must not hold what belongs to a page
	if cap(e.out) > maxSpareBytes {
		e.out = nil
	}
	s.reader.canonical.express.Put(e)
}

// readSummed reads an ordinary item and writes its canonical form in one pass, where one after the other
// takes twice as long. It returns false, and stands where it stood, if the item must be read
// the general way, which also tells what is wrong with one.
func (c *cursor) readSummed(item *Item) bool {
	d, isSwift := c.dec.(*swift)
	if c.express == nil || !isSwift || c.limits.MaxDepth-d.StackDepth() < expressDepth || !d.stepToNext() {
		return false
	}
	d.peekByte()
	end, ok := c.express.readItem(c, d.at, item.Values)
	if !ok { // the values that were taken are taken again
		return false
	}
	item.Raw = c.src[d.at:end:end]
	item.JSON, item.Offset = item.Raw, c.base+int64(d.at)
	if item.Err = c.checkItem(*item); item.Err == nil {
		item.Sum, item.Summed = c.reader.sum(c.express.out), true
	}
	d.at, d.end, d.ready = end, end, false
	d.noteValue()
	return true
}

// readItem writes the canonical form of the item that starts at from to out, and its values to into. It
// returns where the item ends.
func (e *express) readItem(c *cursor, from int, into []Value) (end int, ok bool) {
	if len(c.src) > expressBytes {
		return from, false
	}
	e.src, e.at, e.copied, e.out, e.members = c.src, from, from, e.out[:0], e.members[:0]
	e.values = itemValues{c, into}
	if !e.takeValue(c.reader.canonical.drop, c.reader.item, expressDepth) {
		return from, false
	}
	e.writePending()
	return e.at, true
}

// takeValue writes the next value and puts it where want says.
func (e *express) takeValue(drop, want *node, depth int) bool {
	if want == nil {
		return e.writeValue(drop, nil, depth)
	}
	e.peekByte()
	from := e.at
	if !e.writeValue(drop, want, depth) {
		return false
	}
	raw := e.src[from:e.at:e.at]
	at := e.values.of.base + int64(from)
	for _, slot := range want.slots {
		e.values.into[slot] = Value{raw: raw, at: at}
	}
	if want.tails == nil && len(want.queries) == 0 {
		return true
	}
	return e.values.of.readAgain(raw, at, want, target{values: e.values.into, inItem: true}) == nil
}
