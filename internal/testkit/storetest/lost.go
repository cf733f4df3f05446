package storetest

import (
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/driver/store"
)

// answer is what a call of the store gave; a call whose answers need not be
// equal (how many rows it moved) leaves it nil.
type answer any

// lossy is a step whose answer may get lost. Prepare brings a world to the
// point just before it and returns the call.
type lossy struct {
	step    string // as named in the store
	name    string
	prepare func(w *world) func() (answer, error)
}

// Steps are the steps whose answers LostAnswers loses, by the store's names.
func Steps() (names []string) {
	for _, l := range lossySteps() {
		names = append(names, l.step)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func lossySteps() []lossy {
	return slices.Concat(lossyPlanning(), lossyCancel(), lossyPause(), lossyCampaign(), lossyTasks(), lossyPartial(), lossyReslice(), lossyLate(), lossyRefresh(), lossyQuarantine(), lossyHealth(), lossyQueue(), lossyRun(), lossyProcess(), lossyNamedLease(), lossySchedule(), lossyDictionary(), lossyCursor(), lossyQuota(), lossyRates(), lossyArchive(), lossyOutbox(), lossyExport(), lossyTrust())
}

// lostAnswers holds every step to "done, but told it failed" (I8): a caller that
// repeats the call gets the answer it would have had, and the database is as if
// nothing had gone wrong.
func (s suite) lostAnswers(t *testing.T) {
	for _, l := range lossySteps() {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			calm, stormy := s.world(t), s.world(t)
			want, err := l.prepare(calm)()
			calm.must(err)

			call := l.prepare(stormy)
			before := stormy.tables()
			stormy.wire.loseNext(l.step)
			if _, err := call(); !errors.Is(err, errLost) {
				t.Fatalf("the answer of %q was not lost: %v", l.step, err)
			}
			if reflect.DeepEqual(before, stormy.tables()) {
				t.Fatal("the step did nothing, so repeating it proves nothing")
			}
			stormy.sameTables("after the lost answer", calm.tables(), stormy.tables())
			got, err := call()
			stormy.must(err)
			if want != nil && !reflect.DeepEqual(got, want) {
				t.Errorf("the repeated call gave\n%+v, undisturbed it gives\n%+v", got, want)
			}
			stormy.sameTables("after the repeated call", calm.tables(), stormy.tables())
			if stormy.wire.lost != 1 {
				t.Errorf("%d answers were lost", stormy.wire.lost)
			}
		})
	}
}

func lossyPlanning() []lossy {
	h := harvest{days: 3}
	return []lossy{
		{"record trigger", "record trigger", func(w *world) func() (answer, error) {
			return func() (answer, error) { return w.store.RecordTrigger(w.ctx, h.newTrigger()) }
		}},
		{"note trigger", "note trigger", func(w *world) func() (answer, error) {
			id, err := w.store.RecordTrigger(w.ctx, h.newTrigger())
			w.must(err)
			return func() (answer, error) { return nil, w.store.NoteTrigger(w.ctx, id, []byte(`{"why":"paused"}`)) }
		}},
		{"open plan", "open plan", openLossy(h)},
		{"open plan", "open empty plan", openLossy(harvest{empty: true})},
		{"add slices", "add first slices", func(w *world) func() (answer, error) {
			plan := w.open(h)
			return func() (answer, error) { return nil, w.store.AddSlices(w.ctx, plan.ID, h.newSlices()[:2], false) }
		}},
		{"add slices", "add last slices", func(w *world) func() (answer, error) {
			plan := w.open(h)
			return func() (answer, error) { return nil, w.store.AddSlices(w.ctx, plan.ID, h.newSlices(), true) }
		}},
	}
}

func openLossy(h harvest) func(w *world) func() (answer, error) {
	return func(w *world) func() (answer, error) {
		id, err := w.store.RecordTrigger(w.ctx, h.newTrigger())
		w.must(err)
		return func() (answer, error) {
			plan, _, err := w.store.OpenPlan(w.ctx, h.newPlan(id))
			return plan, err
		}
	}
}

func lossyQueue() []lossy {
	h := harvest{days: 3}
	return []lossy{
		{"claim", "claim", func(w *world) func() (answer, error) {
			w.plan(h)
			request := w.request(h, 2)
			return func() (answer, error) { return w.store.Claim(w.ctx, request) }
		}},
		{"renew lease", "renew", func(w *world) func() (answer, error) {
			w.plan(h)
			a := w.begin(h)
			w.clock.advance(time.Second)
			return func() (answer, error) { return w.store.Renew(w.ctx, a.work.Lease, lease) }
		}},
		{"release task", "release", func(w *world) func() (answer, error) {
			w.plan(h)
			work := w.claim(h, 2)
			return func() (answer, error) { return nil, w.store.Release(w.ctx, work[0].Lease) }
		}},
		{"promote due tasks", "promote", func(w *world) func() (answer, error) {
			w.plan(harvest{due: noon.Add(time.Hour)})
			w.clock.advance(2 * time.Hour)
			return func() (answer, error) { _, err := w.store.Promote(w.ctx, 10); return nil, err }
		}},
		{"reap expired leases", "reap", func(w *world) func() (answer, error) {
			w.plan(h)
			w.begin(h).commit(item("a", "x", noon))
			w.claim(h, 1)
			w.clock.advance(2 * lease)
			return func() (answer, error) { _, err := w.store.Reap(w.ctx, 10); return nil, err }
		}},
	}
}

func lossyRun() []lossy {
	h := harvest{days: 2}
	all := []lossy{
		{"start run", "start run", func(w *world) func() (answer, error) {
			w.plan(h)
			work := w.claim(h, 1)[0]
			return func() (answer, error) { return w.store.StartRun(w.ctx, work, lease) }
		}},
		{"commit batch", "commit batch", func(w *world) func() (answer, error) {
			w.plan(h)
			a := w.begin(h)
			a.commit(item("same", "x", noon), item("changed", "x", noon), item("removed", "x", noon), item("touched", "x", noon), item("newer", "x", noon.Add(day)))
			page := a.page(item("new", "x", noon), item("same", "x", noon), item("changed", "y", noon.Add(day)), gone("removed", noon.Add(day)),
				item("touched", "x", noon.Add(day)), item("newer", "old", noon))
			page.Rejects = []record.Reject{{Index: 7, ProviderID: "bad", Reason: record.BadItem, Path: "$.x", Detail: "why", Raw: []byte("{}")}}
			page.Duplicate, page.Outside, page.Seen = 2, 3, 12
			w.clock.advance(time.Second)
			return func() (answer, error) { return w.store.CommitBatch(w.ctx, page) }
		}},
	}
	for name, o := range map[string]ingest.Outcome{
		"succeed": succeeded, "fail": failed, "stop half-way": partial, "cancel": cancelled, "try again": again, "try later": later,
	} {
		all = append(all, lossy{"finish run", "finish run: " + name, func(w *world) func() (answer, error) {
			w.plan(h)
			a := w.begin(h)
			a.commit(item("a", "x", noon))
			o.Observed, o.Stats = noon, ingest.RunStats{Requests: 7}
			end := a.ending(o)
			if o.Run == ingest.RunFailed {
				end.Failed = &ingest.FailedBatch{No: 2, Pass: 1, PageNo: 2, BeforeToken: "t", Error: "no answer", Request: []byte("{}")}
			}
			return func() (answer, error) { return nil, w.store.FinishRun(w.ctx, end) }
		}})
	}
	return all
}

func lossyProcess() []lossy {
	me := store.ExecutorInfo{ID: "me", Roles: "executor", Host: "here", PID: 7}
	return []lossy{
		{"heartbeat", "first heartbeat", func(w *world) func() (answer, error) {
			return func() (answer, error) { return w.store.Heartbeat(w.ctx, me, lease) }
		}},
		{"heartbeat", "next heartbeat", func(w *world) func() (answer, error) {
			_, err := w.store.Heartbeat(w.ctx, me, lease)
			w.must(err)
			w.clock.advance(time.Second)
			return func() (answer, error) { return w.store.Heartbeat(w.ctx, me, lease) }
		}},
		{"attend", "next sign of life", func(w *world) func() (answer, error) {
			_, mine := w.attends(gate.Member{ID: "me"})
			w.clock.advance(time.Second)
			return func() (answer, error) { return w.store.Attend(w.ctx, mine, gate.VoidAfter) }
		}},
		{"depart", "depart", func(w *world) func() (answer, error) {
			w.attends(gate.Member{ID: "me"})
			return func() (answer, error) { return nil, w.store.Depart(w.ctx, "me") }
		}},
		{"reserve sends", "drain", func(w *world) func() (answer, error) {
			return func() (answer, error) {
				return w.store.ReserveSends(w.ctx, "key", gate.Reservation{PerSecond: 1, Burst: 1, Drain: true})
			}
		}},
		{"bury executor", "bury", func(w *world) func() (answer, error) {
			_, err := w.store.Heartbeat(w.ctx, store.ExecutorInfo{ID: "worker"}, lease)
			w.must(err)
			w.plan(harvest{})
			w.begin(harvest{})
			return func() (answer, error) { return nil, w.store.Bury(w.ctx, "worker") }
		}},
		{"apply source", "apply new source", func(w *world) func() (answer, error) {
			return func() (answer, error) {
				_, err := w.store.ApplySource(w.ctx, w.source(), registry.ApplyOptions{})
				return nil, err
			}
		}},
		{"apply source", "apply changed source", func(w *world) func() (answer, error) {
			w.apply(w.source())
			w.clock.advance(day)
			return func() (answer, error) {
				_, err := w.store.ApplySource(w.ctx, w.source("size: 500", "size: 200", "name: Tiny", "name: Small"), registry.ApplyOptions{})
				return nil, err
			}
		}},
		{"apply source", "apply scheduled source", func(w *world) func() (answer, error) {
			w.apply(w.source())
			w.applyFrom(w.source("size: 500", "size: 300"), noon.Add(2*day))
			return func() (answer, error) {
				_, err := w.store.ApplySource(w.ctx, w.source("size: 500", "size: 200"), registry.ApplyOptions{From: noon.Add(day)})
				return nil, err
			}
		}},
		{"apply source", "cancel scheduled sources", func(w *world) func() (answer, error) {
			w.apply(w.source())
			w.applyFrom(w.source("size: 500", "size: 300"), noon.Add(2*day))
			return func() (answer, error) {
				_, err := w.store.ApplySource(w.ctx, w.source(), registry.ApplyOptions{CancelScheduled: true})
				return nil, err
			}
		}},
		{"farewell", "farewell", func(w *world) func() (answer, error) {
			_, err := w.store.Heartbeat(w.ctx, me, lease)
			w.must(err)
			return func() (answer, error) { return nil, w.store.Farewell(w.ctx, me.ID) }
		}},
		{"farewell", "farewell of a process that holds a task", func(w *world) func() (answer, error) {
			h := harvest{days: 2}
			w.plan(h)
			request := w.request(h, 1)
			request.Owner = me.ID
			_, err := w.store.Claim(w.ctx, request)
			w.must(err)
			return func() (answer, error) { return nil, w.store.Farewell(w.ctx, me.ID) }
		}},
	}
}
