package httpclient

import (
	"context"
	"errors"
	"io"

	"github.com/patra-ingest/patra/internal/core/exchange"
)

// The parts in which a body is taken in. They grow, so that a small one costs little;
// they are never copied until the body is whole, so that an endless one costs no more
// than its limit (I14).
const (
	firstPart = 16 << 10
	largePart = 1 << 20
)

// intake takes in a body of at most limit bytes. Before it holds more than a page
// usually has, it claims room for what is announced, else for twice as much as it has.
type intake struct {
	limit int64
	hint  int64                   // how many bytes are announced; less than 0: none
	claim func(bytes int64) error // nil: there is room for every body

	parts   [][]byte
	n       int64
	claimed int64
}

// readAll reads a body to its end.
func (t *intake) readAll(from io.Reader) error {
	for {
		if err := t.claimRoom(); err != nil {
			return err
		}
		last := t.lastPart()
		n, err := from.Read((*last)[len(*last):cap(*last)])
		*last, t.n = (*last)[:len(*last)+n], t.n+int64(n)
		switch {
		case t.n > t.limit:
			return tooLarge(t.limit)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// claimRoom claims room once a body is larger than what was claimed for it, or is
// announced to be.
func (t *intake) claimRoom() error {
	room := max(t.claimed, exchange.UsualBody)
	if t.claim == nil || max(t.n, t.hint) <= room {
		return nil
	}
	t.claimed = min(max(2*room, t.hint), t.limit+1) // no body is longer: it is given up then
	return t.claim(min(t.claimed, t.limit))
}

// lastPart returns the part that is read into: one that is full is followed by
// another, up to one byte more than the limit. A body that announces a usual size is
// one part.
func (t *intake) lastPart() *[]byte {
	if n := len(t.parts); n > 0 && len(t.parts[n-1]) < cap(t.parts[n-1]) {
		return &t.parts[n-1]
	}
	size := int64(firstPart)
	if n := len(t.parts); n > 0 {
		size = min(2*int64(cap(t.parts[n-1])), largePart)
	} else if t.hint >= 0 && t.hint <= exchange.UsualBody {
		size = t.hint + 1 // the end shows when nothing comes any more
	}
	t.parts = append(t.parts, make([]byte, 0, min(size, t.limit-t.n+1)))
	return &t.parts[len(t.parts)-1]
}

// joinParts puts the parts together.
func (t *intake) joinParts() []byte {
	if len(t.parts) == 1 {
		return t.parts[0]
	}
	body := make([]byte, 0, t.n)
	for i, part := range t.parts {
		body = append(body, part...)
		t.parts[i] = nil
	}
	return body
}

// claimOf asks for room while the upstream waits; nil where no room is shared.
func (w *watch) claimOf(ctx context.Context, room exchange.Room) func(int64) error {
	if room == nil {
		return nil
	}
	return func(bytes int64) error {
		return w.pauseLimits(func() error { return room.Claim(ctx, bytes) })
	}
}
