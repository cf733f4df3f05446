package storetest

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/testkit/check"
)

// tooMuch asks that what remains be cut smaller.
func (a *attempt) tooMuch(remaining window.Window) ingest.ResliceRequest {
	return ingest.ResliceRequest{Lease: a.work.Lease, Extend: lease, Reason: fault.Budget, Remaining: remaining, Detail: []byte(`{"page":2000}`)}
}

// giveUp asks for smaller slices and ends the attempt.
func (a *attempt) giveUp(remaining window.Window) {
	a.w.Helper()
	a.w.must(a.w.store.RequestReslice(a.w.ctx, a.tooMuch(remaining)))
	a.finish(partial)
}

// pending lists the requests that can be served.
func (w *world) pending(want int) []ingest.PendingReslice {
	w.Helper()
	out, err := w.store.PendingReslices(w.ctx, 100)
	w.must(err)
	if len(out) != want {
		w.Fatalf("%d requests can be served, want %d: %+v", len(out), want, out)
	}
	return out
}

// noonOf is the second half of a day of March.
func noonOf(ofMarch int) window.Window {
	return window.Window{From: midnight(ofMarch).Add(day / 2), To: midnight(ofMarch + 1)}
}

// quarters cuts a window into four.
func quarters(h harvest, planKey string, whole window.Window) (out []ingest.NewSlice) {
	for at := whole.From; at.Before(whole.To); at = at.Add(whole.Duration() / 4) {
		one := days(h, planKey, window.Window{From: at, To: at.Add(whole.Duration() / 4)})[0]
		one.No = 99 // the store numbers children
		out = append(out, one)
	}
	return out
}

func (s suite) reslices(t *testing.T) {
	h := harvest{days: 3}
	s.test(t, "Trust12: why slices are not covered is told, with how often", func(w *world) {
		plan := w.plan(h)
		for range 2 {
			w.begin(h).finish(ingest.Outcome{Task: ingest.TaskFailed, Run: ingest.RunFailed, Code: string(fault.BadRequest), Error: "no such path"})
		}
		w.begin(h).finish(succeeded)
		got, err := w.store.Failures(w.ctx, plan.ID)
		w.must(err)
		if len(got) != 1 || got[0].Slices != 2 || got[0].Code != "BAD_REQUEST" || got[0].Error != "no such path" || got[0].Became() != "failed" {
			w.Errorf("%+v", got)
		}
	})
	s.test(t, "Trust05: what a plan has used is known", func(w *world) {
		plan := w.plan(h)
		first := w.begin(h)
		first.giveUp(noonOf(1))
		w.must(w.store.ReplaceSlice(w.ctx, w.pending(1)[0].ID, quarters(h, plan.Key, noonOf(1))))
		used := partial
		used.Stats.Requests, used.Stats.BytesIn = 7, 900
		next := w.begin(h)
		w.must(w.store.RequestReslice(w.ctx, next.tooMuch(next.work.Window)))
		next.finish(used)
		got, err := w.store.PlanUse(w.ctx, plan.ID)
		w.must(err)
		if got.Slices != 3 || got.Requests != 7 || got.Bytes != 900 {
			w.Errorf("%+v", got)
		}
	})
	s.test(t, "children take over what the slice did not read", func(w *world) {
		plan := w.plan(h)
		first := w.begin(h)
		first.giveUp(noonOf(1))
		if got, err := w.store.Progress(w.ctx, plan.ID); err != nil || got.Slices["PARTIAL"] != 1 || got.Replaced != 0 {
			w.Errorf("nobody has what it left: %+v %v", got, err)
		}
		request := w.pending(1)[0]
		ids := request.Lineage
		want := ingest.PendingReslice{
			ID: request.ID, Lineage: first.work.Lineage, Partition: h.partition(), PlanKey: plan.Key, Spec: h.newPlan(0).Spec, SliceSpec: first.work.SliceSpec,
			Params: first.work.Params, Priority: 10, Slice: march(1, 2), Remaining: noonOf(1), Reason: fault.Budget, Detail: []byte(`{"page":2000}`),
		}
		if !reflect.DeepEqual(request, want) {
			w.Errorf("request\n%+v, want\n%+v", request, want)
		}
		children := quarters(h, plan.Key, request.Remaining)
		events := len(w.events(h))
		grown := w.grown(func() { w.must(w.store.ReplaceSlice(w.ctx, request.ID, children)) })
		if want := map[string]int{"ing_plan_slice": 4, "ing_task": 4}; !reflect.DeepEqual(grown, want) || len(w.events(h)) != events {
			w.Errorf("replacing added %v, want %v and no event", grown, want)
		}
		if got, err := w.store.Progress(w.ctx, plan.ID); err != nil || got.Slices["PARTIAL"] != 1 || got.Replaced != 1 {
			w.Errorf("its children have what it left: %+v %v", got, err)
		}
		w.unchanged("served again", func() { w.must(w.store.ReplaceSlice(w.ctx, request.ID, children)) })
		w.unchanged("declined too late", func() { w.must(w.store.DeclineReslice(w.ctx, request.ID, "no")) })
		w.unchanged("served otherwise", func() { w.must(w.store.ReplaceSlice(w.ctx, request.ID, children[:1])) })
		w.pending(0)
		if nos := column(w.T, w.db.SQL, "SELECT slice_no FROM ing_plan_slice WHERE parent_slice_id = ? ORDER BY slice_no", ids.SliceID); !reflect.DeepEqual(nos, []string{"4", "5", "6", "7"}) {
			w.Errorf("children have the numbers %v", nos)
		}
		if got := w.text("SELECT status_code FROM ing_plan_slice WHERE id = ?", ids.SliceID); got != string(ingest.SlicePartial) {
			w.Errorf("the parent is %s", got)
		}
		leaves := []window.Window{{From: midnight(1), To: noonOf(1).From}}
		for _, c := range children {
			leaves = append(leaves, c.Window)
		}
		if got := w.planned(plan.ID); !reflect.DeepEqual(got, append(leaves, march(2, 3), march(3, 4))) {
			w.Errorf("planned %v", got)
		}
		w.leavesTile()
		w.work(h, succeeded, succeeded, succeeded, succeeded, succeeded)
		w.planIs(plan.ID, ingest.PlanReady)
		w.work(h, succeeded)
		w.planIs(plan.ID, ingest.PlanCompleted)
		w.verified(h)
	})
	s.test(t, "what a slice read before it gave up counts as read", func(w *world) {
		w.plan(h)
		w.begin(h).giveUp(noonOf(1))
		events := w.events(h)
		if last := events[len(events)-1]; len(events) != 2 || last.Kind != "SUCCEEDED" || !reflect.DeepEqual(last.Windows, []window.Window{{From: midnight(1), To: noonOf(1).From}}) {
			w.Errorf("%+v", events)
		}
		if at := w.book(h).Cursor; !at.Equal(noonOf(1).From) {
			w.Errorf("the cursor is at %v", at)
		}
		second := w.begin(h)
		second.giveUp(second.work.Window)
		if n := len(w.events(h)); n != 2 {
			w.Errorf("nothing was read, and there are %d events", n)
		}
		w.begin(h).finish(partial) // asks for nothing: that is a failure
		if events = w.events(h); len(events) != 3 || events[2].Kind != "FAILED" {
			w.Errorf("%+v", events)
		}
		w.verified(h)
	})
	s.test(t, "children may be replaced in turn", func(w *world) {
		plan := w.plan(harvest{days: 1})
		whole := march(1, 2)
		for range 4 {
			a := w.begin(h)
			a.giveUp(a.work.Window)
			request := w.pending(1)[0]
			w.must(w.store.ReplaceSlice(w.ctx, request.ID, quarters(h, plan.Key, a.work.Window)))
			if got := window.Union(w.planned(plan.ID)); !reflect.DeepEqual(got, []window.Window{whole}) {
				w.Errorf("planned %v", got)
			}
			w.leavesTile()
		}
		if n := w.number("SELECT COUNT(*) FROM ing_plan_slice"); n != 1+4*4 {
			w.Errorf("%d slices", n)
		}
	})
	s.test(t, "a plan waits for the children of its last slice", func(w *world) {
		plan := w.plan(harvest{days: 1})
		w.begin(h).giveUp(noonOf(1))
		w.planIs(plan.ID, ingest.PlanReady)
		w.must(w.store.ReplaceSlice(w.ctx, w.pending(1)[0].ID, quarters(h, plan.Key, noonOf(1))))
		w.planIs(plan.ID, ingest.PlanReady)
		w.work(h, succeeded, failed, succeeded, succeeded)
		w.planIs(plan.ID, ingest.PlanCompleted)
	})
	s.test(t, "the checker sees children that overlap or are missing", func(w *world) {
		plan := w.plan(h)
		w.begin(h).giveUp(noonOf(1))
		w.must(w.store.ReplaceSlice(w.ctx, w.pending(1)[0].ID, quarters(h, plan.Key, noonOf(1))))
		for _, tamper := range []string{
			"UPDATE ing_reslice_request SET status_code = 'PENDING'",
			"UPDATE ing_reslice_request SET status_code = 'DONE', window_from = window_from - 1",
			"DELETE FROM ing_plan_slice WHERE slice_no = 5",
		} {
			w.exec(tamper)
			if problems, err := check.Tiling(w.ctx, w.db.SQL); err != nil || len(problems) == 0 {
				w.Errorf("%s: nothing was found (%v)", tamper, err)
			}
		}
	})
	s.test(t, "what cannot be cut further is declined", func(w *world) {
		plan := w.plan(harvest{days: 1})
		a := w.begin(h)
		w.must(w.store.RequestReslice(w.ctx, a.tooMuch(noonOf(1))))
		id := w.number("SELECT id FROM ing_reslice_request")
		w.unchanged("too early", func() { w.refuses(w.store.DeclineReslice(w.ctx, id, "no"), fault.ErrInvalid, "decline") })
		a.finish(partial)
		w.planIs(plan.ID, ingest.PlanReady)
		w.must(w.store.DeclineReslice(w.ctx, id, "one day is the least"))
		w.planIs(plan.ID, ingest.PlanCompleted)
		w.pending(0)
		if got := w.text("SELECT status_code FROM ing_plan_slice") + " " + w.text("SELECT status_code FROM ing_task") + " " + w.text("SELECT last_error_code FROM ing_task"); got != "FAILED FAILED BUDGET" {
			w.Errorf("slice, task and error are %s", got)
		}
		last := w.events(h)[len(w.events(h))-1]
		if last.Kind != "FAILED" || !reflect.DeepEqual(last.Windows, []window.Window{noonOf(1)}) {
			w.Errorf("the last event is %+v", last)
		}
		if at := w.book(h).Cursor; !at.Equal(noonOf(1).From) {
			w.Errorf("the cursor is at %v", at)
		}
		if got := w.text("SELECT detail FROM ing_reslice_request"); got != `{"asked":{"page":2000},"declined":"one day is the least"}` {
			w.Errorf("detail %s", got)
		}
		if got := w.planned(plan.ID); !reflect.DeepEqual(got, []window.Window{march(1, 2)}) {
			w.Errorf("planned %v", got)
		}
		w.leavesTile()
		w.unchanged("declined again", func() { w.must(w.store.DeclineReslice(w.ctx, id, "again")) })
		w.unchanged("replaced after all", func() {
			w.refuses(w.store.ReplaceSlice(w.ctx, id, quarters(h, plan.Key, noonOf(1))), fault.ErrInvalid, "replace")
		})
		w.refuses(w.store.DeclineReslice(w.ctx, 4711, "no"), fault.ErrNotFound, "decline")
	})
	s.test(t, "a declined slice that is tried again may ask again", func(w *world) {
		w.plan(harvest{days: 1})
		w.begin(h).giveUp(noonOf(1))
		w.must(w.store.DeclineReslice(w.ctx, w.pending(1)[0].ID, "one day is the least"))
		done, _, err := w.store.RetryTasks(w.ctx, ingest.TaskPick{PlanID: w.number("SELECT id FROM ing_plan"), Status: ingest.TaskFailed}, ingest.Act{Actor: "ann", Reason: "the upstream changed"})
		if w.must(err); done.Queued != 1 {
			w.Fatalf("%+v", done)
		}
		w.begin(h).giveUp(march(1, 2))
		if got := w.pending(1)[0].Remaining; got != march(1, 2) {
			w.Errorf("remaining %v", got)
		}
		w.verified(h)
	})
	s.test(t, "the head of a slice may remain", func(w *world) {
		plan := w.plan(h)
		head := window.Window{From: midnight(1), To: midnight(1).Add(day / 2)}
		w.begin(h).giveUp(head)
		w.must(w.store.ReplaceSlice(w.ctx, w.pending(1)[0].ID, quarters(h, plan.Key, head)))
		w.leavesTile()
	})
	s.test(t, "a request waits for the end of its attempt", func(w *world) {
		plan := w.plan(h)
		a := w.begin(h)
		w.must(w.store.RequestReslice(w.ctx, a.tooMuch(noonOf(1))))
		w.pending(0)
		id := w.number("SELECT id FROM ing_reslice_request")
		w.unchanged("too early", func() {
			w.refuses(w.store.ReplaceSlice(w.ctx, id, quarters(h, plan.Key, noonOf(1))), fault.ErrInvalid, "replace")
		})
		a.finish(succeeded) // it got through after all
		w.pending(0)
		w.work(h, succeeded, succeeded)
		w.planIs(plan.ID, ingest.PlanCompleted)
	})
	s.test(t, "a later attempt knows better what remains", func(w *world) {
		w.plan(h)
		first := w.begin(h)
		w.must(w.store.RequestReslice(w.ctx, first.tooMuch(march(1, 2))))
		w.clock.advance(2 * lease)
		w.reaps(10, 1)
		second := w.start(w.claim(h, 1)[0])
		for second.work.Lease.TaskID != first.work.Lease.TaskID {
			second = w.start(w.claim(h, 1)[0])
		}
		second.giveUp(noonOf(1))
		got := w.pending(1)[0]
		if got.Remaining != noonOf(1) || got.Lineage.RunID != second.run.ID {
			w.Errorf("request %+v", got)
		}
	})
	s.test(t, "what does not lie in the slice is refused", func(w *world) {
		w.plan(h)
		a := w.begin(h)
		for name, remaining := range map[string]window.Window{
			"nothing": {}, "empty": {From: midnight(1), To: midnight(1)}, "the next day": march(2, 3), "more": march(1, 3),
			"reversed": {From: midnight(2), To: midnight(1)},
		} {
			w.unchanged(name, func() { w.refuses(w.store.RequestReslice(w.ctx, a.tooMuch(remaining)), fault.ErrInvalid, name) })
		}
	})
	s.test(t, "children that do not tile are refused", func(w *world) {
		plan := w.plan(h)
		a := w.begin(h)
		a.giveUp(noonOf(1))
		id := w.pending(1)[0].ID
		good := quarters(h, plan.Key, noonOf(1))
		itself := good[0]
		itself.Window, itself.Signature = noonOf(1), h.newSlices()[0].Signature
		for name, children := range map[string][]ingest.NewSlice{
			"none": nil, "a gap": {good[0], good[1], good[3]}, "an end": good[:3], "a start": good[1:], "twice": append(good[:4:4], good[3]),
			"another day": quarters(h, plan.Key, noonOf(2)), "the slice itself": {itself},
		} {
			w.unchanged(name, func() { w.refuses(w.store.ReplaceSlice(w.ctx, id, children), fault.ErrInvalid, name) })
		}
		good[0], good[3] = good[3], good[0] // newest first is as good
		w.must(w.store.ReplaceSlice(w.ctx, id, good))
		w.leavesTile()
		w.refuses(w.store.ReplaceSlice(w.ctx, 4711, good), fault.ErrNotFound, "unknown request")
	})
	s.test(t, "a plan that is being sliced, or was cancelled, takes no children", func(w *world) {
		plan := w.open(h)
		w.must(w.store.AddSlices(w.ctx, plan.ID, h.newSlices()[:2], false))
		w.begin(h).giveUp(noonOf(1))
		w.pending(0)
		id := w.number("SELECT id FROM ing_reslice_request")
		children := quarters(h, plan.Key, noonOf(1))
		w.unchanged("SLICING", func() { w.refuses(w.store.ReplaceSlice(w.ctx, id, children), fault.ErrInvalid, "replace") })
		w.must(w.store.SuspendPlan(w.ctx, plan.ID, nil))
		w.pending(1)
		w.cancel(plan.ID)
		w.pending(0)
		w.unchanged("CANCELLED", func() { w.refuses(w.store.ReplaceSlice(w.ctx, id, children), fault.ErrInvalid, "replace") })
	})
	s.test(t, "a suspended plan goes on behind its children", func(w *world) {
		plan := w.open(h)
		w.must(w.store.AddSlices(w.ctx, plan.ID, h.newSlices()[:2], false))
		w.must(w.store.SuspendPlan(w.ctx, plan.ID, nil))
		w.begin(h).giveUp(noonOf(1))
		w.must(w.store.ReplaceSlice(w.ctx, w.pending(1)[0].ID, quarters(h, plan.Key, noonOf(1))))
		w.planIs(plan.ID, ingest.PlanPartial)
		// A planner that does not know of the children would take the third day
		// for stored: its number is.
		if err := w.store.AddSlices(w.ctx, plan.ID, h.newSlices()[2:], true); err == nil {
			w.Error("the third day was lost")
		}
		if done, err := continuePlan(w, w.store, h, plan, 0); err != nil || !done {
			w.Errorf("continued: %v %v", done, err)
		}
		w.planIs(plan.ID, ingest.PlanReady)
		w.leavesTile()
	})
	s.test(t, "requests are listed oldest first, as many as asked for", func(w *world) {
		w.plan(harvest{days: 9})
		for range 5 {
			a := w.begin(h)
			a.giveUp(a.work.Window)
			w.clock.advance(time.Second)
		}
		got, err := w.store.PendingReslices(w.ctx, 3)
		w.must(err)
		var order []window.Window
		for _, r := range got {
			order = append(order, r.Remaining)
		}
		if want := []window.Window{march(1, 2), march(2, 3), march(3, 4)}; !reflect.DeepEqual(order, want) {
			w.Errorf("requests for %v, want %v", order, want)
		}
	})
}

func (s suite) resliceRaces(t *testing.T) {
	s.test(t, "planners that serve the same requests serve each once", func(w *world) {
		const planners, slices = 6, 8
		h := harvest{days: slices}
		plan := w.plan(h)
		for range slices {
			a := w.begin(h)
			a.giveUp(window.Window{From: a.work.Window.From.Add(day / 2), To: a.work.Window.To})
		}
		requests := w.pending(slices)
		handles := w.handles(3)
		w.together(planners, func(i int) error {
			for n := range requests {
				r := requests[(n+i)%len(requests)]
				children := quarters(h, plan.Key, r.Remaining)
				if i%2 == 0 {
					children = days(h, plan.Key, r.Remaining)
				}
				if err := handles[i%len(handles)].ReplaceSlice(w.ctx, r.ID, children); err != nil {
					return fmt.Errorf("request %d: %w", r.ID, err)
				}
			}
			return nil
		})
		w.pending(0)
		w.leavesTile()
		if got := window.Union(w.planned(plan.ID)); !reflect.DeepEqual(got, []window.Window{h.window()}) {
			w.Errorf("planned %v", got)
		}
		total := int(w.number("SELECT COUNT(*) FROM ing_plan_slice"))
		if nos := column(w.T, w.db.SQL, "SELECT slice_no FROM ing_plan_slice ORDER BY slice_no"); !reflect.DeepEqual(nos, counted(total)) {
			w.Errorf("slice numbers %v", nos)
		}
	})
	s.test(t, "serving requests while slices end", func(w *world) {
		h := harvest{days: 20}
		plan := w.plan(h)
		half := w.startClaimed(h, 20)
		handles := w.handles(2)
		w.together(2, func(i int) error {
			s := handles[i]
			if i == 0 {
				for n, a := range half {
					outcome := succeeded
					if n%2 == 0 {
						outcome = partial
						if err := s.RequestReslice(w.ctx, a.tooMuch(a.work.Window)); err != nil {
							return err
						}
					}
					if err := s.FinishRun(w.ctx, a.ending(outcome)); err != nil {
						return err
					}
				}
				return nil
			}
			for served := 0; served < len(half)/2; {
				requests, err := s.PendingReslices(w.ctx, 3)
				if err != nil {
					return err
				}
				for _, r := range requests {
					if err := s.ReplaceSlice(w.ctx, r.ID, quarters(h, plan.Key, r.Remaining)); err != nil {
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
			w.work(h, succeeded)
		}
		w.planIs(plan.ID, ingest.PlanCompleted)
		w.verified(h)
	})
}

// startClaimed claims and starts n tasks.
func (w *world) startClaimed(h harvest, n int) (out []*attempt) {
	w.Helper()
	for _, work := range w.claim(h, n) {
		out = append(out, w.start(work))
	}
	return out
}

func lossyReslice() []lossy {
	h := harvest{days: 2}
	return []lossy{
		{"request reslice", "request reslice", func(w *world) func() (answer, error) {
			w.plan(h)
			a := w.begin(h)
			w.clock.advance(time.Second)
			return func() (answer, error) { return nil, w.store.RequestReslice(w.ctx, a.tooMuch(noonOf(1))) }
		}},
		{"request reslice", "request reslice after another attempt", func(w *world) func() (answer, error) {
			w.plan(harvest{days: 1})
			w.must(w.store.RequestReslice(w.ctx, w.begin(h).tooMuch(march(1, 2))))
			w.clock.advance(2 * lease)
			w.reaps(10, 1)
			a := w.begin(h)
			return func() (answer, error) { return nil, w.store.RequestReslice(w.ctx, a.tooMuch(noonOf(1))) }
		}},
		{"decline reslice", "decline reslice", func(w *world) func() (answer, error) {
			w.plan(harvest{days: 1})
			w.begin(h).giveUp(noonOf(1))
			id := w.pending(1)[0].ID
			return func() (answer, error) { return nil, w.store.DeclineReslice(w.ctx, id, "one day is the least") }
		}},
		{"replace slice", "replace slice", func(w *world) func() (answer, error) {
			plan := w.plan(h)
			w.begin(h).giveUp(noonOf(1))
			id := w.pending(1)[0].ID
			return func() (answer, error) { return nil, w.store.ReplaceSlice(w.ctx, id, quarters(h, plan.Key, noonOf(1))) }
		}},
	}
}
