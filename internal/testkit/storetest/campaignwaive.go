package storetest

import (
	"reflect"
	"testing"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

// waivesCampaign rehearses, waives, and waives again: the last changes nothing (I8).
func (w *world) waivesCampaign(name string, within window.Window) view.CampaignWaived {
	w.Helper()
	rehearsal := w.by
	rehearsal.Rehearsal = true
	var rehearsed view.CampaignWaived
	w.unchanged("rehearsal", func() {
		var err error
		rehearsed, err = w.store.WaiveCampaign(w.ctx, name, within, rehearsal)
		w.must(err)
	})
	done, err := w.store.WaiveCampaign(w.ctx, name, within, w.by)
	w.must(err)
	if rehearsed.DryRun = false; !reflect.DeepEqual(rehearsed, done) {
		w.Errorf("rehearsed %+v, did %+v", rehearsed, done)
	}
	w.unchanged("repeated", func() {
		again, err := w.store.WaiveCampaign(w.ctx, name, within, w.by)
		w.must(err)
		if len(again.Waived.Waived) > 0 || again.State != done.State {
			w.Errorf("a second time %+v", again)
		}
	})
	return done
}

func (s suite) campaignWaive(t *testing.T) {
	all := old("", 1, 3)
	s.test(t, "a window that failed is waived: the campaign is complete and shows it", func(w *world) {
		c := w.campaign(newCampaign("old", 1, 3))
		w.plan(old("a", 1, 3))
		w.work(old("a", 1, 3), succeeded, failed, succeeded)
		if done, err := w.store.CompleteCampaign(w.ctx, c.ID); done || err != nil {
			w.Fatalf("completed %v, %v: a day failed", done, err)
		}
		done := w.waivesCampaign("old", march(1, 9))
		want := view.CampaignWaived{Name: "old", State: ingest.CampaignCompleted, Waived: view.Waived{
			CursorID: c.CursorID, Window: march(1, 4), Waived: []window.Window{march(2, 3)}, Before: window.Text(midnight(2)), After: window.Text(midnight(4)),
		}}
		if !reflect.DeepEqual(done, want) {
			w.Errorf("%+v, want %+v", done, want)
		}
		w.audited("campaign.waive", 1)
		w.audited("coverage.waive", 0)
		stored, _, err := w.store.Campaign(w.ctx, "old")
		w.must(err)
		v, err := w.store.ShowCampaign(w.ctx, stored)
		w.must(err)
		if v.State != ingest.CampaignCompleted || v.Percent != 100 || len(v.Failed) != 0 || !reflect.DeepEqual(v.Waived, []window.Window{march(2, 3)}) {
			w.Errorf("%+v", v)
		}
		w.verified(all)
	})
	s.test(t, "what else is owed stays owed, and a stopped campaign stays stopped", func(w *world) {
		w.campaign(newCampaign("old", 1, 3))
		if done := w.waivesCampaign("old", march(1, 2)); done.State != ingest.CampaignActive || done.Owed != 2*day {
			w.Errorf("%+v", done)
		}
		w.move("old", ingest.CampaignPaused)
		if done := w.waivesCampaign("old", march(2, 4)); done.State != ingest.CampaignPaused || done.Owed != 0 {
			w.Errorf("%+v", done)
		}
		w.verified(all)
	})
	s.test(t, "what was read before and lacks nothing shows nothing as waived", func(w *world) {
		c := w.campaign(newCampaign("old", 1, 1))
		w.waivesCampaign("old", march(1, 2))
		w.plan(old("a", 1, 1))
		w.work(old("a", 1, 1), succeeded)
		v, err := w.store.ShowCampaign(w.ctx, c)
		w.must(err)
		if len(v.Waived) != 0 {
			w.Errorf("read after all, and still shown as waived: %+v", v.Waived)
		}
	})
	s.test(t, "outside of its range nothing is waived", func(w *world) {
		w.campaign(newCampaign("old", 1, 3))
		w.unchanged("refused", func() {
			_, err := w.store.WaiveCampaign(w.ctx, "old", march(4, 5), w.by)
			w.refuses(err, fault.ErrInvalid, "waive another range")
			_, err = w.store.WaiveCampaign(w.ctx, "none", march(1, 2), w.by)
			w.refuses(err, fault.ErrNotFound, "waive what is not there")
		})
	})
}

// What was read is counted also when its plans are in files.
func (s suite) campaignArchived(t *testing.T) {
	s.test(t, "counts of a campaign stay when its plans leave for a file", func(w *world) {
		c := w.campaign(newCampaign("old", 1, 2))
		id := w.endedPlan(old("a", 1, 2))
		before, err := w.store.ShowCampaign(w.ctx, c)
		w.must(err)
		if before.Plans != 1 || before.Archived != 0 || before.Stats.Inserted != 2 {
			w.Fatalf("%+v", before)
		}
		shelf := newShelf()
		a, err := w.store.BeginPlanArchive(w.ctx, []int64{id})
		w.must(err)
		if during, err := w.store.ShowCampaign(w.ctx, c); err != nil || during.Plans != 1 || during.Stats != before.Stats {
			w.Errorf("counted twice while its file is written: %+v, %v", during, err)
		}
		name := a.FileName("test")
		_, err = w.store.NameArchive(w.ctx, a.ID, name)
		w.must(err)
		w.must(w.store.SealPlans(w.ctx, a.ID, shelf.put(name, w.planRows(a.PlanIDs...))))
		w.emptied(a, 100, func() {})
		after, err := w.store.ShowCampaign(w.ctx, c)
		w.must(err)
		if after.Plans != 1 || after.Archived != 1 || after.Stats != before.Stats {
			w.Errorf("%+v, before it was %+v", after, before)
		}
	})
}
