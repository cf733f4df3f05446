package planner

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/window"
)

// harvester is a source harvested again and again. What was read it knows by
// itself, without the book: the book is what is on trial.
type harvester struct {
	c    *spec.Compiled
	book coverage.State
	now  time.Time
	read []reading
	from time.Time // start of the first window
}

type reading struct {
	window.Window
	asOf time.Time
}

// someSource draws what the windows of a source depend on.
func someSource(t *rapid.T, outer *testing.T) *spec.Compiled {
	hours := func(name string, least, most int) string {
		return fmt.Sprintf("PT%dH", rapid.IntRange(least, most).Draw(t, name))
	}
	settings := []string{
		"window.lookback=" + hours("lookback", 0, 60), "window.safetyLag=" + hours("lag", 0, 12), "window.size=" + hours("size", 25, 90),
		"slicing.step=" + hours("step", 1, 50),
		"filter.zone=" + rapid.SampledFrom([]string{"UTC", "America/New_York", "Asia/Kolkata", "Pacific/Apia", "-03:30"}).Draw(t, "zone"),
		"filter.precision=" + rapid.SampledFrom([]string{"DAY", "MINUTE", "SECOND"}).Draw(t, "precision"),
	}
	if unit := rapid.SampledFrom([]string{"", "HOUR", "DAY"}).Draw(t, "align"); unit != "" {
		settings = append(settings, "window.mode=CALENDAR", "window.align="+unit)
	}
	return crossref(outer, settings...)
}

// harvest plans, and lets each slice end as told.
func (h *harvester) harvest(t *rapid.T, end func(DraftSlice) coverage.Kind) *drawing {
	r := ask("a")
	r.Now = h.now
	d, err := drawPlan(h.c, Inputs{Own: h.book, Known: !h.book.Origin.IsZero()}, r)
	if err != nil {
		t.Fatalf("%v", err)
	}
	if d.Empty {
		return d
	}
	tiles(t, d.Draft)
	if h.from.IsZero() {
		h.from = d.Window.From
	}
	h.book = coverage.Fold(h.book, coverage.Event{
		Kind: coverage.Planned, Windows: d.owed, AsOf: d.NowSafe, At: h.now, Lookback: h.c.Snapshot.Window.Lookback.Std(),
	})
	for _, s := range d.Slices {
		w := window.Window{From: s.From, To: s.To}
		kind := end(s)
		if kind == "" {
			continue // its worker died, and nobody took over yet
		}
		if kind == coverage.Succeeded {
			h.read = append(h.read, reading{w, d.NowSafe})
		}
		h.book = coverage.Fold(h.book, coverage.Event{Kind: kind, Windows: []window.Window{w}, AsOf: d.NowSafe, At: h.now})
	}
	return d
}

// owes is what of a stretch was never read late enough for items that come as
// late as the lookback: the law, from first principles.
func (h *harvester) owes(w window.Window) []window.Window {
	lookback := h.c.Snapshot.Window.Lookback.Std()
	var settled []window.Window
	for _, r := range h.read {
		part := r.Window
		if final := r.asOf.Add(-lookback); final.Before(part.To) {
			part.To = final
		}
		if !part.Empty() {
			settled = append(settled, part)
		}
	}
	return window.Subtract(w, settled)
}

// Windows of successive harvests leave no gap, whatever failed in between: from
// the first instant on, everything that was not read for good is in the next
// plan, to be read or listed as waiting for its retry.
func TestSuccessiveHarvestsLeaveNoGap(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := &harvester{c: someSource(rt, t), now: noon}
		ends := []coverage.Kind{coverage.Succeeded, coverage.Succeeded, coverage.Failed, ""}
		for range rapid.IntRange(1, 8).Draw(rt, "harvests") {
			h.now = h.now.Add(time.Duration(rapid.Int64Range(int64(time.Second), int64(40*time.Hour)).Draw(rt, "pause"))).Truncate(time.Microsecond)
			before := *h
			d := h.harvest(rt, func(DraftSlice) coverage.Kind { return rapid.SampledFrom(ends).Draw(rt, "end") })
			parts := slices.Clone(d.Waiting)
			for _, s := range d.Slices {
				parts = append(parts, window.Window{From: s.From, To: s.To})
			}
			before.from = h.from
			for _, gap := range before.owes(window.Window{From: before.from, To: at(step(d.Draft, "to").Value)}) {
				if left := window.Subtract(gap, parts); len(left) > 0 {
					rt.Fatalf("harvest of %s: %v was never read for good and is not planned\nslices %v\nskipped %v\nwaiting %v", d.Window, left, d.Slices, d.Skipped, d.Waiting)
				}
			}
		}
		// Once nothing fails any more and every retry is due, one harvest is enough.
		h.now = h.now.Add(90 * 24 * time.Hour)
		last := h.harvest(rt, func(DraftSlice) coverage.Kind { return coverage.Succeeded })
		if last.Empty || len(last.Waiting) != 0 {
			rt.Fatalf("%+v", last)
		}
		whole := window.Window{From: h.from, To: last.Window.To}
		var read []window.Window
		for _, r := range h.read {
			read = append(read, r.Window)
		}
		if left := window.Subtract(whole, read); len(left) > 0 || !h.book.Cursor.Equal(whole.To) {
			rt.Fatalf("in the end %v of %s was never read; the cursor stands at %s", left, whole, h.book.Cursor)
		}
	})
}

// Without failures the windows are those of W§3.2, worked out here by hand: from
// the watermark less the lookback to what is safe now, both rounded down. Only
// what was read for good is left out of them (D§5.7), at worst all of it.
func TestSuccessiveHarvestsEqualTheSpecification(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := &harvester{c: someSource(rt, t), now: noon}
		cfg := h.c.Snapshot.Window
		down := func(at time.Time) time.Time {
			switch {
			case cfg.Mode == window.Sliding:
				return at
			case cfg.Align == window.Hour:
				return at.Truncate(time.Hour)
			}
			return time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, time.UTC)
		}
		var watermark time.Time
		for range rapid.IntRange(1, 8).Draw(rt, "harvests") {
			h.now = h.now.Add(time.Duration(rapid.Int64Range(0, int64(40*time.Hour)).Draw(rt, "pause"))).Truncate(time.Microsecond)
			safe := h.now.Add(-cfg.SafetyLag.Std())
			from := safe.Add(-cfg.Size.Std())
			if !watermark.IsZero() {
				from = watermark.Add(-cfg.Lookback.Std())
			}
			want := window.Window{From: down(from), To: down(safe)}
			d := h.harvest(rt, func(DraftSlice) coverage.Kind { return coverage.Succeeded })
			for _, skipped := range d.Skipped {
				if left := h.owes(skipped); len(left) > 0 {
					rt.Fatalf("%v is skipped and was not read for good", left)
				}
			}
			switch {
			case want.Empty() && d.Empty, d.Empty && slices.Equal(d.Skipped, []window.Window{want}):
			case d.Empty || *d.Window != want || len(d.Waiting) != 0:
				rt.Fatalf("%v (empty %v: %s; waiting %v), the specification has %s", d.Window, d.Empty, d.Reason, d.Waiting, want)
			default:
				watermark = want.To
			}
		}
	})
}
