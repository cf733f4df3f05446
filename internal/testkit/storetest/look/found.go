package look

import (
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// processViews: who lives, who ended without shutting down, and which plans nobody takes.
func (s suite) processViews(t *testing.T) {
	beat := func(w *world, id, roles string) {
		w.Helper()
		_, err := w.Store.Heartbeat(w.Ctx, ingest.Process{ID: id, Roles: roles, Host: "attic", PID: 7}, fixture.Lease)
		w.Must(err)
	}
	listed := func(w *world, want ...string) {
		w.Helper()
		all, err := w.Store.ProcessRows(w.Ctx)
		w.Must(err)
		var got []string
		for _, p := range all {
			got = append(got, p.ID)
		}
		if len(got) != len(want) {
			w.Fatalf("%v, want %v", got, want)
		}
		for i := range want {
			if got[i] != want[i] {
				w.Fatalf("%v, want %v", got, want)
			}
		}
	}
	s.test(t, "a process is known with its signs of life", func(w *world) {
		began := w.Clock.Read()
		beat(w, "a", "executor,planner")
		w.Clock.Advance(time.Minute)
		beat(w, "a", "executor,planner")
		all, err := w.Store.ProcessRows(w.Ctx)
		w.Must(err)
		now := began.Add(time.Minute)
		if len(all) != 1 {
			w.Fatalf("%+v", all)
		}
		if p := all[0]; !p.Since.Equal(began) || !p.HeardAt.Equal(now) || !p.AliveUntil.Equal(now.Add(fixture.Lease)) || p.Host != "attic" || p.PID != 7 || !p.Has("planner") || !p.Lives(now) || p.Lives(now.Add(2*fixture.Lease)) {
			w.Errorf("%+v", p)
		}
		w.Must(w.Store.Farewell(w.Ctx, "a"))
		listed(w)
	})
	s.test(t, "who ended without shutting down is known until a successor begins", func(w *world) {
		beat(w, "a", "executor,planner")
		w.Clock.Advance(2 * fixture.Lease)
		beat(w, "b", "executor") // does only a part of it
		listed(w, "a", "b")
		beat(w, "c", "executor,planner,relay")
		listed(w, "b", "c")
	})
	s.test(t, "who does the same forgets after a day", func(w *world) {
		beat(w, "a", "executor")
		beat(w, "b", "executor")
		for range 2 {
			w.Clock.Advance(13 * time.Hour)
			beat(w, "b", "executor")
		}
		listed(w, "b")
	})
	s.test(t, "a plan that nobody takes", func(w *world) {
		h := fixture.Harvest{Days: 2}
		plan := w.Plan(h)
		idle := func(want int) {
			w.Helper()
			got, err := w.Store.IdlePlans(w.Ctx, plan.Partition.Source, w.Clock.Read())
			w.Must(err)
			if len(got) != want {
				w.Fatalf("%+v, want %d", got, want)
			}
			if want > 0 && (got[0].ID != plan.ID || got[0].Partition != plan.Partition || got[0].Since.IsZero()) {
				w.Errorf("%+v of %+v", got[0], plan)
			}
		}
		idle(1)
		if starts, err := w.Store.HarvestStarts(w.Ctx, plan.Partition.Dataset, 9); err != nil || len(starts) != 1 || !starts[0].Equal(w.Clock.Read()) {
			w.Errorf("planned at %v %v", starts, err)
		}
		if got, err := w.Store.IdlePlans(w.Ctx, "", w.Clock.Read().Add(-time.Hour)); err != nil || len(got) != 0 {
			w.Errorf("not for long: %+v %v", got, err)
		}
		w.Begin(h)
		idle(0)
	})
}

// newRejects: whether so many items came into quarantine since an instant.
func (s suite) newRejects(t *testing.T) {
	s.test(t, "items that came into quarantine since", func(w *world) {
		works := ingest.Dataset{Source: "source", Endpoint: "works"}
		if grew, err := w.Store.HasNewRejects(w.Ctx, works, w.Clock.Read(), 1); grew || err != nil {
			w.Fatalf("of nothing: %v %v", grew, err)
		}
		w.Exec("INSERT INTO ing_dataset (provenance_code, endpoint_name, created_at) VALUES ('source', 'works', 0)")
		id := w.Number("SELECT id FROM ing_dataset WHERE provenance_code = 'source' AND endpoint_name = 'works'")
		for i, status := range []string{"OPEN", "RESOLVED", "OPEN", "OPEN"} {
			w.Exec(`INSERT INTO ing_quarantine (dataset_id, reject_key, provenance_code, endpoint_name, plan_id, slice_id, task_id, run_id, batch_id, item_index, reason_code, raw_hash, codec, status_code, created_at, updated_at)
  VALUES (?, ?, 'source', 'works', 1, 1, 1, 1, 1, 0, 'NO_ID', 'x', 'none', ?, ?, 0)`, id, string(rune('a'+i)), status, w.Clock.Read().Add(time.Duration(i)*time.Minute).UnixMicro())
		}
		for _, c := range []struct {
			since, many int
			want        bool
		}{{0, 3, true}, {0, 4, false}, {2, 2, true}, {2, 3, false}, {4, 1, false}, {0, 1, true}} {
			if grew, err := w.Store.HasNewRejects(w.Ctx, works, w.Clock.Read().Add(time.Duration(c.since)*time.Minute), c.many); grew != c.want || err != nil {
				w.Errorf("%d since minute %d: %v %v, want %v", c.many, c.since, grew, err, c.want)
			}
		}
	})
}

// differingCursors: a watermark that is not what its newest event says.
func (s suite) differingCursors(t *testing.T) {
	s.test(t, "a watermark that differs from its newest event", func(w *world) {
		h := fixture.Harvest{Days: 2}
		plan := w.Plan(h)
		a := w.Begin(h)
		a.Finish(fixture.Succeeded)
		found := func(want int) {
			w.Helper()
			for _, source := range []string{"", plan.Partition.Source} {
				got, err := w.Store.DifferingCursors(w.Ctx, source)
				w.Must(err)
				if len(got) != want || want > 0 && (got[0].Value == got[0].Ledger || got[0].EventID == 0 || got[0].Source != plan.Partition.Source) {
					w.Fatalf("%+v, want %d", got, want)
				}
			}
		}
		found(0)
		w.Exec("UPDATE ing_cursor SET cursor_value = '2031-01-01T00:00:00Z'")
		found(1)
		cursors, err := w.Store.Cursors(w.Ctx, "")
		w.Must(err)
		_, err = w.Store.RepairCursor(w.Ctx, cursors[0].ID, ingest.Act{Actor: "ann", Reason: "test"})
		w.Must(err)
		found(0)
	})
}
