package ledger

import (
	"reflect"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// old is a plan of a campaign's cursor: backfills of the harvests here share one.
func old(trigger string, first, days int) fixture.Harvest {
	return fixture.Harvest{Operation: ingest.Backfill, Trigger: trigger, First: first, Days: days}
}

func newCampaign(name string, first, days int) ingest.NewCampaign {
	h := old("", first, days)
	return ingest.NewCampaign{
		Name: name, Dataset: h.Partition().Dataset, Namespace: h.Namespace(), ExprProtoHash: fingerprint.Key(fixture.Everything), Range: h.Window(), Typed: "a..b",
		Order: ingest.NewestFirst, Chunk: 2 * fixture.Day, Overrides: []string{"rate.perSecond=1"}, AsOf: fixture.Noon,
	}
}

func (w *world) campaign(in ingest.NewCampaign) ingest.Campaign {
	w.Helper()
	c, existed, err := w.Store.OpenCampaign(w.Ctx, in, w.By)
	w.Must(err)
	if existed {
		w.Fatalf("campaign %s existed", in.Name)
	}
	return c
}

func (w *world) move(name string, to ingest.CampaignState) ingest.Campaign {
	w.Helper()
	c, changed, err := w.Store.MoveCampaign(w.Ctx, name, to, w.By)
	w.Must(err)
	if !changed || c.State != to {
		w.Errorf("%s became %s, changed %v", name, c.State, changed)
	}
	return c
}

// claimable claims what can be claimed and tells how much that is.
func (w *world) claimable(h fixture.Harvest) int {
	w.Helper()
	work, err := w.Store.Claim(w.Ctx, w.Request(h, 10))
	w.Must(err)
	return len(work)
}

func (s suite) campaigns(t *testing.T) {
	s.test(t, "what was stored is read back, and asked for again it is the same", func(w *world) {
		in := newCampaign("old", 1, 6)
		c := w.campaign(in)
		in.AsOf = time.Time{} // is in the ledger
		want := ingest.Campaign{NewCampaign: in, ID: c.ID, CursorID: c.CursorID, State: ingest.CampaignActive, Actor: "tester", Reason: "because", Since: fixture.Noon, CreatedAt: fixture.Noon}
		again, known, err := w.Store.Campaign(w.Ctx, "old")
		w.Must(err)
		if !known || !reflect.DeepEqual(again, want) || !reflect.DeepEqual(c, want) {
			w.Errorf("got\n%+v and\n%+v, want\n%+v", c, again, want)
		}
		w.Unchanged("the same again", func() {
			if c, existed, err := w.Store.OpenCampaign(w.Ctx, newCampaign("old", 1, 6), fixture.Tester); err != nil || !existed || !reflect.DeepEqual(c, want) {
				w.Errorf("%+v, %v, %v", c, existed, err)
			}
		})
		changed := newCampaign("old", 1, 6)
		changed.Order, changed.Chunk = ingest.OldestFirst, fixture.Day
		if c, _, err := w.Store.OpenCampaign(w.Ctx, changed, fixture.Tester); err != nil || c.Order != ingest.OldestFirst || c.Chunk != fixture.Day {
			w.Errorf("%+v, %v", c, err)
		}
		_, _, err = w.Store.OpenCampaign(w.Ctx, newCampaign("old", 1, 7), fixture.Tester)
		w.Refuses(err, fault.ErrConflict, "another range under the same name")
		if _, known, err := w.Store.Campaign(w.Ctx, "other"); known || err != nil {
			w.Errorf("known %v, %v", known, err)
		}
		if all, err := w.Store.Campaigns(w.Ctx, "crossref", ingest.CampaignActive); err != nil || len(all) != 1 {
			w.Errorf("%d, %v", len(all), err)
		}
		if all, err := w.Store.Campaigns(w.Ctx, "", ingest.CampaignPaused); err != nil || len(all) != 0 {
			w.Errorf("%d, %v", len(all), err)
		}
	})
	s.test(t, "all of the range is wanted from the start, apart from what was read before", func(w *world) {
		w.Plan(old("before", 5, 1))
		w.Work(old("before", 5, 1), fixture.Succeeded)
		c := w.campaign(newCampaign("old", 1, 6))
		segments, err := w.Store.Segments(w.Ctx, c.CursorID)
		w.Must(err)
		var wanted, done []window.Window
		for _, seg := range segments {
			if seg.Done() {
				done = append(done, seg.Window)
			} else if !seg.Want.IsZero() {
				wanted = append(wanted, seg.Window)
			}
		}
		if !reflect.DeepEqual(wanted, []window.Window{fixture.March(1, 5), fixture.March(6, 7)}) || !reflect.DeepEqual(done, []window.Window{fixture.March(5, 6)}) {
			w.Errorf("wanted %v, done %v", wanted, done)
		}
		p, err := w.Store.CampaignProgress(w.Ctx, c)
		w.Must(err)
		if p.Done != fixture.Day || p.Total != 6*fixture.Day {
			w.Errorf("%+v", p)
		}
		w.Verified(old("", 1, 6))
	})
	s.test(t, "the cursor does not pass what is not read, whatever part comes first", func(w *world) {
		c := w.campaign(newCampaign("old", 1, 4))
		w.Plan(old("new", 3, 2))
		w.Work(old("new", 3, 2), fixture.Succeeded, fixture.Succeeded)
		w.CursorAt(old("", 1, 4), 1)
		if done, err := w.Store.CompleteCampaign(w.Ctx, c.ID); done || err != nil {
			w.Errorf("completed %v, %v: half of it is owed", done, err)
		}
		w.Plan(old("rest", 1, 2))
		w.Work(old("rest", 1, 2), fixture.Succeeded, fixture.Succeeded)
		w.CursorAt(old("", 1, 4), 5)
		if done, err := w.Store.CompleteCampaign(w.Ctx, c.ID); !done || err != nil {
			w.Errorf("completed %v, %v", done, err)
		}
		w.Unchanged("completed again", func() {
			if done, err := w.Store.CompleteCampaign(w.Ctx, c.ID); !done || err != nil {
				w.Errorf("completed %v, %v", done, err)
			}
		})
		_, _, err := w.Store.MoveCampaign(w.Ctx, "old", ingest.CampaignCancelled, fixture.Tester)
		w.Refuses(err, fault.ErrConflict, "cancel a completed campaign")
		w.Verified(old("", 1, 4))
		v, err := w.Store.ShowCampaign(w.Ctx, c)
		w.Must(err)
		if v.Percent != 100 || v.Plans != 2 || len(v.Open) != 0 || len(v.Failed) != 0 {
			w.Errorf("%+v", v)
		}
	})
	s.test(t, "what is owed again makes a completed campaign go on", func(w *world) {
		c := w.campaign(newCampaign("old", 1, 1))
		w.Plan(old("a", 1, 1))
		w.Work(old("a", 1, 1), fixture.Succeeded)
		_, err := w.Store.CompleteCampaign(w.Ctx, c.ID)
		w.Must(err)
		again := old("b", 1, 1)
		again.AsOf = fixture.Noon.Add(time.Hour)
		w.Plan(again)
		if c, _, err := w.Store.OpenCampaign(w.Ctx, newCampaign("old", 1, 1), fixture.Tester); err != nil || c.State != ingest.CampaignActive {
			w.Errorf("%s, %v", c.State, err)
		}
	})
	s.test(t, "tasks of a paused campaign are not claimed, others are", func(w *world) {
		c := w.campaign(newCampaign("old", 1, 3))
		first := w.Plan(old("a", 1, 2))
		running := w.Begin(old("a", 1, 2))
		if running.Run.Pause {
			w.Error("told of a pause that is not")
		}
		w.move("old", ingest.CampaignPaused)
		if n := w.claimable(old("a", 1, 2)); n != 0 {
			w.Errorf("claimed %d tasks of a paused campaign", n)
		}
		held, err := w.Store.Renew(w.Ctx, running.Work.Lease, fixture.Lease)
		w.Must(err)
		if !held.Pause || held.Cancel || !running.Commit(fixture.Item("a", "x", fixture.Noon)).Pause {
			w.Error("the worker is not told of the pause")
		}
		_, _, err = w.Store.OpenPlan(w.Ctx, old("b", 3, 1).NewPlan(1))
		w.Refuses(err, fault.ErrConflict, "a plan in a paused campaign")
		_, open, err := w.Store.CampaignPlans(w.Ctx, c.CursorID)
		w.Must(err)
		if len(open) != 1 || open[0].ID != first.ID || !open[0].Held || open[0].OldestFirst || !reflect.DeepEqual(open[0].Owed, []window.Window{fixture.March(1, 3)}) {
			w.Errorf("%+v", open)
		}
		daily := fixture.Harvest{Trigger: "daily"}
		w.Plan(daily)
		if n := w.claimable(daily); n != 3 {
			w.Errorf("claimed %d tasks of the harvest", n)
		}
		w.move("old", ingest.CampaignActive)
		if running.Commit(fixture.Item("b", "x", fixture.Noon)).Pause || w.claimable(old("a", 1, 2)) != 1 {
			w.Error("the pause goes on")
		}
	})
	s.test(t, "a cancelled campaign takes no plan, and may be taken up again", func(w *world) {
		c := w.campaign(newCampaign("old", 1, 3))
		w.move("old", ingest.CampaignCancelled)
		id, err := w.Store.RecordTrigger(w.Ctx, old("a", 1, 1).NewTrigger())
		w.Must(err)
		_, _, err = w.Store.OpenPlan(w.Ctx, old("a", 1, 1).NewPlan(id))
		w.Refuses(err, fault.ErrConflict, "a plan in a cancelled campaign")
		if done, err := w.Store.CompleteCampaign(w.Ctx, c.ID); done || err != nil {
			w.Errorf("completed %v, %v", done, err)
		}
		w.move("old", ingest.CampaignActive)
		w.Plan(old("a", 1, 1))
	})
	s.test(t, "the audit log names who, what and why; a rehearsal leaves nothing", func(w *world) {
		w.campaign(newCampaign("old", 1, 3))
		w.Unchanged("rehearsal", func() {
			c, changed, err := w.Store.MoveCampaign(w.Ctx, "old", ingest.CampaignPaused, ingest.Act{Actor: "a", Reason: "b", Rehearsal: true})
			w.Must(err)
			if !changed || c.State != ingest.CampaignPaused || c.Actor != "a" {
				w.Errorf("%+v, %v", c, changed)
			}
		})
		w.move("old", ingest.CampaignPaused)
		w.Unchanged("paused twice", func() {
			if _, changed, err := w.Store.MoveCampaign(w.Ctx, "old", ingest.CampaignPaused, ingest.Act{Actor: "other"}); changed || err != nil {
				w.Errorf("%v, %v", changed, err)
			}
		})
		w.move("old", ingest.CampaignActive)
		w.move("old", ingest.CampaignCancelled)
		for i, action := range []string{"open", "pause", "resume", "cancel"} {
			want := "tester campaign." + action + " campaign/old because"
			if got := w.Text("SELECT CONCAT(actor, ' ', action, ' ', object, ' ', reason) FROM ing_audit_log WHERE id = ?", i+1); got != want {
				w.Errorf("entry %q, want %q", got, want)
			}
		}
		_, _, err := w.Store.MoveCampaign(w.Ctx, "none", ingest.CampaignPaused, fixture.Tester)
		w.Refuses(err, fault.ErrNotFound, "pause what is not there")
		_, _, err = w.Store.MoveCampaign(w.Ctx, "old", ingest.CampaignPaused, fixture.Tester)
		w.Refuses(err, fault.ErrConflict, "pause what is cancelled")
	})
	s.test(t, "failed windows are told with when they are tried again", func(w *world) {
		c := w.campaign(newCampaign("old", 1, 3))
		w.Plan(old("a", 1, 3))
		w.Work(old("a", 1, 3), fixture.Succeeded, fixture.Failed)
		v, err := w.Store.ShowCampaign(w.Ctx, c)
		w.Must(err)
		if len(v.Failed) != 1 || v.Failed[0] != fixture.March(2, 3) || !v.NextRetry.Equal(fixture.Noon.Add(time.Minute)) || v.Waiting != 1 || v.Done != fixture.Day {
			w.Errorf("%+v", v)
		}
	})
	s.test(t, "of many who begin and stop at once each finds one truth", func(w *world) {
		handles := w.Handles(4)
		w.Together(8, func(i int) error {
			_, _, err := handles[i%4].OpenCampaign(w.Ctx, newCampaign("old", 1, 3), fixture.Tester)
			if err == nil {
				_, _, err = handles[i%4].MoveCampaign(w.Ctx, "old", ingest.CampaignPaused, fixture.Tester)
			}
			return err
		})
		if n := w.Number("SELECT COUNT(*) FROM ing_audit_log"); n != 2 {
			w.Errorf("%d entries, want one of the beginning and one of the pause", n)
		}
		if n := w.Number("SELECT COUNT(*) FROM ing_cursor_event"); n != 1 {
			w.Errorf("the range is wanted %d times", n)
		}
	})
	s.test(t, "a note says why nothing goes on", func(w *world) {
		c := w.campaign(newCampaign("old", 1, 3))
		w.Must(w.Store.NoteCampaign(w.Ctx, c.ID, "the source is gone"))
		if c, _, err := w.Store.Campaign(w.Ctx, "old"); err != nil || c.Note != "the source is gone" {
			w.Errorf("%+v, %v", c, err)
		}
		w.Must(w.Store.NoteCampaign(w.Ctx, c.ID, ""))
		if c, _, err := w.Store.Campaign(w.Ctx, "old"); err != nil || c.Note != "" {
			w.Errorf("%+v, %v", c, err)
		}
	})
}

func lossyCampaign() []lossy {
	act := func(name string, to ingest.CampaignState) lossy {
		return lossy{"move campaign", name, func(w *world) func() (answer, error) {
			w.campaign(newCampaign("old", 1, 3))
			return func() (answer, error) {
				c, _, err := w.Store.MoveCampaign(w.Ctx, "old", to, fixture.Tester)
				return c, err
			}
		}}
	}
	return []lossy{
		{"open campaign", "open campaign", func(w *world) func() (answer, error) {
			return func() (answer, error) {
				c, _, err := w.Store.OpenCampaign(w.Ctx, newCampaign("old", 1, 3), fixture.Tester)
				return c, err
			}
		}},
		act("pause campaign", ingest.CampaignPaused),
		act("cancel campaign", ingest.CampaignCancelled),
		{"complete campaign", "complete campaign", func(w *world) func() (answer, error) {
			c := w.campaign(newCampaign("old", 1, 1))
			w.Plan(old("a", 1, 1))
			w.Work(old("a", 1, 1), fixture.Succeeded)
			return func() (answer, error) { return w.Store.CompleteCampaign(w.Ctx, c.ID) }
		}},
		{"waive campaign", "waive campaign", func(w *world) func() (answer, error) {
			w.campaign(newCampaign("old", 1, 3))
			return func() (answer, error) {
				_, err := w.Store.WaiveCampaign(w.Ctx, "old", fixture.March(1, 4), w.By)
				return nil, err
			}
		}},
		{"note campaign", "note campaign", func(w *world) func() (answer, error) {
			c := w.campaign(newCampaign("old", 1, 1))
			return func() (answer, error) { return nil, w.Store.NoteCampaign(w.Ctx, c.ID, "why") }
		}},
	}
}
