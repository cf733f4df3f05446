package slicing

import (
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/refresh"
	"github.com/patra-ingest/patra/internal/core/window"
)

func turns(cycle time.Duration, count int64) *Candidates {
	return &Candidates{Key: "provider_id", Kind: Hash, Count: count, AsOf: chosen, Refresh: &refresh.Spec{Policy: refresh.ByAge, Cycle: duration.Duration(cycle)}}
}

// I1 for turns: slices tile what is owed, their hashes are those of their turns,
// and no two of a plan are one, also where a plan has more than one cycle.
func TestTurnsTileWhatIsOwed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cycle := time.Duration(rapid.Int64Range(int64(time.Hour), int64(60*24*time.Hour)).Draw(t, "cycle")).Truncate(time.Microsecond)
		r := idRequest(rapid.IntRange(1, 50).Draw(t, "target"), turns(cycle, rapid.Int64Range(1, 500).Draw(t, "count")))
		at := chosen
		for range rapid.IntRange(1, 3).Draw(t, "stretches") {
			at = at.Add(time.Duration(rapid.Int64Range(1, int64(cycle)).Draw(t, "gap")/1000+1) * time.Microsecond)
			w := window.Window{From: at, To: at.Add(time.Duration(rapid.Int64Range(1, 2*cycle.Microseconds()).Draw(t, "length")) * time.Microsecond)}
			r.Owed, at = append(r.Owed, w), w.To
		}
		cut, err := Cut(r)
		if err != nil {
			t.Fatal(err)
		}
		var owned []window.Window
		seen := map[string]bool{}
		for _, s := range cut {
			owned = append(owned, s.Window)
			seen[s.Spec.Signature("s", "e", "UPDATE", "h")] = true
			want := refresh.Shares(s.Window, cycle)
			if len(want) != 1 || s.Spec.Range.From != want[0].From || s.Spec.Range.To != want[0].To || s.Spec.Owned() != s.Window {
				t.Fatalf("%+v, want %+v", s.Spec.Range, want)
			}
		}
		if len(seen) != len(cut) {
			t.Fatal("two slices have one signature")
		}
		for i, w := range owned[1:] {
			if w.From.Before(owned[i].To) {
				t.Fatalf("%s overlaps %s", w, owned[i])
			}
		}
		joined := window.Union(owned)
		for i, w := range window.Union(r.Owed) {
			if joined[i] != w {
				t.Fatalf("owed %s, sliced %s", w, joined[i])
			}
		}
	})
}

func TestNumbersTileWhatIsOwed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from := rapid.Int64Range(1, 1<<40).Draw(t, "from")
		to := from + rapid.Int64Range(1, 1<<42).Draw(t, "length")
		r := idRequest(rapid.IntRange(1, 50).Draw(t, "target"), &Candidates{Key: "signal_id", Kind: Number, Count: rapid.Int64Range(1, 500).Draw(t, "count"), AsOf: chosen, Refresh: &refresh.Spec{Policy: refresh.BySignal}})
		r.Owed = []window.Window{{From: time.UnixMicro(from).UTC(), To: time.UnixMicro(to).UTC()}}
		cut, err := Cut(r)
		if err != nil {
			t.Fatal(err)
		}
		at := from
		for _, s := range cut {
			g := s.Spec.Range
			if g.From != strconv.FormatInt(at, 10) || s.Window != (window.Window{}) {
				t.Fatalf("%+v does not begin at %d", g, at)
			}
			if at, err = strconv.ParseInt(g.To, 10, 64); err != nil {
				t.Fatal(err)
			}
		}
		if at != to {
			t.Fatalf("the ranges end at %d, not at %d", at, to)
		}
	})
}

func TestAboutAsManyInEachSlice(t *testing.T) {
	r := idRequest(100, turns(30*24*time.Hour, 1000))
	r.Owed = []window.Window{{From: chosen, To: chosen.Add(24 * time.Hour)}}
	cut, err := Cut(r)
	if err != nil || len(cut) < 10 || len(cut) > 12 || cut[0].Spec.Telemetry.Estimate.Count > 101 {
		t.Errorf("%d slices of %+v, %v", len(cut), cut[0].Spec.Telemetry.Estimate, err)
	}
}

func TestBadRangesAreRefused(t *testing.T) {
	for _, bad := range []Range{
		{"id", Number, "5", "", chosen}, {"id", Number, "", "5", chosen}, {"id", Number, "17", "5", chosen}, {"id", Number, "5", "x", chosen}, {"id", Number, "5", "17", time.Time{}},
		{"id", Hash, "0000", "", chosen}, {"id", Hash, "", "10.1000", chosen},
	} {
		if bad.Validate() == nil {
			t.Errorf("%+v accepted", bad)
		}
	}
	if err := (Range{"id", Number, "5", "17", chosen}).Validate(); err != nil {
		t.Error(err)
	}
}
