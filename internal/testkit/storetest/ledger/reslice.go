package ledger

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/testkit/check"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// pending lists the requests that can be served.
func (w *world) pending(want int) []ingest.PendingReslice {
	w.Helper()
	out, err := w.Store.PendingReslices(w.Ctx, 100)
	w.Must(err)
	if len(out) != want {
		w.Fatalf("%d requests can be served, want %d: %+v", len(out), want, out)
	}
	return out
}

// noonOf is the second half of a day of March.
func noonOf(ofMarch int) window.Window {
	return window.Window{From: fixture.Midnight(ofMarch).Add(fixture.Day / 2), To: fixture.Midnight(ofMarch + 1)}
}

// quarters cuts a window into four.
func quarters(h fixture.Harvest, planKey string, whole window.Window) (out []ingest.NewSlice) {
	for at := whole.From; at.Before(whole.To); at = at.Add(whole.Duration() / 4) {
		one := days(h, planKey, window.Window{From: at, To: at.Add(whole.Duration() / 4)})[0]
		one.No = 99 // the store numbers children
		out = append(out, one)
	}
	return out
}

func (s suite) reslices(t *testing.T) {
	h := fixture.Harvest{Days: 3}
	s.test(t, "Trust12: why slices are not covered is told, with how often", func(w *world) {
		plan := w.Plan(h)
		for range 2 {
			w.Begin(h).Finish(ingest.Outcome{Task: ingest.TaskFailed, Run: ingest.RunFailed, Code: string(fault.BadRequest), Error: "no such path"})
		}
		w.Begin(h).Finish(fixture.Succeeded)
		got, err := w.Store.Failures(w.Ctx, plan.ID)
		w.Must(err)
		if len(got) != 1 || got[0].Slices != 2 || got[0].Code != "BAD_REQUEST" || got[0].Error != "no such path" || got[0].Became() != "failed" {
			w.Errorf("%+v", got)
		}
	})
	s.test(t, "Trust05: what a plan has used is known", func(w *world) {
		plan := w.Plan(h)
		first := w.Begin(h)
		first.GiveUp(noonOf(1))
		w.Must(w.Store.ReplaceSlice(w.Ctx, w.pending(1)[0].ID, quarters(h, plan.Key, noonOf(1))))
		used := fixture.Partial
		used.Stats.Requests, used.Stats.BytesIn = 7, 900
		next := w.Begin(h)
		w.Must(w.Store.RequestReslice(w.Ctx, next.TooMuch(next.Work.Window)))
		next.Finish(used)
		got, err := w.Store.PlanUse(w.Ctx, plan.ID)
		w.Must(err)
		if got.Slices != 3 || got.Requests != 7 || got.Bytes != 900 {
			w.Errorf("%+v", got)
		}
	})
	s.test(t, "children take over what the slice did not read", func(w *world) {
		plan := w.Plan(h)
		first := w.Begin(h)
		first.GiveUp(noonOf(1))
		if got, err := w.Store.Progress(w.Ctx, plan.ID); err != nil || got.Slices["PARTIAL"] != 1 || got.Replaced != 0 {
			w.Errorf("nobody has what it left: %+v %v", got, err)
		}
		request := w.pending(1)[0]
		ids := request.Lineage
		want := ingest.PendingReslice{
			ID: request.ID, Lineage: first.Work.Lineage, Partition: h.Partition(), PlanKey: plan.Key, Spec: h.NewPlan(0).Spec, SliceSpec: first.Work.SliceSpec,
			Params: first.Work.Params, Priority: 10, Slice: fixture.March(1, 2), Remaining: noonOf(1), Reason: fault.Budget, Detail: []byte(`{"page":2000}`),
		}
		if !reflect.DeepEqual(request, want) {
			w.Errorf("request\n%+v, want\n%+v", request, want)
		}
		children := quarters(h, plan.Key, request.Remaining)
		events := len(w.Events(h))
		grown := w.Grown(func() { w.Must(w.Store.ReplaceSlice(w.Ctx, request.ID, children)) })
		if want := map[string]int{"ing_plan_slice": 4, "ing_task": 4}; !reflect.DeepEqual(grown, want) || len(w.Events(h)) != events {
			w.Errorf("replacing added %v, want %v and no event", grown, want)
		}
		if got, err := w.Store.Progress(w.Ctx, plan.ID); err != nil || got.Slices["PARTIAL"] != 1 || got.Replaced != 1 {
			w.Errorf("its children have what it left: %+v %v", got, err)
		}
		w.Unchanged("served again", func() { w.Must(w.Store.ReplaceSlice(w.Ctx, request.ID, children)) })
		w.Unchanged("declined too late", func() { w.Must(w.Store.DeclineReslice(w.Ctx, request.ID, "no")) })
		w.Unchanged("served otherwise", func() { w.Must(w.Store.ReplaceSlice(w.Ctx, request.ID, children[:1])) })
		w.pending(0)
		if nos := fixture.Column(w.T, w.DB.SQL, "SELECT slice_no FROM ing_plan_slice WHERE parent_slice_id = ? ORDER BY slice_no", ids.SliceID); !reflect.DeepEqual(nos, []string{"4", "5", "6", "7"}) {
			w.Errorf("children have the numbers %v", nos)
		}
		if got := w.Text("SELECT status_code FROM ing_plan_slice WHERE id = ?", ids.SliceID); got != string(ingest.SlicePartial) {
			w.Errorf("the parent is %s", got)
		}
		leaves := []window.Window{{From: fixture.Midnight(1), To: noonOf(1).From}}
		for _, c := range children {
			leaves = append(leaves, c.Window)
		}
		if got := w.planned(plan.ID); !reflect.DeepEqual(got, append(leaves, fixture.March(2, 3), fixture.March(3, 4))) {
			w.Errorf("planned %v", got)
		}
		w.leavesTile()
		w.Work(h, fixture.Succeeded, fixture.Succeeded, fixture.Succeeded, fixture.Succeeded, fixture.Succeeded)
		w.planIs(plan.ID, ingest.PlanReady)
		w.Work(h, fixture.Succeeded)
		w.planIs(plan.ID, ingest.PlanCompleted)
		w.Verified(h)
	})
	s.test(t, "what a slice read before it gave up counts as read", func(w *world) {
		w.Plan(h)
		w.Begin(h).GiveUp(noonOf(1))
		events := w.Events(h)
		if last := events[len(events)-1]; len(events) != 2 || last.Kind != "SUCCEEDED" || !reflect.DeepEqual(last.Windows, []window.Window{{From: fixture.Midnight(1), To: noonOf(1).From}}) {
			w.Errorf("%+v", events)
		}
		if at := w.CoverageOf(h).Cursor; !at.Equal(noonOf(1).From) {
			w.Errorf("the cursor is at %v", at)
		}
		second := w.Begin(h)
		second.GiveUp(second.Work.Window)
		if n := len(w.Events(h)); n != 2 {
			w.Errorf("nothing was read, and there are %d events", n)
		}
		w.Begin(h).Finish(fixture.Partial) // asks for nothing: that is a failure
		if events = w.Events(h); len(events) != 3 || events[2].Kind != "FAILED" {
			w.Errorf("%+v", events)
		}
		w.Verified(h)
	})
	s.test(t, "children may be replaced in turn", func(w *world) {
		plan := w.Plan(fixture.Harvest{Days: 1})
		whole := fixture.March(1, 2)
		for range 4 {
			a := w.Begin(h)
			a.GiveUp(a.Work.Window)
			request := w.pending(1)[0]
			w.Must(w.Store.ReplaceSlice(w.Ctx, request.ID, quarters(h, plan.Key, a.Work.Window)))
			if got := window.Union(w.planned(plan.ID)); !reflect.DeepEqual(got, []window.Window{whole}) {
				w.Errorf("planned %v", got)
			}
			w.leavesTile()
		}
		if n := w.Number("SELECT COUNT(*) FROM ing_plan_slice"); n != 1+4*4 {
			w.Errorf("%d slices", n)
		}
	})
	s.test(t, "a plan waits for the children of its last slice", func(w *world) {
		plan := w.Plan(fixture.Harvest{Days: 1})
		w.Begin(h).GiveUp(noonOf(1))
		w.planIs(plan.ID, ingest.PlanReady)
		w.Must(w.Store.ReplaceSlice(w.Ctx, w.pending(1)[0].ID, quarters(h, plan.Key, noonOf(1))))
		w.planIs(plan.ID, ingest.PlanReady)
		w.Work(h, fixture.Succeeded, fixture.Failed, fixture.Succeeded, fixture.Succeeded)
		w.planIs(plan.ID, ingest.PlanCompleted)
	})
	s.test(t, "the checker sees children that overlap or are missing", func(w *world) {
		plan := w.Plan(h)
		w.Begin(h).GiveUp(noonOf(1))
		w.Must(w.Store.ReplaceSlice(w.Ctx, w.pending(1)[0].ID, quarters(h, plan.Key, noonOf(1))))
		for _, tamper := range []string{
			"UPDATE ing_reslice_request SET status_code = 'PENDING'",
			"UPDATE ing_reslice_request SET status_code = 'DONE', window_from = window_from - 1",
			"DELETE FROM ing_plan_slice WHERE slice_no = 5",
		} {
			w.Exec(tamper)
			if problems, err := check.Tiling(w.Ctx, w.DB.SQL); err != nil || len(problems) == 0 {
				w.Errorf("%s: nothing was found (%v)", tamper, err)
			}
		}
	})
	s.test(t, "what cannot be cut further is declined", func(w *world) {
		plan := w.Plan(fixture.Harvest{Days: 1})
		a := w.Begin(h)
		w.Must(w.Store.RequestReslice(w.Ctx, a.TooMuch(noonOf(1))))
		id := w.Number("SELECT id FROM ing_reslice_request")
		w.Unchanged("too early", func() { w.Refuses(w.Store.DeclineReslice(w.Ctx, id, "no"), fault.ErrInvalid, "decline") })
		a.Finish(fixture.Partial)
		w.planIs(plan.ID, ingest.PlanReady)
		w.Must(w.Store.DeclineReslice(w.Ctx, id, "one day is the least"))
		w.planIs(plan.ID, ingest.PlanCompleted)
		w.pending(0)
		if got := w.Text("SELECT status_code FROM ing_plan_slice") + " " + w.Text("SELECT status_code FROM ing_task") + " " + w.Text("SELECT last_error_code FROM ing_task"); got != "FAILED FAILED BUDGET" {
			w.Errorf("slice, task and error are %s", got)
		}
		last := w.Events(h)[len(w.Events(h))-1]
		if last.Kind != "FAILED" || !reflect.DeepEqual(last.Windows, []window.Window{noonOf(1)}) {
			w.Errorf("the last event is %+v", last)
		}
		if at := w.CoverageOf(h).Cursor; !at.Equal(noonOf(1).From) {
			w.Errorf("the cursor is at %v", at)
		}
		if got := w.Text("SELECT detail FROM ing_reslice_request"); got != `{"asked":{"page":2000},"declined":"one day is the least"}` {
			w.Errorf("detail %s", got)
		}
		if got := w.planned(plan.ID); !reflect.DeepEqual(got, []window.Window{fixture.March(1, 2)}) {
			w.Errorf("planned %v", got)
		}
		w.leavesTile()
		w.Unchanged("declined again", func() { w.Must(w.Store.DeclineReslice(w.Ctx, id, "again")) })
		w.Unchanged("replaced after all", func() {
			w.Refuses(w.Store.ReplaceSlice(w.Ctx, id, quarters(h, plan.Key, noonOf(1))), fault.ErrInvalid, "replace")
		})
		w.Refuses(w.Store.DeclineReslice(w.Ctx, 4711, "no"), fault.ErrNotFound, "decline")
	})
	s.test(t, "a declined slice that is tried again may ask again", func(w *world) {
		w.Plan(fixture.Harvest{Days: 1})
		w.Begin(h).GiveUp(noonOf(1))
		w.Must(w.Store.DeclineReslice(w.Ctx, w.pending(1)[0].ID, "one day is the least"))
		done, _, err := w.Store.RetryTasks(w.Ctx, ingest.TaskPick{PlanID: w.Number("SELECT id FROM ing_plan"), Status: ingest.TaskFailed}, ingest.Act{Actor: "ann", Reason: "the upstream changed"})
		if w.Must(err); done.Queued != 1 {
			w.Fatalf("%+v", done)
		}
		w.Begin(h).GiveUp(fixture.March(1, 2))
		if got := w.pending(1)[0].Remaining; got != fixture.March(1, 2) {
			w.Errorf("remaining %v", got)
		}
		w.Verified(h)
	})
	s.test(t, "the head of a slice may remain", func(w *world) {
		plan := w.Plan(h)
		head := window.Window{From: fixture.Midnight(1), To: fixture.Midnight(1).Add(fixture.Day / 2)}
		w.Begin(h).GiveUp(head)
		w.Must(w.Store.ReplaceSlice(w.Ctx, w.pending(1)[0].ID, quarters(h, plan.Key, head)))
		w.leavesTile()
	})
	s.test(t, "a request waits for the end of its attempt", func(w *world) {
		plan := w.Plan(h)
		a := w.Begin(h)
		w.Must(w.Store.RequestReslice(w.Ctx, a.TooMuch(noonOf(1))))
		w.pending(0)
		id := w.Number("SELECT id FROM ing_reslice_request")
		w.Unchanged("too early", func() {
			w.Refuses(w.Store.ReplaceSlice(w.Ctx, id, quarters(h, plan.Key, noonOf(1))), fault.ErrInvalid, "replace")
		})
		a.Finish(fixture.Succeeded) // it got through after all
		w.pending(0)
		w.Work(h, fixture.Succeeded, fixture.Succeeded)
		w.planIs(plan.ID, ingest.PlanCompleted)
	})
	s.test(t, "a later attempt knows better what remains", func(w *world) {
		w.Plan(h)
		first := w.Begin(h)
		w.Must(w.Store.RequestReslice(w.Ctx, first.TooMuch(fixture.March(1, 2))))
		w.Clock.Advance(2 * fixture.Lease)
		w.reaps(10, 1)
		second := w.Start(w.Claim(h, 1)[0])
		for second.Work.Lease.TaskID != first.Work.Lease.TaskID {
			second = w.Start(w.Claim(h, 1)[0])
		}
		second.GiveUp(noonOf(1))
		got := w.pending(1)[0]
		if got.Remaining != noonOf(1) || got.Lineage.RunID != second.Run.ID {
			w.Errorf("request %+v", got)
		}
	})
	s.test(t, "what does not lie in the slice is refused", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		for name, remaining := range map[string]window.Window{
			"nothing": {}, "empty": {From: fixture.Midnight(1), To: fixture.Midnight(1)}, "the next day": fixture.March(2, 3), "more": fixture.March(1, 3),
			"reversed": {From: fixture.Midnight(2), To: fixture.Midnight(1)},
		} {
			w.Unchanged(name, func() { w.Refuses(w.Store.RequestReslice(w.Ctx, a.TooMuch(remaining)), fault.ErrInvalid, name) })
		}
	})
	s.test(t, "children that do not tile are refused", func(w *world) {
		plan := w.Plan(h)
		a := w.Begin(h)
		a.GiveUp(noonOf(1))
		id := w.pending(1)[0].ID
		good := quarters(h, plan.Key, noonOf(1))
		itself := good[0]
		itself.Window, itself.Signature = noonOf(1), h.NewSlices()[0].Signature
		for name, children := range map[string][]ingest.NewSlice{
			"none": nil, "a gap": {good[0], good[1], good[3]}, "an end": good[:3], "a start": good[1:], "twice": append(good[:4:4], good[3]),
			"another day": quarters(h, plan.Key, noonOf(2)), "the slice itself": {itself},
		} {
			w.Unchanged(name, func() { w.Refuses(w.Store.ReplaceSlice(w.Ctx, id, children), fault.ErrInvalid, name) })
		}
		good[0], good[3] = good[3], good[0] // newest first is as good
		w.Must(w.Store.ReplaceSlice(w.Ctx, id, good))
		w.leavesTile()
		w.Refuses(w.Store.ReplaceSlice(w.Ctx, 4711, good), fault.ErrNotFound, "unknown request")
	})
	s.test(t, "a plan that is being sliced, or was cancelled, takes no children", func(w *world) {
		plan := w.Open(h)
		w.Must(w.Store.AddSlices(w.Ctx, plan.ID, h.NewSlices()[:2], false))
		w.Begin(h).GiveUp(noonOf(1))
		w.pending(0)
		id := w.Number("SELECT id FROM ing_reslice_request")
		children := quarters(h, plan.Key, noonOf(1))
		w.Unchanged("SLICING", func() { w.Refuses(w.Store.ReplaceSlice(w.Ctx, id, children), fault.ErrInvalid, "replace") })
		w.Must(w.Store.SuspendPlan(w.Ctx, plan.ID, nil))
		w.pending(1)
		w.cancel(plan.ID)
		w.pending(0)
		w.Unchanged("CANCELLED", func() { w.Refuses(w.Store.ReplaceSlice(w.Ctx, id, children), fault.ErrInvalid, "replace") })
	})
	s.test(t, "a suspended plan goes on behind its children", func(w *world) {
		plan := w.Open(h)
		w.Must(w.Store.AddSlices(w.Ctx, plan.ID, h.NewSlices()[:2], false))
		w.Must(w.Store.SuspendPlan(w.Ctx, plan.ID, nil))
		w.Begin(h).GiveUp(noonOf(1))
		w.Must(w.Store.ReplaceSlice(w.Ctx, w.pending(1)[0].ID, quarters(h, plan.Key, noonOf(1))))
		w.planIs(plan.ID, ingest.PlanPartial)
		// A planner that does not know of the children would take the third day
		// for stored: its number is.
		if err := w.Store.AddSlices(w.Ctx, plan.ID, h.NewSlices()[2:], true); err == nil {
			w.Error("the third day was lost")
		}
		if done, err := continuePlan(w, w.Store, h, plan, 0); err != nil || !done {
			w.Errorf("continued: %v %v", done, err)
		}
		w.planIs(plan.ID, ingest.PlanReady)
		w.leavesTile()
	})
	s.test(t, "requests are listed oldest first, as many as asked for", func(w *world) {
		w.Plan(fixture.Harvest{Days: 9})
		for range 5 {
			a := w.Begin(h)
			a.GiveUp(a.Work.Window)
			w.Clock.Advance(time.Second)
		}
		got, err := w.Store.PendingReslices(w.Ctx, 3)
		w.Must(err)
		var order []window.Window
		for _, r := range got {
			order = append(order, r.Remaining)
		}
		if want := []window.Window{fixture.March(1, 2), fixture.March(2, 3), fixture.March(3, 4)}; !reflect.DeepEqual(order, want) {
			w.Errorf("requests for %v, want %v", order, want)
		}
	})
}

func (s suite) resliceRaces(t *testing.T) {
	s.test(t, "planners that serve the same requests serve each once", func(w *world) {
		const planners, slices = 6, 8
		h := fixture.Harvest{Days: slices}
		plan := w.Plan(h)
		for range slices {
			a := w.Begin(h)
			a.GiveUp(window.Window{From: a.Work.Window.From.Add(fixture.Day / 2), To: a.Work.Window.To})
		}
		requests := w.pending(slices)
		handles := w.Handles(3)
		w.Together(planners, func(i int) error {
			for n := range requests {
				r := requests[(n+i)%len(requests)]
				children := quarters(h, plan.Key, r.Remaining)
				if i%2 == 0 {
					children = days(h, plan.Key, r.Remaining)
				}
				if err := handles[i%len(handles)].ReplaceSlice(w.Ctx, r.ID, children); err != nil {
					return fmt.Errorf("request %d: %w", r.ID, err)
				}
			}
			return nil
		})
		w.pending(0)
		w.leavesTile()
		if got := window.Union(w.planned(plan.ID)); !reflect.DeepEqual(got, []window.Window{h.Window()}) {
			w.Errorf("planned %v", got)
		}
		total := int(w.Number("SELECT COUNT(*) FROM ing_plan_slice"))
		if nos := fixture.Column(w.T, w.DB.SQL, "SELECT slice_no FROM ing_plan_slice ORDER BY slice_no"); !reflect.DeepEqual(nos, counted(total)) {
			w.Errorf("slice numbers %v", nos)
		}
	})
	s.test(t, "serving requests while slices end", func(w *world) {
		h := fixture.Harvest{Days: 20}
		plan := w.Plan(h)
		half := w.startClaimed(h, 20)
		handles := w.Handles(2)
		w.Together(2, func(i int) error {
			s := handles[i]
			if i == 0 {
				for n, a := range half {
					outcome := fixture.Succeeded
					if n%2 == 0 {
						outcome = fixture.Partial
						if err := s.RequestReslice(w.Ctx, a.TooMuch(a.Work.Window)); err != nil {
							return err
						}
					}
					if err := s.FinishRun(w.Ctx, a.Ending(outcome)); err != nil {
						return err
					}
				}
				return nil
			}
			for served := 0; served < len(half)/2; {
				requests, err := s.PendingReslices(w.Ctx, 3)
				if err != nil {
					return err
				}
				for _, r := range requests {
					if err := s.ReplaceSlice(w.Ctx, r.ID, quarters(h, plan.Key, r.Remaining)); err != nil {
						return err
					}
					served++
				}
			}
			return nil
		})
		w.planIs(plan.ID, ingest.PlanReady)
		w.leavesTile()
		for range 40 {
			w.Work(h, fixture.Succeeded)
		}
		w.planIs(plan.ID, ingest.PlanCompleted)
		w.Verified(h)
	})
}

// startClaimed claims and starts n tasks.
func (w *world) startClaimed(h fixture.Harvest, n int) (out []*fixture.Attempt) {
	w.Helper()
	for _, work := range w.Claim(h, n) {
		out = append(out, w.Start(work))
	}
	return out
}

func lossyReslice() []lossy {
	h := fixture.Harvest{Days: 2}
	return []lossy{
		{"request reslice", "request reslice", func(w *world) func() (answer, error) {
			w.Plan(h)
			a := w.Begin(h)
			w.Clock.Advance(time.Second)
			return func() (answer, error) { return nil, w.Store.RequestReslice(w.Ctx, a.TooMuch(noonOf(1))) }
		}},
		{"request reslice", "request reslice after another attempt", func(w *world) func() (answer, error) {
			w.Plan(fixture.Harvest{Days: 1})
			w.Must(w.Store.RequestReslice(w.Ctx, w.Begin(h).TooMuch(fixture.March(1, 2))))
			w.Clock.Advance(2 * fixture.Lease)
			w.reaps(10, 1)
			a := w.Begin(h)
			return func() (answer, error) { return nil, w.Store.RequestReslice(w.Ctx, a.TooMuch(noonOf(1))) }
		}},
		{"decline reslice", "decline reslice", func(w *world) func() (answer, error) {
			w.Plan(fixture.Harvest{Days: 1})
			w.Begin(h).GiveUp(noonOf(1))
			id := w.pending(1)[0].ID
			return func() (answer, error) { return nil, w.Store.DeclineReslice(w.Ctx, id, "one day is the least") }
		}},
		{"replace slice", "replace slice", func(w *world) func() (answer, error) {
			plan := w.Plan(h)
			w.Begin(h).GiveUp(noonOf(1))
			id := w.pending(1)[0].ID
			return func() (answer, error) { return nil, w.Store.ReplaceSlice(w.Ctx, id, quarters(h, plan.Key, noonOf(1))) }
		}},
	}
}
