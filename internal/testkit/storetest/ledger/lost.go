package ledger

import (
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

func lossyPlanning() []lossy {
	h := fixture.Harvest{Days: 3}
	return []lossy{
		{"record trigger", "record trigger", func(w *world) func() (answer, error) {
			return func() (answer, error) { return w.Store.RecordTrigger(w.Ctx, h.NewTrigger()) }
		}},
		{"note trigger", "note trigger", func(w *world) func() (answer, error) {
			id, err := w.Store.RecordTrigger(w.Ctx, h.NewTrigger())
			w.Must(err)
			return func() (answer, error) { return nil, w.Store.NoteTrigger(w.Ctx, id, []byte(`{"why":"paused"}`)) }
		}},
		{"open plan", "open plan", openLossy(h)},
		{"open plan", "open empty plan", openLossy(fixture.Harvest{Empty: true})},
		{"add slices", "add first slices", func(w *world) func() (answer, error) {
			plan := w.Open(h)
			return func() (answer, error) { return nil, w.Store.AddSlices(w.Ctx, plan.ID, h.NewSlices()[:2], false) }
		}},
		{"add slices", "add last slices", func(w *world) func() (answer, error) {
			plan := w.Open(h)
			return func() (answer, error) { return nil, w.Store.AddSlices(w.Ctx, plan.ID, h.NewSlices(), true) }
		}},
	}
}

func openLossy(h fixture.Harvest) func(w *world) func() (answer, error) {
	return func(w *world) func() (answer, error) {
		id, err := w.Store.RecordTrigger(w.Ctx, h.NewTrigger())
		w.Must(err)
		return func() (answer, error) {
			plan, _, err := w.Store.OpenPlan(w.Ctx, h.NewPlan(id))
			return plan, err
		}
	}
}

func lossyQueue() []lossy {
	h := fixture.Harvest{Days: 3}
	return []lossy{
		{"claim", "claim", func(w *world) func() (answer, error) {
			w.Plan(h)
			request := w.Request(h, 2)
			return func() (answer, error) { return w.Store.Claim(w.Ctx, request) }
		}},
		{"renew lease", "renew", func(w *world) func() (answer, error) {
			w.Plan(h)
			a := w.Begin(h)
			w.Clock.Advance(time.Second)
			return func() (answer, error) { return w.Store.Renew(w.Ctx, a.Work.Lease, fixture.Lease) }
		}},
		{"release task", "release", func(w *world) func() (answer, error) {
			w.Plan(h)
			work := w.Claim(h, 2)
			return func() (answer, error) { return nil, w.Store.Release(w.Ctx, work[0].Lease) }
		}},
		{"promote due tasks", "promote", func(w *world) func() (answer, error) {
			w.Plan(fixture.Harvest{Due: fixture.Noon.Add(time.Hour)})
			w.Clock.Advance(2 * time.Hour)
			return func() (answer, error) { _, err := w.Store.Promote(w.Ctx, 10); return nil, err }
		}},
		{"reap expired leases", "reap", func(w *world) func() (answer, error) {
			w.Plan(h)
			w.Begin(h).Commit(fixture.Item("a", "x", fixture.Noon))
			w.Claim(h, 1)
			w.Clock.Advance(2 * fixture.Lease)
			return func() (answer, error) { _, err := w.Store.Reap(w.Ctx, 10); return nil, err }
		}},
	}
}

func lossyRun() []lossy {
	h := fixture.Harvest{Days: 2}
	all := []lossy{
		{"start run", "start run", func(w *world) func() (answer, error) {
			w.Plan(h)
			work := w.Claim(h, 1)[0]
			return func() (answer, error) { return w.Store.StartRun(w.Ctx, work, fixture.Lease) }
		}},
		{"commit batch", "commit batch", func(w *world) func() (answer, error) {
			w.Plan(h)
			a := w.Begin(h)
			a.Commit(fixture.Item("same", "x", fixture.Noon), fixture.Item("changed", "x", fixture.Noon), fixture.Item("removed", "x", fixture.Noon), fixture.Item("touched", "x", fixture.Noon), fixture.Item("newer", "x", fixture.Noon.Add(fixture.Day)))
			page := a.Page(fixture.Item("new", "x", fixture.Noon), fixture.Item("same", "x", fixture.Noon), fixture.Item("changed", "y", fixture.Noon.Add(fixture.Day)), fixture.Gone("removed", fixture.Noon.Add(fixture.Day)),
				fixture.Item("touched", "x", fixture.Noon.Add(fixture.Day)), fixture.Item("newer", "old", fixture.Noon))
			page.Rejects = []record.Reject{{Index: 7, ProviderID: "bad", Reason: record.BadItem, Path: "$.x", Detail: "why", Raw: []byte("{}")}}
			page.Duplicate, page.Outside, page.Seen = 2, 3, 12
			w.Clock.Advance(time.Second)
			return func() (answer, error) { return w.Store.CommitBatch(w.Ctx, page) }
		}},
	}
	for name, o := range map[string]ingest.Outcome{
		"succeed": fixture.Succeeded, "fail": fixture.Failed, "stop half-way": fixture.Partial, "cancel": fixture.Cancelled, "try again": fixture.Again, "try later": fixture.Later,
	} {
		all = append(all, lossy{"finish run", "finish run: " + name, func(w *world) func() (answer, error) {
			w.Plan(h)
			a := w.Begin(h)
			a.Commit(fixture.Item("a", "x", fixture.Noon))
			o.Observed, o.Stats = fixture.Noon, ingest.RunStats{Requests: 7}
			end := a.Ending(o)
			if o.Run == ingest.RunFailed {
				end.Failed = &ingest.FailedBatch{No: 2, Pass: 1, PageNo: 2, BeforeToken: "t", Error: "no answer", Request: []byte("{}")}
			}
			return func() (answer, error) { return nil, w.Store.FinishRun(w.Ctx, end) }
		}})
	}
	return all
}

func lossyProcess() []lossy {
	me := ingest.Process{ID: "me", Roles: "executor", Host: "here", PID: 7}
	return []lossy{
		{"heartbeat", "first heartbeat", func(w *world) func() (answer, error) {
			return func() (answer, error) { return w.Store.Heartbeat(w.Ctx, me, fixture.Lease) }
		}},
		{"heartbeat", "next heartbeat", func(w *world) func() (answer, error) {
			_, err := w.Store.Heartbeat(w.Ctx, me, fixture.Lease)
			w.Must(err)
			w.Clock.Advance(time.Second)
			return func() (answer, error) { return w.Store.Heartbeat(w.Ctx, me, fixture.Lease) }
		}},
		{"attend", "next sign of life", func(w *world) func() (answer, error) {
			_, mine := w.attends(gate.Member{ID: "me"})
			w.Clock.Advance(time.Second)
			return func() (answer, error) { return w.Store.Attend(w.Ctx, mine, gate.VoidAfter) }
		}},
		{"depart", "depart", func(w *world) func() (answer, error) {
			w.attends(gate.Member{ID: "me"})
			return func() (answer, error) { return nil, w.Store.Depart(w.Ctx, "me") }
		}},
		{"reserve sends", "drain", func(w *world) func() (answer, error) {
			return func() (answer, error) {
				return w.Store.ReserveSends(w.Ctx, "key", gate.Reservation{PerSecond: 1, Burst: 1, Drain: true})
			}
		}},
		{"bury executor", "bury", func(w *world) func() (answer, error) {
			_, err := w.Store.Heartbeat(w.Ctx, ingest.Process{ID: "worker"}, fixture.Lease)
			w.Must(err)
			w.Plan(fixture.Harvest{})
			w.Begin(fixture.Harvest{})
			return func() (answer, error) { return nil, w.Store.Bury(w.Ctx, "worker") }
		}},
		{"farewell", "farewell", func(w *world) func() (answer, error) {
			_, err := w.Store.Heartbeat(w.Ctx, me, fixture.Lease)
			w.Must(err)
			return func() (answer, error) { return nil, w.Store.Farewell(w.Ctx, me.ID) }
		}},
		{"farewell", "farewell of a process that holds a task", func(w *world) func() (answer, error) {
			h := fixture.Harvest{Days: 2}
			w.Plan(h)
			request := w.Request(h, 1)
			request.Owner = me.ID
			_, err := w.Store.Claim(w.Ctx, request)
			w.Must(err)
			return func() (answer, error) { return nil, w.Store.Farewell(w.Ctx, me.ID) }
		}},
	}
}
