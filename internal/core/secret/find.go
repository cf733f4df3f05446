package secret

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
	"sync"
	"unicode/utf8"
)

// finder looks for patterns in every spelling, in one pass that touches few bytes
// of a text without them.
//
// A spelling is plain, or it has an escape in it. Every plain spelling is at least
// as long as the shortest pattern, so it holds four bytes in a row that lie at a
// multiple of step: only those are looked at, and looked up by their hash. Every
// other one has a backslash, a percent sign or an ampersand in it, and is read on
// from the first of them, character by character, in all ways it can be read
// (escape.go). What stands before that is plain.
type finder struct {
	patterns []pattern
	step     int
	seen     []uint64 // a bit for each hash of four bytes of a pattern
	shift    int      // of a hash, to the number of bits in seen
	grams    map[uint32][]patternIndex
	narrow   [utf8.RuneSelf][]patternIndex
	other    map[rune][]patternIndex
	needs    [utf8.RuneSelf]bool // a pattern has this character, or an escape begins with it
	dull     [256]bool           // behind a backslash it makes no character that is needed
	searches sync.Pool           // *search
}

// search is what looking through one text needs.
type search struct {
	reader
	ways, next []int
	spans      []span
}

// patternIndex is a character of a pattern, or where four of its bytes begin.
type patternIndex struct{ pattern, index int }

const gram = 4 // bytes that are looked at together

func newFinder(values []string) *finder {
	f := &finder{grams: map[uint32][]patternIndex{}, other: map[rune][]patternIndex{}}
	have := map[string]bool{}
	for _, value := range values {
		for _, p := range patternsOf(value) {
			if !have[p.text] || p.exact {
				have[p.text] = true
				f.patterns = append(f.patterns, p)
			}
		}
	}
	f.step = len(slices.MinFunc(f.patterns, func(a, b pattern) int { return len(a.text) - len(b.text) }).text) - gram + 1
	for i, p := range f.patterns {
		for at := range len(p.text) - gram + 1 {
			for _, g := range patternGrams(p.text[at : at+gram]) {
				f.grams[g] = append(f.grams[g], patternIndex{i, at})
			}
		}
		for at, r := range p.runes {
			f.noteCharacter(r, patternIndex{i, at})
		}
	}
	for _, c := range introducers {
		f.needs[c] = true
	}
	f.noteDull()
	f.hashGrams()
	f.searches.New = func() any { return &search{} }
	return f
}

// noteCharacter remembers where a character stands, in both cases if they count as one.
func (f *finder) noteCharacter(r rune, at patternIndex) {
	if r < 0 || r >= utf8.RuneSelf {
		f.other[r] = append(f.other[r], at)
		return
	}
	for c := range rune(utf8.RuneSelf) {
		if f.patterns[at.pattern].foldRune(c) == r {
			f.narrow[c], f.needs[c] = append(f.narrow[c], at), true
		}
	}
}

func (f *finder) placesOf(r rune) []patternIndex {
	if r >= 0 && r < utf8.RuneSelf {
		return f.narrow[r]
	}
	return f.other[r]
}

// caseBit is set in small letters: with it four bytes compare in either case.
const caseBit = 0x20202020

// patternGrams returns four bytes of a pattern as they may stand in a text.
func patternGrams(four string) []uint32 {
	out := []uint32{0}
	for i := range gram {
		c := four[i]
		for k := range len(out) {
			if c == '+' { // or a blank
				out = append(out, out[k]|uint32(' ')<<(8*i))
			}
			out[k] |= uint32(c|0x20) << (8 * i)
		}
	}
	return out
}

// hashGrams makes a table in which few others than the grams of patterns are found.
func (f *finder) hashGrams() {
	const spread = 256 // bits for each gram
	f.shift = 32 - bits.Len(uint(max(len(f.grams), 64)*spread))
	f.seen = make([]uint64, 1<<(32-f.shift)/64)
	for g := range f.grams {
		h := g * multiplier >> f.shift
		f.seen[h/64] |= 1 << (h % 64)
	}
}

const multiplier = 0x9E3779B1

// findSpans gives the spans of all spellings. They may overlap.
func (f *finder) findSpans(text []byte) []span {
	s := f.searches.Get().(*search)
	defer f.searches.Put(s)
	s.beginText(text)
	s.spans, s.several = nil, len(f.narrow['\\']) > 0
	f.findPlain(s)
	for _, c := range introducers {
		f.findFrom(s, c)
	}
	if hasSection(text) {
		f.findSplit(s)
	}
	s.text = nil
	return s.spans
}

// findFrom finds what has its first escape at an introducer of this kind.
func (f *finder) findFrom(s *search, introducer byte) {
	text := s.text
	for at := nextByte(text, 0, introducer); at < len(text); at = nextByte(text, at+1, introducer) {
		if introducer == '\\' {
			if at = f.passDull(text, at); at == len(text) {
				break
			}
		}
		char, end, clear := f.readQuickly(s, at)
		if !clear {
			f.findEscaped(s, at)
		} else if end > 0 {
			f.findAround(s, char, at, end)
		}
	}
}

// nextByte finds a byte from a place on; the length of text if it is not there. It
// looks at the first bytes by itself: where escapes are many the next one is near,
// and a call of IndexByte costs more than that.
func nextByte(text []byte, at int, c byte) int {
	const lows, highs = 0x0101010101010101, 0x8080808080808080
	for near := at + 16; at+8 <= len(text) && at < near; at += 8 {
		differs := binary.LittleEndian.Uint64(text[at:]) ^ lows*uint64(c)
		if zeros := (differs - lows) &^ differs & highs; zeros != 0 { // the lowest of them is one for sure
			return at + bits.TrailingZeros64(zeros)/8
		}
	}
	if next := bytes.IndexByte(text[min(at, len(text)):], c); next >= 0 {
		return at + next
	}
	return len(text)
}

// findPlain finds what is written without any escape.
func (f *finder) findPlain(s *search) {
	text, seen, shift, step := s.text, f.seen, f.shift&31, f.step
	for at := 0; at+gram <= len(text); at += step {
		g := binary.LittleEndian.Uint32(text[at:]) | caseBit
		h := g * multiplier >> shift
		if seen[h/64]&(1<<(h%64)) == 0 {
			continue
		}
		for _, p := range f.grams[g] {
			from, whole := at-p.index, &f.patterns[p.pattern]
			if to := from + len(whole.text); from >= 0 && to <= len(text) && whole.equalsStart(text[from:to]) {
				s.spans = append(s.spans, span{from, to})
			}
		}
	}
}

// equalsStart compares bytes with the beginning of a pattern.
func (p *pattern) equalsStart(text []byte) bool {
	for i, c := range text {
		if p.foldByte(c) != p.text[i] {
			return false
		}
	}
	return true
}

// findEscaped finds what has its first escape at a place.
func (f *finder) findEscaped(s *search, at int) {
	bottom := len(s.stack)
	s.readEscapes(at, deepest)
	for i, top := bottom, len(s.stack); i < top; i++ {
		f.findAround(s, s.stack[i].char, at, s.stack[i].end)
	}
	s.stack = s.stack[:bottom]
}

// findAround finds the patterns of which a character was read.
func (f *finder) findAround(s *search, char rune, begins, ends int) {
	for _, p := range f.placesOf(char) {
		whole := &f.patterns[p.pattern]
		if from, ok := whole.standsBefore(s.text, begins, p.index); ok {
			if to, ok := s.followPattern(whole, ends, p.index+1); ok {
				s.spans = append(s.spans, span{from, to})
			}
		}
	}
}

// standsBefore reports that the first n characters of a pattern stand before a
// place, as they are.
func (p *pattern) standsBefore(text []byte, at, n int) (from int, ok bool) {
	if n == 0 {
		return at, true
	}
	size := p.ends[n-1]
	from = at - size
	return from, from >= 0 && p.foldByte(text[at-1]) == p.text[size-1] && p.equalsStart(text[from:at])
}

// followPattern finds the characters of a pattern from n on behind a place, in whatever
// spelling. It follows all ways to read them at once, so that their number stays
// small.
func (s *search) followPattern(p *pattern, at, n int) (to int, ok bool) {
	s.ways = append(s.ways[:0], at)
	for _, want := range p.runes[n:] {
		s.next = s.next[:0]
		for _, from := range s.ways {
			s.stepBehind(p, from, want)
		}
		if len(s.next) == 0 {
			return 0, false
		}
		s.ways, s.next = s.next, s.ways
	}
	return slices.Max(s.ways), true
}

// stepBehind notes the places behind a character that is wanted at a place, or behind the
// marks of sections that stand there.
func (s *search) stepBehind(p *pattern, at int, want rune) {
	bottom := len(s.stack)
	for {
		s.readAny(at, deepest)
		behind := skipSections(s.text, at)
		if behind == at {
			break
		}
		at = behind
	}
	for _, r := range s.stack[bottom:] {
		if p.foldRune(r.char) == want && len(s.next) < mostWays && !slices.Contains(s.next, r.end) {
			s.next = append(s.next, r.end)
		}
	}
	s.stack = s.stack[:bottom]
}

// mostWays bounds how many ways to read a text are followed. Only backslashes in a
// row can be read in more than a few.
const mostWays = 64

// Marks of a section of an XML text that is not escaped. A writer may begin and
// end one anywhere.
const (
	sectionBegin = "<![CDATA["
	sectionEnd   = "]]>"
)

// hasSection reports that a section begins somewhere. It looks for the exclamation mark,
// which is rare, where a page may have a tag in every line.
func hasSection(text []byte) bool {
	const before = len("<!")
	for at := 0; ; {
		next := bytes.IndexByte(text[at:], sectionBegin[before-1])
		if next < 0 {
			return false
		}
		if at += next + 1; at >= before && bytes.HasPrefix(text[at-before:], []byte(sectionBegin)) {
			return true
		}
	}
}

func skipSections(text []byte, at int) int {
	for at < len(text) && (text[at] == '<' || text[at] == ']') {
		switch {
		case bytes.HasPrefix(text[at:], []byte(sectionBegin)):
			at += len(sectionBegin)
		case bytes.HasPrefix(text[at:], []byte(sectionEnd)):
			at += len(sectionEnd)
		default:
			return at
		}
	}
	return at
}

// findSplit finds what is plain up to the mark of a section.
func (f *finder) findSplit(s *search) {
	for _, mark := range []string{sectionBegin, sectionEnd} {
		for at := 0; ; at++ {
			next := bytes.Index(s.text[at:], []byte(mark))
			if next < 0 {
				break
			}
			at += next
			last, size := utf8.DecodeLastRune(s.text[:at])
			f.findAround(s, last, at-size, at)
		}
	}
}
