package storetest

import (
	"reflect"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/window"
)

// old is a plan of a campaign's cursor: backfills of the harvests here share one.
func old(trigger string, first, days int) harvest {
	return harvest{operation: ingest.Backfill, trigger: trigger, first: first, days: days}
}

func newCampaign(name string, first, days int) ingest.NewCampaign {
	h := old("", first, days)
	return ingest.NewCampaign{
		Name: name, Dataset: h.partition().Dataset, Namespace: h.namespace(), ExprProtoHash: fingerprint.Key(everything), Range: h.window(), Typed: "a..b",
		Order: ingest.NewestFirst, Chunk: 2 * day, Overrides: []string{"rate.perSecond=1"}, AsOf: noon,
	}
}

func (w *world) campaign(in ingest.NewCampaign) ingest.Campaign {
	w.Helper()
	c, existed, err := w.store.OpenCampaign(w.ctx, in, w.by)
	w.must(err)
	if existed {
		w.Fatalf("campaign %s existed", in.Name)
	}
	return c
}

func (w *world) move(name string, to ingest.CampaignState) ingest.Campaign {
	w.Helper()
	c, changed, err := w.store.MoveCampaign(w.ctx, name, to, w.by)
	w.must(err)
	if !changed || c.State != to {
		w.Errorf("%s became %s, changed %v", name, c.State, changed)
	}
	return c
}

// claimable claims what can be claimed and tells how much that is.
func (w *world) claimable(h harvest) int {
	w.Helper()
	work, err := w.store.Claim(w.ctx, w.request(h, 10))
	w.must(err)
	return len(work)
}

func (s suite) campaigns(t *testing.T) {
	s.test(t, "what was stored is read back, and asked for again it is the same", func(w *world) {
		in := newCampaign("old", 1, 6)
		c := w.campaign(in)
		in.AsOf = time.Time{} // is in the ledger
		want := ingest.Campaign{NewCampaign: in, ID: c.ID, CursorID: c.CursorID, State: ingest.CampaignActive, Actor: "tester", Reason: "because", Since: noon, CreatedAt: noon}
		again, known, err := w.store.Campaign(w.ctx, "old")
		w.must(err)
		if !known || !reflect.DeepEqual(again, want) || !reflect.DeepEqual(c, want) {
			w.Errorf("got\n%+v and\n%+v, want\n%+v", c, again, want)
		}
		w.unchanged("the same again", func() {
			if c, existed, err := w.store.OpenCampaign(w.ctx, newCampaign("old", 1, 6), tester); err != nil || !existed || !reflect.DeepEqual(c, want) {
				w.Errorf("%+v, %v, %v", c, existed, err)
			}
		})
		changed := newCampaign("old", 1, 6)
		changed.Order, changed.Chunk = ingest.OldestFirst, day
		if c, _, err := w.store.OpenCampaign(w.ctx, changed, tester); err != nil || c.Order != ingest.OldestFirst || c.Chunk != day {
			w.Errorf("%+v, %v", c, err)
		}
		_, _, err = w.store.OpenCampaign(w.ctx, newCampaign("old", 1, 7), tester)
		w.refuses(err, fault.ErrConflict, "another range under the same name")
		if _, known, err := w.store.Campaign(w.ctx, "other"); known || err != nil {
			w.Errorf("known %v, %v", known, err)
		}
		if all, err := w.store.Campaigns(w.ctx, "crossref", ingest.CampaignActive); err != nil || len(all) != 1 {
			w.Errorf("%d, %v", len(all), err)
		}
		if all, err := w.store.Campaigns(w.ctx, "", ingest.CampaignPaused); err != nil || len(all) != 0 {
			w.Errorf("%d, %v", len(all), err)
		}
	})
	s.test(t, "all of the range is wanted from the start, apart from what was read before", func(w *world) {
		w.plan(old("before", 5, 1))
		w.work(old("before", 5, 1), succeeded)
		c := w.campaign(newCampaign("old", 1, 6))
		segments, err := w.store.Segments(w.ctx, c.CursorID)
		w.must(err)
		var wanted, done []window.Window
		for _, seg := range segments {
			if seg.Done() {
				done = append(done, seg.Window)
			} else if !seg.Want.IsZero() {
				wanted = append(wanted, seg.Window)
			}
		}
		if !reflect.DeepEqual(wanted, []window.Window{march(1, 5), march(6, 7)}) || !reflect.DeepEqual(done, []window.Window{march(5, 6)}) {
			w.Errorf("wanted %v, done %v", wanted, done)
		}
		p, err := w.store.CampaignProgress(w.ctx, c)
		w.must(err)
		if p.Done != day || p.Total != 6*day {
			w.Errorf("%+v", p)
		}
		w.verified(old("", 1, 6))
	})
	s.test(t, "the cursor does not pass what is not read, whatever part comes first", func(w *world) {
		c := w.campaign(newCampaign("old", 1, 4))
		w.plan(old("new", 3, 2))
		w.work(old("new", 3, 2), succeeded, succeeded)
		w.cursorAt(old("", 1, 4), 1)
		if done, err := w.store.CompleteCampaign(w.ctx, c.ID); done || err != nil {
			w.Errorf("completed %v, %v: half of it is owed", done, err)
		}
		w.plan(old("rest", 1, 2))
		w.work(old("rest", 1, 2), succeeded, succeeded)
		w.cursorAt(old("", 1, 4), 5)
		if done, err := w.store.CompleteCampaign(w.ctx, c.ID); !done || err != nil {
			w.Errorf("completed %v, %v", done, err)
		}
		w.unchanged("completed again", func() {
			if done, err := w.store.CompleteCampaign(w.ctx, c.ID); !done || err != nil {
				w.Errorf("completed %v, %v", done, err)
			}
		})
		_, _, err := w.store.MoveCampaign(w.ctx, "old", ingest.CampaignCancelled, tester)
		w.refuses(err, fault.ErrConflict, "cancel a completed campaign")
		w.verified(old("", 1, 4))
		v, err := w.store.ShowCampaign(w.ctx, c)
		w.must(err)
		if v.Percent != 100 || v.Plans != 2 || len(v.Open) != 0 || len(v.Failed) != 0 {
			w.Errorf("%+v", v)
		}
	})
	s.test(t, "what is owed again makes a completed campaign go on", func(w *world) {
		c := w.campaign(newCampaign("old", 1, 1))
		w.plan(old("a", 1, 1))
		w.work(old("a", 1, 1), succeeded)
		_, err := w.store.CompleteCampaign(w.ctx, c.ID)
		w.must(err)
		again := old("b", 1, 1)
		again.asOf = noon.Add(time.Hour)
		w.plan(again)
		if c, _, err := w.store.OpenCampaign(w.ctx, newCampaign("old", 1, 1), tester); err != nil || c.State != ingest.CampaignActive {
			w.Errorf("%s, %v", c.State, err)
		}
	})
	s.test(t, "tasks of a paused campaign are not claimed, others are", func(w *world) {
		c := w.campaign(newCampaign("old", 1, 3))
		first := w.plan(old("a", 1, 2))
		running := w.begin(old("a", 1, 2))
		if running.run.Pause {
			w.Error("told of a pause that is not")
		}
		w.move("old", ingest.CampaignPaused)
		if n := w.claimable(old("a", 1, 2)); n != 0 {
			w.Errorf("claimed %d tasks of a paused campaign", n)
		}
		held, err := w.store.Renew(w.ctx, running.work.Lease, lease)
		w.must(err)
		if !held.Pause || held.Cancel || !running.commit(item("a", "x", noon)).Pause {
			w.Error("the worker is not told of the pause")
		}
		_, _, err = w.store.OpenPlan(w.ctx, old("b", 3, 1).newPlan(1))
		w.refuses(err, fault.ErrConflict, "a plan in a paused campaign")
		_, open, err := w.store.CampaignPlans(w.ctx, c.CursorID)
		w.must(err)
		if len(open) != 1 || open[0].ID != first.ID || !open[0].Held || open[0].OldestFirst || !reflect.DeepEqual(open[0].Owed, []window.Window{march(1, 3)}) {
			w.Errorf("%+v", open)
		}
		daily := harvest{trigger: "daily"}
		w.plan(daily)
		if n := w.claimable(daily); n != 3 {
			w.Errorf("claimed %d tasks of the harvest", n)
		}
		w.move("old", ingest.CampaignActive)
		if running.commit(item("b", "x", noon)).Pause || w.claimable(old("a", 1, 2)) != 1 {
			w.Error("the pause goes on")
		}
	})
	s.test(t, "a cancelled campaign takes no plan, and may be taken up again", func(w *world) {
		c := w.campaign(newCampaign("old", 1, 3))
		w.move("old", ingest.CampaignCancelled)
		id, err := w.store.RecordTrigger(w.ctx, old("a", 1, 1).newTrigger())
		w.must(err)
		_, _, err = w.store.OpenPlan(w.ctx, old("a", 1, 1).newPlan(id))
		w.refuses(err, fault.ErrConflict, "a plan in a cancelled campaign")
		if done, err := w.store.CompleteCampaign(w.ctx, c.ID); done || err != nil {
			w.Errorf("completed %v, %v", done, err)
		}
		w.move("old", ingest.CampaignActive)
		w.plan(old("a", 1, 1))
	})
	s.test(t, "the audit log names who, what and why; a rehearsal leaves nothing", func(w *world) {
		w.campaign(newCampaign("old", 1, 3))
		w.unchanged("rehearsal", func() {
			c, changed, err := w.store.MoveCampaign(w.ctx, "old", ingest.CampaignPaused, ingest.Act{Actor: "a", Reason: "b", Rehearsal: true})
			w.must(err)
			if !changed || c.State != ingest.CampaignPaused || c.Actor != "a" {
				w.Errorf("%+v, %v", c, changed)
			}
		})
		w.move("old", ingest.CampaignPaused)
		w.unchanged("paused twice", func() {
			if _, changed, err := w.store.MoveCampaign(w.ctx, "old", ingest.CampaignPaused, ingest.Act{Actor: "other"}); changed || err != nil {
				w.Errorf("%v, %v", changed, err)
			}
		})
		w.move("old", ingest.CampaignActive)
		w.move("old", ingest.CampaignCancelled)
		for i, action := range []string{"open", "pause", "resume", "cancel"} {
			want := "tester campaign." + action + " campaign/old because"
			if got := w.text("SELECT CONCAT(actor, ' ', action, ' ', object, ' ', reason) FROM ing_audit_log WHERE id = ?", i+1); got != want {
				w.Errorf("entry %q, want %q", got, want)
			}
		}
		_, _, err := w.store.MoveCampaign(w.ctx, "none", ingest.CampaignPaused, tester)
		w.refuses(err, fault.ErrNotFound, "pause what is not there")
		_, _, err = w.store.MoveCampaign(w.ctx, "old", ingest.CampaignPaused, tester)
		w.refuses(err, fault.ErrConflict, "pause what is cancelled")
	})
	s.test(t, "failed windows are told with when they are tried again", func(w *world) {
		c := w.campaign(newCampaign("old", 1, 3))
		w.plan(old("a", 1, 3))
		w.work(old("a", 1, 3), succeeded, failed)
		v, err := w.store.ShowCampaign(w.ctx, c)
		w.must(err)
		if len(v.Failed) != 1 || v.Failed[0] != march(2, 3) || !v.NextRetry.Equal(noon.Add(time.Minute)) || v.Waiting != 1 || v.Done != day {
			w.Errorf("%+v", v)
		}
	})
	s.test(t, "of many who begin and stop at once each finds one truth", func(w *world) {
		handles := w.handles(4)
		w.together(8, func(i int) error {
			_, _, err := handles[i%4].OpenCampaign(w.ctx, newCampaign("old", 1, 3), tester)
			if err == nil {
				_, _, err = handles[i%4].MoveCampaign(w.ctx, "old", ingest.CampaignPaused, tester)
			}
			return err
		})
		if n := w.number("SELECT COUNT(*) FROM ing_audit_log"); n != 2 {
			w.Errorf("%d entries, want one of the beginning and one of the pause", n)
		}
		if n := w.number("SELECT COUNT(*) FROM ing_cursor_event"); n != 1 {
			w.Errorf("the range is wanted %d times", n)
		}
	})
	s.test(t, "a note says why nothing goes on", func(w *world) {
		c := w.campaign(newCampaign("old", 1, 3))
		w.must(w.store.NoteCampaign(w.ctx, c.ID, "the source is gone"))
		if c, _, err := w.store.Campaign(w.ctx, "old"); err != nil || c.Note != "the source is gone" {
			w.Errorf("%+v, %v", c, err)
		}
		w.must(w.store.NoteCampaign(w.ctx, c.ID, ""))
		if c, _, err := w.store.Campaign(w.ctx, "old"); err != nil || c.Note != "" {
			w.Errorf("%+v, %v", c, err)
		}
	})
}

func lossyCampaign() []lossy {
	act := func(name string, to ingest.CampaignState) lossy {
		return lossy{"move campaign", name, func(w *world) func() (answer, error) {
			w.campaign(newCampaign("old", 1, 3))
			return func() (answer, error) {
				c, _, err := w.store.MoveCampaign(w.ctx, "old", to, tester)
				return c, err
			}
		}}
	}
	return []lossy{
		{"open campaign", "open campaign", func(w *world) func() (answer, error) {
			return func() (answer, error) {
				c, _, err := w.store.OpenCampaign(w.ctx, newCampaign("old", 1, 3), tester)
				return c, err
			}
		}},
		act("pause campaign", ingest.CampaignPaused),
		act("cancel campaign", ingest.CampaignCancelled),
		{"complete campaign", "complete campaign", func(w *world) func() (answer, error) {
			c := w.campaign(newCampaign("old", 1, 1))
			w.plan(old("a", 1, 1))
			w.work(old("a", 1, 1), succeeded)
			return func() (answer, error) { return w.store.CompleteCampaign(w.ctx, c.ID) }
		}},
		{"waive campaign", "waive campaign", func(w *world) func() (answer, error) {
			w.campaign(newCampaign("old", 1, 3))
			return func() (answer, error) {
				_, err := w.store.WaiveCampaign(w.ctx, "old", march(1, 4), w.by)
				return nil, err
			}
		}},
		{"note campaign", "note campaign", func(w *world) func() (answer, error) {
			c := w.campaign(newCampaign("old", 1, 1))
			return func() (answer, error) { return nil, w.store.NoteCampaign(w.ctx, c.ID, "why") }
		}},
	}
}
