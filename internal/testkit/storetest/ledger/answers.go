package ledger

import (
	"slices"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/skew"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// hourOff is what a run learned whose filter is an hour off its stamps.
func hourOff(dated, outside int) (s ingest.RunStats) {
	s.Dated = dated
	for i := range outside {
		s.Apart.Note(time.Hour * time.Duration(i+1) / time.Duration(outside))
	}
	return s
}

// doubts are those of the source of a test.
func (w *world) doubts(want int) []view.Doubt {
	w.Helper()
	got, err := w.Store.Doubts(w.Ctx, "crossref")
	w.Must(err)
	if len(got) != want {
		w.Fatalf("%d doubts, want %d: %+v", len(got), want, got)
	}
	return got
}

func (s suite) answers(t *testing.T) {
	h := fixture.Harvest{Days: 4}
	finished := func(w *world, stats ingest.RunStats) {
		w.Helper()
		o := fixture.Succeeded
		o.Stats = stats
		w.Begin(h).Finish(o)
	}
	s.test(t, "Believe01: what runs learned of a filter adds up", func(w *world) {
		w.Plan(h)
		w.doubts(0)
		finished(w, hourOff(100, 30))
		finished(w, hourOff(100, 33))
		finished(w, ingest.RunStats{Dated: 10})
		w.Clock.Advance(24 * time.Hour)
		o := fixture.Again
		o.Stats = hourOff(50, 0)
		w.Begin(h).Finish(o)
		d := w.doubts(1)[0]
		if d.Dated != 260 || d.Outside != 63 || d.MaxShare != skew.DefaultShare || d.Operation != "HARVEST" || len(d.Findings()) != 1 {
			w.Errorf("%+v", d)
		}
		if other, err := w.Store.Doubts(w.Ctx, "pubmed"); err != nil || len(other) != 0 {
			w.Errorf("%+v %v", other, err)
		}
		w.Clock.Advance(view.DoubtDays * 24 * time.Hour)
		w.doubts(0)
	})
	s.test(t, "Believe01: a run that ended twice counts once, and one that died counts", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		o := fixture.Succeeded
		o.Stats = hourOff(10, 5)
		a.Finish(o)
		w.Unchanged("finished again", func() { a.Finish(o) })
		b := w.Begin(h)
		page := b.Page(fixture.Item("a", "x", fixture.Noon))
		page.RunStats = hourOff(7, 4)
		page.OutsideKept = 1
		b.Store(page)
		w.Clock.Advance(2 * fixture.Lease)
		w.reaps(10, 1)
		if d := w.doubts(1)[0]; d.Dated != 17 || d.Outside != 9 {
			w.Errorf("%+v", d)
		}
	})
	s.test(t, "Believe01: a changed source file starts anew", func(w *world) {
		h := fixture.Harvest{Days: 1}
		w.Plan(h)
		finished(w, hourOff(100, 63))
		w.Clock.Advance(time.Minute)
		mended := fixture.Harvest{Days: 1, Trigger: "mended"}
		id, err := w.Store.RecordTrigger(w.Ctx, mended.NewTrigger())
		w.Must(err)
		p := mended.NewPlan(id)
		p.SpecFingerprint, p.Spec = fingerprint.Key("spec", "mended"), []byte(`{"filter":{"field":"indexed","maxOutsideShare":0.5}}`)
		plan, _, err := w.Store.OpenPlan(w.Ctx, p)
		w.Must(err)
		w.Must(w.Store.AddSlices(w.Ctx, plan.ID, mended.NewSlices(), true))
		finished(w, hourOff(100, 40))
		if d := w.doubts(1)[0]; d.Dated != 100 || d.Outside != 40 || d.MaxShare != 0.5 || len(d.Findings()) != 0 {
			w.Errorf("%+v", d)
		}
	})
	s.test(t, "lists that are not in their order", func(w *world) {
		w.Plan(h)
		finished(w, ingest.RunStats{Unsorted: 1})
		finished(w, ingest.RunStats{Unsorted: 2, Dated: 5})
		if d := w.doubts(1)[0]; d.Unsorted != 3 || d.Dated != 5 || !slices.Equal(d.Findings(), []view.FindingCode{view.FoundUnsorted}) {
			w.Errorf("%+v", d)
		}
	})
	s.test(t, "members of a pool that are refused until they serve", func(w *world) {
		w.Plan(h)
		finished(w, ingest.RunStats{Members: ingest.MemberTally{"library": {Requests: 3}, "physics": {Requests: 1, Refused: "HTTP 401"}}})
		d := w.doubts(1)[0]
		if !slices.Equal(d.Findings(), []view.FindingCode{view.FoundMember}) || !slices.Equal(d.RefusedMembers(), []string{"physics"}) || d.Members["physics"].Why != "HTTP 401" {
			w.Errorf("%+v", d)
		}
		w.Clock.Advance(24 * time.Hour)
		finished(w, ingest.RunStats{Members: ingest.MemberTally{"library": {Requests: 3}}})
		if d := w.doubts(1)[0]; len(d.Findings()) != 1 {
			w.Errorf("another member served: %+v", d)
		}
		w.Clock.Advance(time.Minute)
		b := w.Begin(h) // that it died does not matter
		page := b.Page(fixture.Item("a", "x", fixture.Noon))
		page.RunStats = ingest.RunStats{Members: ingest.MemberTally{"physics": {Requests: 2}}}
		b.Store(page)
		w.Clock.Advance(2 * fixture.Lease)
		w.reaps(10, 1)
		if d := w.doubts(1)[0]; len(d.Findings()) != 0 {
			w.Errorf("it served: %+v", d)
		}
	})
	s.test(t, "records below parents that had not changed", func(w *world) {
		w.Plan(h)
		finished(w, ingest.RunStats{BatchStats: ingest.BatchStats{Swept: 1}})
		finished(w, ingest.RunStats{BatchStats: ingest.BatchStats{Swept: 2}, Dated: 5})
		if d := w.doubts(1)[0]; d.Swept != 3 || d.Dated != 5 || !slices.Equal(d.Findings(), []view.FindingCode{view.FoundUnannounced}) {
			w.Errorf("%+v", d)
		}
	})
	s.test(t, "Believe02: lists that brought less than was estimated", func(w *world) {
		w.Plan(h)
		finished(w, ingest.RunStats{Lists: 1})
		finished(w, ingest.RunStats{Lists: 1, ShortLists: 1, Announced: 13, Delivered: 12})
		if d := w.doubts(1)[0]; d.Lists != 2 || d.ShortLists != 1 || d.Announced != 13 || d.Delivered != 12 || len(d.Findings()) != 1 {
			w.Errorf("%+v", d)
		}
	})
}
