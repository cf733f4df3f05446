package secret

// Escapes of the same kind, piled up: what is decoded by one layer too few is encoded
// once more by each that follows. %252525252B is a plus that went through an address
// five times. Such piles are read to their end, in one go: their height costs nothing
// but their length.

// What stands for a sign behind itself: %25 and &amp; are the sign again.
var (
	piledPercent   = []string{"25"}
	piledAmpersand = []string{"amp;", "AMP;", "#38;", "#x26;", "#X26;"}
)

// readPile reads the signs that are escaped by themselves from a place on, and gives
// where the last of them ends. Of a high pile the lowest and the highest are told:
// those between differ in nothing but how often the sign is followed by its escape.
func (r *reader) readPile(sign rune, at int, again []string) (last int) {
	const told = 3
	for height := 0; ; height++ {
		next := r.behindAny(at, again)
		r.steps++
		if next == at {
			return at
		}
		if height < told || r.behindAny(r.behindAny(next, again), again) == r.behindAny(next, again) {
			r.pushReading(sign, next)
		}
		at = next
	}
}

// behindAny gives the place behind the word that stands at a place; the place itself if
// it is none of them.
func (r *reader) behindAny(at int, words []string) int {
	for _, word := range words {
		if end := at + len(word); end <= len(r.text) && string(r.text[at:end]) == word {
			return end
		}
	}
	return at
}

// highestRow is how often a backslash in a row may be escaped by another one. Each time
// doubles the row.
const highestRow = 6

// isHigh reports that so many backslashes are one that was escaped several times, the
// escape of the character behind them, or both.
func isHigh(row int) bool {
	return row < 2<<highestRow && (row&(row-1) == 0 || row&(row+1) == 0)
}

// readRow reads backslashes that are escaped by backslashes more often than deepest, and
// the escape that begins with the last of them. Whoever escapes does it to the whole row:
// so it is as long as that makes it, and few places of one are worth a look.
func (r *reader) readRow(at int) {
	left := r.backslashesFrom(at)
	for height := deepest + 1; height <= highestRow && 1<<height-1 <= left; height++ {
		whole, over := 1<<height, left&(1<<height-1)
		if left == whole || left == 2*whole-1 || r.several && (over == 0 || over == whole-1) && left >= whole {
			r.pushReading('\\', at+whole)
		}
		if left == whole-1 {
			r.readBackslash(at+left, 0)
		}
	}
}

// backslashesFrom counts the backslashes in a row from a place on. A row is measured once,
// not from each of its places.
func (r *reader) backslashesFrom(at int) int {
	if at < r.row.from || at >= r.row.to {
		to := at
		for to < len(r.text) && r.text[to] == '\\' {
			to++
		}
		r.row = span{at, to}
	}
	return r.row.to - at
}
