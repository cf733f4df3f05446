package event

// Room is memory for the bytes of one chunk of events, used again for the next: a
// relay that publishes 20,000 events a second would else leave 150 MB of garbage in
// each. The zero value is ready. What was taken is valid until Reset.
type Room struct {
	block []byte
	spent int // in blocks that were full
}

const roomBlock = 1 << 20

// Take gives an empty slice with room for n bytes.
func (r *Room) Take(n int) []byte {
	if len(r.block)+n > cap(r.block) {
		r.spent += len(r.block)
		r.block = make([]byte, 0, max(n, roomBlock))
	}
	at := len(r.block)
	r.block = r.block[:at+n]
	return r.block[at : at : at+n]
}

// Copy keeps a text.
func (r *Room) Copy(text []byte) []byte { return append(r.Take(len(text)), text...) }

// mostRoom is how much is kept for the next chunk.
const mostRoom = 32 << 20

// Reset takes everything back, and makes one block of what was needed.
func (r *Room) Reset() {
	if cap(r.block) > mostRoom {
		r.block = nil // one very large event must not stay in memory
	} else if r.spent > 0 {
		r.block = make([]byte, 0, min(r.spent+len(r.block)+roomBlock, mostRoom))
	}
	r.block, r.spent = r.block[:0], 0
}
