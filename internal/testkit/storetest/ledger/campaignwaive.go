package ledger

import (
	"reflect"
	"testing"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// waivesCampaign rehearses, waives, and waives again: the last changes nothing (I8).
func (w *world) waivesCampaign(name string, within window.Window) view.CampaignWaived {
	w.Helper()
	rehearsal := w.By
	rehearsal.Rehearsal = true
	var rehearsed view.CampaignWaived
	w.Unchanged("rehearsal", func() {
		var err error
		rehearsed, err = w.Store.WaiveCampaign(w.Ctx, name, within, rehearsal)
		w.Must(err)
	})
	done, err := w.Store.WaiveCampaign(w.Ctx, name, within, w.By)
	w.Must(err)
	if rehearsed.DryRun = false; !reflect.DeepEqual(rehearsed, done) {
		w.Errorf("rehearsed %+v, did %+v", rehearsed, done)
	}
	w.Unchanged("repeated", func() {
		again, err := w.Store.WaiveCampaign(w.Ctx, name, within, w.By)
		w.Must(err)
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
		w.Plan(old("a", 1, 3))
		w.Work(old("a", 1, 3), fixture.Succeeded, fixture.Failed, fixture.Succeeded)
		if done, err := w.Store.CompleteCampaign(w.Ctx, c.ID); done || err != nil {
			w.Fatalf("completed %v, %v: a day failed", done, err)
		}
		done := w.waivesCampaign("old", fixture.March(1, 9))
		want := view.CampaignWaived{Name: "old", State: ingest.CampaignCompleted, Waived: view.Waived{
			CursorID: c.CursorID, Window: fixture.March(1, 4), Waived: []window.Window{fixture.March(2, 3)}, Before: window.Text(fixture.Midnight(2)), After: window.Text(fixture.Midnight(4)),
		}}
		if !reflect.DeepEqual(done, want) {
			w.Errorf("%+v, want %+v", done, want)
		}
		w.audited("campaign.waive", 1)
		w.audited("coverage.waive", 0)
		stored, _, err := w.Store.Campaign(w.Ctx, "old")
		w.Must(err)
		v, err := w.Store.ShowCampaign(w.Ctx, stored)
		w.Must(err)
		if v.State != ingest.CampaignCompleted || v.Percent != 100 || len(v.Failed) != 0 || !reflect.DeepEqual(v.Waived, []window.Window{fixture.March(2, 3)}) {
			w.Errorf("%+v", v)
		}
		w.Verified(all)
	})
	s.test(t, "what else is owed stays owed, and a stopped campaign stays stopped", func(w *world) {
		w.campaign(newCampaign("old", 1, 3))
		if done := w.waivesCampaign("old", fixture.March(1, 2)); done.State != ingest.CampaignActive || done.Owed != 2*fixture.Day {
			w.Errorf("%+v", done)
		}
		w.move("old", ingest.CampaignPaused)
		if done := w.waivesCampaign("old", fixture.March(2, 4)); done.State != ingest.CampaignPaused || done.Owed != 0 {
			w.Errorf("%+v", done)
		}
		w.Verified(all)
	})
	s.test(t, "what was read before and lacks nothing shows nothing as waived", func(w *world) {
		c := w.campaign(newCampaign("old", 1, 1))
		w.waivesCampaign("old", fixture.March(1, 2))
		w.Plan(old("a", 1, 1))
		w.Work(old("a", 1, 1), fixture.Succeeded)
		v, err := w.Store.ShowCampaign(w.Ctx, c)
		w.Must(err)
		if len(v.Waived) != 0 {
			w.Errorf("read after all, and still shown as waived: %+v", v.Waived)
		}
	})
	s.test(t, "outside of its range nothing is waived", func(w *world) {
		w.campaign(newCampaign("old", 1, 3))
		w.Unchanged("refused", func() {
			_, err := w.Store.WaiveCampaign(w.Ctx, "old", fixture.March(4, 5), w.By)
			w.Refuses(err, fault.ErrInvalid, "waive another range")
			_, err = w.Store.WaiveCampaign(w.Ctx, "none", fixture.March(1, 2), w.By)
			w.Refuses(err, fault.ErrNotFound, "waive what is not there")
		})
	})
}

// What was read is counted also when its plans are in files.
func (s suite) campaignArchived(t *testing.T) {
	s.test(t, "counts of a campaign stay when its plans leave for a file", func(w *world) {
		c := w.campaign(newCampaign("old", 1, 2))
		id := w.EndedPlan(old("a", 1, 2))
		before, err := w.Store.ShowCampaign(w.Ctx, c)
		w.Must(err)
		if before.Plans != 1 || before.Archived != 0 || before.Stats.Inserted != 2 {
			w.Fatalf("%+v", before)
		}
		shelf := fixture.NewShelf()
		a, err := w.Store.BeginPlanArchive(w.Ctx, []int64{id})
		w.Must(err)
		if during, err := w.Store.ShowCampaign(w.Ctx, c); err != nil || during.Plans != 1 || !reflect.DeepEqual(during.Stats, before.Stats) {
			w.Errorf("counted twice while its file is written: %+v, %v", during, err)
		}
		name := a.FileName("test")
		_, err = w.Store.NameArchive(w.Ctx, a.ID, name)
		w.Must(err)
		w.Must(w.Store.SealPlans(w.Ctx, a.ID, shelf.Put(name, w.PlanRows(a.PlanIDs...))))
		w.Emptied(a, 100, func() {})
		after, err := w.Store.ShowCampaign(w.Ctx, c)
		w.Must(err)
		if after.Plans != 1 || after.Archived != 1 || !reflect.DeepEqual(after.Stats, before.Stats) {
			w.Errorf("%+v, before it was %+v", after, before)
		}
	})
}
