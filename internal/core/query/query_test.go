package query

import (
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/window"
	"pgregory.net/rapid"
)

func TestHashIsOrderFree(t *testing.T) {
	w := window.Window{From: time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC), To: time.Date(2025, 3, 2, 0, 0, 0, 0, time.UTC)}
	one, err := Hash(And(All(), Range("indexed", w)))
	if err != nil {
		t.Fatal(err)
	}
	two, _ := Hash(And(Range("indexed", w), All()))
	if one != two {
		t.Fatal("the order of And children changes the hash")
	}
	w.To = w.To.Add(time.Microsecond)
	if three, _ := Hash(Localise(All(), "indexed", w)); three == one {
		t.Fatal("another window has the same hash")
	}
}

func TestBoundsOfADay(t *testing.T) {
	f := DateFilter{Field: "indexed"}.WithDefaults()
	at := func(s string) time.Time {
		v, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, tc := range []struct{ from, to, wantFrom, wantTo string }{
		{"2025-03-01T00:00:00Z", "2025-03-02T00:00:00Z", "2025-03-01", "2025-03-01"}, // the exclusive end must not be asked for
		{"2025-03-01T00:00:00Z", "2025-03-02T00:00:00.000001Z", "2025-03-01", "2025-03-02"},
		{"2025-03-01T23:50:00Z", "2025-03-02T11:50:00Z", "2025-03-01", "2025-03-02"},
		{"2024-02-29T00:00:00Z", "2024-03-01T00:00:00Z", "2024-02-29", "2024-02-29"},
	} {
		from, to := f.Bounds(window.Window{From: at(tc.from), To: at(tc.to)})
		if f.Text(from) != tc.wantFrom || f.Text(to) != tc.wantTo {
			t.Errorf("[%s, %s): got %s..%s, want %s..%s", tc.from, tc.to, f.Text(from), f.Text(to), tc.wantFrom, tc.wantTo)
		}
	}
}

// D§5.11: for every precision and inclusivity the upstream selects all of the
// window, and less than one unit more at each end.
func TestSelectedCoversTheWindow(t *testing.T) {
	base := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()
	rapid.Check(t, func(t *rapid.T) {
		f := DateFilter{
			Field:     "x",
			Precision: rapid.SampledFrom([]Precision{Second, Minute, Day, Month}).Draw(t, "precision"),
			From:      rapid.SampledFrom([]Bound{Inclusive, Exclusive}).Draw(t, "from"),
			To:        rapid.SampledFrom([]Bound{Inclusive, Exclusive}).Draw(t, "to"),
		}.WithDefaults()
		start := base + rapid.Int64Range(0, 400*86400*1e6).Draw(t, "start")
		length := rapid.Int64Range(1, 90*86400*1e6).Draw(t, "length")
		w := window.Window{From: time.UnixMicro(start).UTC(), To: time.UnixMicro(start + length).UTC()}
		got := f.Selected(w)
		if got.From.After(w.From) || got.To.Before(w.To) {
			t.Fatalf("%+v: %v selects only %v", f, w, got)
		}
		if !f.next(got.From).After(w.From) || f.next(f.floor(w.To.Add(-time.Microsecond))).Before(got.To) {
			t.Fatalf("%+v: %v selects needlessly %v", f, w, got)
		}
	})
}
