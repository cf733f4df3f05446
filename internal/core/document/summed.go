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

// maxSpareMembers is how many members of open objects there may be for their room to be kept, and that of
// their order, too.
const maxSpareMembers = 10_000

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
	if cap(e.out)+cap(e.sorted) > maxSpareBytes {
		e.out, e.sorted = nil, nil
	}
	if cap(e.members) > maxSpareMembers {
		e.members, e.orders = nil, [len(e.orders)]order{}
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
	end, ok := c.sumItem(d.at, item)
	if !ok {
		// The values that were taken are taken again, and whoever reads them tells whether they cost too much.
		c.spent = false
		return false
	}
	item.Raw = c.src[d.at:end:end]
	item.JSON, item.Offset, item.Summed = item.Raw, c.base+int64(d.at), true
	d.at, d.end, d.ready = end, end, false
	d.noteValue()
	return true
}

// sumItem reads the values and the sum of the item that starts at from, and returns where it ends. A panic
// costs no page: the general way meets it again, where it costs the item.
func (c *cursor) sumItem(from int, item *Item) (end int, ok bool) {
	defer func() { ok = recover() == nil && ok }()
	e := c.express
	if len(c.src) > expressBytes {
		return from, false
	}
	// What is longer than an item may be is not written to its end.
	e.src = c.src[:min(len(c.src), from+c.limits.MaxItemBytes)]
	e.at, e.copied, e.out, e.members = from, from, e.out[:0], e.members[:0]
	e.values = itemValues{c, item.Values}
	if !e.takeValue(c.reader.canonical.drop, c.reader.item, expressDepth) || e.at == len(e.src) && e.at < len(c.src) { // a number that is cut is one, too
		return from, false
	}
	e.writePending()
	item.Sum = c.reader.sum(e.out)
	return e.at, true
}

// takeValue writes the next value and puts it where want says.
func (e *express) takeValue(drop, want *node, depth int) bool {
	if want == nil {
		return e.writeValue(drop, nil, depth)
	}
	e.peekByte()
	from := e.at
	again := want.tails != nil || len(want.queries) > 0
	below := want
	if again { // then with all below, once
		below = nil
	}
	if !e.writeValue(drop, below, depth) {
		return false
	}
	raw := e.src[from:e.at:e.at]
	at := e.values.of.base + int64(from)
	if again {
		return e.values.of.readAgain(raw, at, want, target{values: e.values.into, inItem: true}) == nil
	}
	for _, slot := range want.slots {
		e.values.into[slot] = Value{raw: raw, at: at}
	}
	return true
}
