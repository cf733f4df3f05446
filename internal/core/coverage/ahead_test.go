package coverage

import (
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/window"
)

func TestWhatLiesAheadOfAClock(t *testing.T) {
	at := func(hour int) time.Time { return time.Date(2025, 3, 3, hour, 0, 0, 0, time.UTC) }
	seg := func(from, to, want, have int) Segment {
		s := Segment{Window: window.Window{From: at(from), To: at(to)}}
		if s.Want = at(want); have > 0 {
			s.Have = at(have)
		}
		return s
	}
	for _, tt := range []struct {
		name       string
		segs       []Segment
		from, asOf int // hours; as of 0: nothing lies ahead
	}{
		{"nothing was read", nil, 0, 0},
		{"all was read before now", []Segment{seg(1, 10, 10, 10)}, 0, 0},
		{"read by a clock that was ahead", []Segment{seg(1, 8, 10, 10), seg(8, 15, 15, 15)}, 8, 15},
		{"planned by a clock that was ahead", []Segment{seg(1, 8, 10, 10), seg(8, 15, 15, 0)}, 8, 15},
		{"the first of several", []Segment{seg(1, 8, 10, 10), seg(8, 9, 14, 14), seg(9, 15, 15, 0), seg(15, 16, 16, 16)}, 8, 16},
		{"it began in the future", []Segment{seg(20, 23, 23, 23)}, 9, 23},
	} {
		got, found := State{Segments: tt.segs}.Ahead(at(12))
		if found != (tt.asOf > 0) || found && (!got.From.Equal(at(tt.from)) || !got.AsOf.Equal(at(tt.asOf))) {
			t.Errorf("%s: %+v, %t", tt.name, got, found)
		}
	}
	if got, found := (State{Segments: []Segment{{Window: window.Window{From: at(8), To: at(12)}, Have: at(12).Add(time.Second)}}}).Ahead(at(12)); found {
		t.Errorf("a clock that was corrected by a second: %+v", got)
	}
}
