package paging

// Resize goes on from a state with pages of another size, if no item can be left
// out or be skipped by that. An offset says where the next page begins, whatever
// its size. The number of a page means another place with another size: it is
// written anew, and only where the place is the beginning of a page of both sizes.
// A token or an address may stand for a list that was cut when the walk began, so
// there only a walk that has not begun may change. The one page of TIME and of ONE
// has to hold all: to make it smaller helps nobody.
func (c Config) Resize(s State, size int) (Config, State, bool) {
	if size == c.Size {
		return c, s, true
	}
	if size < 1 || c.FixedSize || c.Type == Time || c.Type == One || c.MaxSize > 0 && size > c.MaxSize {
		return c, s, false
	}
	switch {
	case s.FirstPage(), c.Type == Offset:
	case c.Type == Page:
		before := c.itemsBefore(s)
		if before%size != 0 {
			return c, s, false
		}
		s.Number = *c.Base + before/size
	default:
		return c, s, false
	}
	c.Size = size
	return c, s, true
}

// Grows reports that pages may change their size in the middle of a walk without
// the upstream having a say in it: with page numbers, an upstream that serves
// more than it is asked for would put every later page elsewhere.
func (c Config) Grows() bool { return c.Type == Offset && !c.FixedSize }

// itemsBefore returns how many items of the query lie before the next page of
// PAGE.
func (c Config) itemsBefore(s State) int {
	if c.Base == nil {
		return s.Pages * c.Size
	}
	return (s.Number - *c.Base) * c.Size
}

// Before returns how many items of the query lie before the next page, where the
// form of paging tells.
func (c Config) Before(s State) int {
	switch c.Type {
	case Offset:
		return s.Offset
	case Page:
		return c.itemsBefore(s)
	}
	return 0
}

// Shift returns the state that many pages on or back, for a look at what stands
// there.
func (c Config) Shift(s State, pages int) (State, bool) {
	if pages == 0 || c.Before(s)+pages*c.Size < 0 || c.Type != Offset && c.Type != Page {
		return s, false
	}
	s.Offset += pages * c.Size
	s.Number += pages
	return s, true
}
