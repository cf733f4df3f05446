package refresh

import (
	"encoding/binary"
	"encoding/hex"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/window"
)

var t0 = time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)

func holds(s Share, key [16]byte) bool {
	x := hex.EncodeToString(key[:8])
	return s.From <= x && (s.To == "" || x < s.To)
}

func someCycle(t *rapid.T) time.Duration {
	return time.Duration(rapid.Int64Range(int64(ShortestCycle/time.Microsecond), int64(LongestCycle/time.Microsecond)).Draw(t, "cycle")) * time.Microsecond
}

func someKey(t *rapid.T) (key [16]byte) {
	binary.BigEndian.PutUint64(key[:8], rapid.Uint64().Draw(t, "hash"))
	return key
}

// The law of the rota: windows that tile a stretch of a cycle's length hold every
// record exactly once, wherever the stretch begins and however it is cut.
func TestEveryRecordHasOneTurnInACycle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cycle, key := someCycle(t), someKey(t)
		from := t0.Add(time.Duration(rapid.Int64Range(-1e15, 1e15).Draw(t, "start")) * time.Microsecond)
		cuts := rapid.IntRange(1, 40).Draw(t, "windows")
		held, at := 0, from
		for i := range cuts {
			to := from.Add(time.Duration(int64(cycle/time.Microsecond)*int64(i+1)/int64(cuts)) * time.Microsecond)
			for _, s := range Shares(window.Window{From: at, To: to}, cycle) {
				if holds(s, key) {
					held++
					if turn := Turn(key, cycle, from); turn.Before(at) || !turn.Before(to) {
						t.Fatalf("the turn %s is not in [%s, %s), which holds the record", turn, at, to)
					}
				}
				if !s.Before.Equal(to) {
					t.Fatalf("candidates before %s, the window ends at %s", s.Before, to)
				}
			}
			at = to
		}
		if held != 1 {
			t.Fatalf("%x has %d turns in a cycle of %s from %s in %d windows", key[:8], held, cycle, from, cuts)
		}
	})
}

// A stretch of n cycles has n turns of every record.
func TestTurnsComeAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cycle, key := someCycle(t), someKey(t)
		n, held := rapid.IntRange(1, 5).Draw(t, "cycles"), 0
		for _, s := range Shares(window.Window{From: t0, To: t0.Add(time.Duration(n) * cycle)}, cycle) {
			if holds(s, key) {
				held++
			}
		}
		if held != n {
			t.Fatalf("%d turns in %d cycles", held, n)
		}
		turn := Turn(key, cycle, t0)
		if turn.Before(t0) || turn.Sub(t0) >= cycle || !Turn(key, cycle, turn).Equal(turn) || !Turn(key, cycle, turn.Add(time.Microsecond)).Equal(turn.Add(cycle)) {
			t.Fatalf("the turn after %s is %s", t0, turn)
		}
	})
}

// A day holds about its share of real ids.
func TestADayHoldsItsShare(t *testing.T) {
	const ids, days = 30_000, 30
	held := make([]int, days)
	for i := range ids {
		var name [8]byte
		binary.BigEndian.PutUint64(name[:], uint64(i))
		key := record.KeyOf(hex.EncodeToString(name[:]))
		held[int(Turn(key, days*24*time.Hour, t0).Sub(t0)/(24*time.Hour))]++
	}
	for d, n := range held {
		if n < 850 || n > 1150 {
			t.Errorf("day %d holds %d of %d", d, n, ids)
		}
	}
}
