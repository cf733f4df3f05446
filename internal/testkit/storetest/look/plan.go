package look

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

var planLists = map[string]list{
	"plan rows": ids(func(w *world, f view.Filter) ([]view.PlanRow, error) {
		return w.Store.PlanRows(w.Ctx, view.PlanFilter{Filter: f})
	},
		func(v view.PlanRow) int64 { return v.ID }),
	"slices": ids(func(w *world, f view.Filter) ([]view.Slice, error) { return w.Store.Slices(w.Ctx, f) }, func(v view.Slice) int64 { return v.ID }),
}

func (s suite) planViews(t *testing.T) {
	s.test(t, "lists can be narrowed and paged", func(w *world) {
		var plans []int64
		for i, source := range []string{"one", "two", "one", "two"} {
			h := fixture.Harvest{Source: source, Trigger: fmt.Sprint(i), First: 1 + 10*i, Days: 10}
			plans = append(plans, w.Plan(h).ID)
			w.Work(h, fixture.Succeeded, fixture.Failed, fixture.Partial)
		}
		for name, read := range planLists {
			all := read(w, view.Filter{Limit: 1000})
			perPlan := len(all) / len(plans)
			if want := map[string]int{"plan rows": 4, "slices": 40}[name]; len(all) != want {
				w.Errorf("%s: %d rows, want %d", name, len(all), want)
			}
			w.newestFirst(name, all)
			if got := read(w, view.Filter{Source: "two", Limit: 1000}); len(got) != 2*perPlan {
				w.Errorf("%s of a source: %d, want %d", name, len(got), 2*perPlan)
			}
			if got := read(w, view.Filter{PlanID: plans[1], Limit: 1000}); len(got) != perPlan {
				w.Errorf("%s of a plan: %d, want %d", name, len(got), perPlan)
			}
			if got := len(read(w, view.Filter{Source: "three"})) + len(read(w, view.Filter{Status: "NO SUCH"})); got != 0 {
				w.Errorf("%s of nothing: %d", name, got)
			}
			var paged []int64
			for f := (view.Filter{Limit: 3}); ; f.Before = paged[len(paged)-1] {
				page := read(w, f)
				if len(page) == 0 || len(paged) > len(all) {
					break
				}
				paged = append(paged, page...)
			}
			if !reflect.DeepEqual(paged, all) {
				w.Errorf("%s in pages of 3: %v, want %v", name, paged, all)
			}
		}
		if got := planLists["slices"](w, view.Filter{Status: "PARTIAL"}); len(got) != 4 {
			w.Errorf("partial slices %v, want 4", got)
		}
	})
	s.test(t, "a list of plans counts slices by status", func(w *world) {
		one, two := fixture.Harvest{Days: 5}, fixture.Harvest{Trigger: "two", First: 6, Days: 2}
		w.Plan(one)
		w.Work(one, fixture.Succeeded, fixture.Succeeded, fixture.Failed)
		w.Plan(two)
		w.Open(fixture.Harvest{Trigger: "none", First: 8})
		rows, err := w.Store.PlanRows(w.Ctx, view.PlanFilter{})
		w.Must(err)
		want := []map[string]int{{}, {"READY": 2}, {"SUCCEEDED": 2, "FAILED": 1, "READY": 2}}
		for i, row := range rows {
			if !reflect.DeepEqual(row.Slices, want[i]) {
				w.Errorf("plan %d: %v, want %v", row.ID, row.Slices, want[i])
			}
		}
	})
	s.test(t, "more plans than one count takes", func(w *world) {
		const plans = 130
		for i := range plans {
			w.Plan(fixture.Harvest{Trigger: fmt.Sprint(i), First: 1 + i, Days: 1})
		}
		rows, err := w.Store.PlanRows(w.Ctx, view.PlanFilter{Filter: view.Filter{Limit: 1000}})
		w.Must(err)
		for _, row := range rows {
			if row.Slices["READY"] != 1 {
				w.Errorf("plan %d: %v", row.ID, row.Slices)
			}
		}
		if len(rows) != plans {
			w.Errorf("%d plans, want %d", len(rows), plans)
		}
	})
	s.test(t, "plans by operation", func(w *world) {
		w.Plan(fixture.Harvest{})
		back := w.Plan(fixture.Harvest{Operation: ingest.Backfill, Trigger: "back"})
		rows, err := w.Store.PlanRows(w.Ctx, view.PlanFilter{Operation: "BACKFILL"})
		w.Must(err)
		if len(rows) != 1 || rows[0].ID != back.ID || rows[0].Operation != "BACKFILL" || rows[0].Endpoint != "works" {
			w.Errorf("%+v", rows)
		}
	})
	s.test(t, "one plan with all that is known of it", func(w *world) {
		h := fixture.Harvest{Days: 3, Trigger: "tick"}
		plan := w.Plan(h)
		for i, o := range []ingest.Outcome{fixture.Succeeded, fixture.Failed} {
			a := w.Begin(h)
			o.Stats = ingest.RunStats{Requests: 2, Statuses: ingest.StatusTally{200: 1, 502 + i: 1}, BatchStats: a.Commit(fixture.Item(fmt.Sprint(a.Run.ID), "x", fixture.Noon)).Stats}
			a.Finish(o)
		}
		got, err := w.Store.Plan(w.Ctx, plan.ID)
		w.Must(err)
		in, days := h.NewPlan(plan.ScheduleID), h.Window()
		want := view.PlanDetail{
			Plan: view.Plan{
				ID: plan.ID, Source: "crossref", Endpoint: "works", Operation: "HARVEST", Status: "READY", Window: &days, AsOf: fixture.Noon,
				SpecFingerprint: in.SpecFingerprint, Remarks: in.Remarks, CreatedAt: fixture.Noon,
			},
			Key: in.Key, Strategy: "TIME", SliceParams: in.SliceParams, ExprProtoHash: in.ExprProtoHash, ExprProto: in.ExprProto, CursorID: w.CursorID(h), UpdatedAt: fixture.Noon,
			Trigger: view.Trigger{ID: plan.ScheduleID, Type: "SCHEDULE", Scheduler: "cron", At: fixture.Noon, Params: h.NewTrigger().Params},
			Slices:  map[string]int{"SUCCEEDED": 1, "FAILED": 1, "READY": 1},
			Stats:   ingest.RunStats{Requests: 4, Statuses: ingest.StatusTally{200: 2, 502: 1, 503: 1}, BatchStats: ingest.BatchStats{Seen: 2, Inserted: 2}},
		}
		if !reflect.DeepEqual(got, want) {
			w.Errorf("plan\n%+v, want\n%+v", got, want)
		}
		empty, err := w.Store.Plan(w.Ctx, w.Open(fixture.Harvest{Trigger: "empty", Empty: true}).ID)
		w.Must(err)
		if empty.Window != nil || len(empty.Slices) != 0 || empty.Status != "COMPLETED" {
			w.Errorf("empty plan %+v", empty)
		}
	})
	s.test(t, "one slice with all that is known of it", func(w *world) {
		h := fixture.Harvest{Days: 2}
		plan := w.Plan(h)
		w.Clock.Advance(time.Minute)
		w.Work(h, fixture.Succeeded)
		w.Exec("UPDATE ing_plan_slice SET parent_slice_id = 1, record_remarks = '{\"cut\":2}' WHERE id = 2")
		in := h.NewSlices()
		for i, more := range []view.SliceDetail{
			{Slice: view.Slice{Status: "SUCCEEDED", TaskStatus: "SUCCEEDED", UpdatedAt: fixture.Noon.Add(time.Minute)}},
			{Slice: view.Slice{Status: "READY", TaskStatus: "QUEUED", UpdatedAt: fixture.Noon, ParentID: 1}, Remarks: []byte(`{"cut":2}`)},
		} {
			id := int64(i + 1)
			want := more
			want.ID, want.PlanID, want.No, want.Source, want.TaskID, want.CreatedAt = id, plan.ID, i+1, "crossref", id, fixture.Noon
			want.Window, want.Signature, want.ExprHash = &in[i].Window, in[i].Signature, in[i].ExprHash
			want.Spec, want.Expr = in[i].Spec, in[i].Expr
			got, err := w.Store.Slice(w.Ctx, id)
			w.Must(err)
			if !reflect.DeepEqual(got, want) {
				w.Errorf("slice\n%+v, want\n%+v", got, want)
			}
			listed, err := w.Store.Slices(w.Ctx, view.Filter{})
			w.Must(err)
			if one := listed[len(listed)-1-i]; !reflect.DeepEqual(one, want.Slice) {
				w.Errorf("listed as\n%+v, want\n%+v", one, want.Slice)
			}
		}
	})
	s.test(t, "a slice without window and task can be shown", func(w *world) {
		w.Plan(fixture.Harvest{Days: 1})
		w.Exec("DELETE FROM ing_task")
		w.Exec("UPDATE ing_plan_slice SET window_from = NULL, window_to = NULL, expr_snapshot = NULL")
		got, err := w.Store.Slice(w.Ctx, 1)
		w.Must(err)
		if got.Window != nil || got.TaskID != 0 || got.TaskStatus != "" || got.Expr != nil {
			w.Errorf("%+v", got)
		}
	})
	s.test(t, "what does not exist is not found", func(w *world) {
		_, err := w.Store.Plan(w.Ctx, 4711)
		w.Refuses(err, fault.ErrNotFound, "plan")
		_, err = w.Store.Slice(w.Ctx, 4711)
		w.Refuses(err, fault.ErrNotFound, "slice")
	})
}
