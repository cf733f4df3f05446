package refresh

import (
	"encoding/binary"
	"encoding/hex"
	"math/bits"
	"time"

	"github.com/patra-ingest/patra/internal/core/window"
)

// Every record has a turn in every cycle. Where in the cycle is said by the hash
// it is keyed by: the cycle is the line of all hashes, from its first instant to
// its last. So each range of time owns a range of hashes, and ranges that
// tile a cycle own every record exactly once: 1/N of them on each of N days,
// without a list, a counter or an index, and the same for records that come later.

// Share is a range of hashes: from ≤ the first eight bytes < to, in hex. No end
// is the end of the line. Its records are candidates if nobody looked at them
// since before an instant.
type Share struct {
	From, To string
	Before   time.Time
}

// Shares returns the hashes whose turns lie in a window, one for each cycle it has
// a part in. A record that has a turn there and was not checked by the end of the
// window is to be checked.
func Shares(w window.Window, cycle time.Duration) (out []Share) {
	for _, part := range Cycles(w, cycle) {
		out = append(out, Share{From: hashText(part.From, cycle), To: endText(part.To, cycle), Before: w.To})
	}
	return out
}

// Cycles cuts a window where a cycle begins.
func Cycles(w window.Window, cycle time.Duration) (out []window.Window) {
	for !w.Empty() {
		next := w.From.Add(cycle - into(w.From, cycle))
		var part window.Window
		part, w = w.Split(next)
		out = append(out, part)
	}
	return out
}

// Turn returns the first turn of a record at or after an instant.
func Turn(key [16]byte, cycle time.Duration, at time.Time) time.Time {
	at = window.Instant(at)
	hash, c := binary.BigEndian.Uint64(key[:8]), uint64(cycle.Microseconds())
	place, _ := bits.Mul64(hash, c) // rounded down, so it may be one too small
	if place+1 < c && hashOf(place+1, c) <= hash {
		place++
	}
	turn := at.Add(-into(at, cycle)).Add(time.Duration(place) * time.Microsecond)
	if turn.Before(at) {
		turn = turn.Add(cycle)
	}
	return turn
}

// into returns how far into its cycle an instant lies. Cycles are counted from
// 1970, so that every process has the same ones.
func into(at time.Time, cycle time.Duration) time.Duration {
	c := cycle.Microseconds()
	place := at.UnixMicro() % c
	if place < 0 {
		place += c
	}
	return time.Duration(place) * time.Microsecond
}

func hashOf(place, cycle uint64) uint64 {
	hash, _ := bits.Div64(place, 0, cycle)
	return hash
}

func hashText(at time.Time, cycle time.Duration) string {
	var text [8]byte
	binary.BigEndian.PutUint64(text[:], hashOf(uint64(into(at, cycle).Microseconds()), uint64(cycle.Microseconds())))
	return hex.EncodeToString(text[:])
}

func endText(at time.Time, cycle time.Duration) string {
	if into(at, cycle) == 0 {
		return ""
	}
	return hashText(at, cycle)
}
