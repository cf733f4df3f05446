package ledger

import (
	"reflect"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/health"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// work reads the sums of the time around now.
func (w *world) work(q view.SumQuery) []view.WorkSum {
	w.Helper()
	if q.To.IsZero() {
		q.To = w.Clock.Read().Add(time.Second)
	}
	if q.From.IsZero() {
		q.From = q.To.Add(-time.Hour)
	}
	got, err := w.Store.WorkSums(w.Ctx, q)
	w.Must(err)
	return got
}

func (w *world) errorsMet(q view.ErrorQuery) []view.ErrorSum {
	w.Helper()
	if q.To.IsZero() {
		q.To = w.Clock.Read().Add(time.Second)
	}
	got, err := w.Store.ErrorSums(w.Ctx, q)
	w.Must(err)
	return got
}

// busyRun is the account of a run that met about everything.
func busyRun() ingest.RunStats {
	return ingest.RunStats{
		Requests: 7, Retries: 2, Throttled: 1, Pages: 3, BytesIn: 1 << 33, WaitMS: 1500, TookMS: 900, SlowestMS: 400, Answers: 3, Latencies: ingest.Latencies{2: 1, 3: 2},
		Errors: ingest.FaultTally{{Level: fault.Transient, Code: "NETWORK", Times: 2, Batch: 2}, {Level: fault.Data, Code: "MISSING_ID", Times: 4, Batch: 3}},
	}
}

func (s suite) sums(t *testing.T) {
	h := fixture.Harvest{Days: 4}
	part := fixture.Harvest{}.Partition()
	s.test(t, "a run is added when it ends, once", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		a.Commit(fixture.Item("a", "x", fixture.Noon), fixture.Item("b", "x", fixture.Noon))
		if got := w.work(view.SumQuery{}); len(got) != 0 {
			w.Errorf("a run that goes on is among the sums: %+v", got)
		}
		end := a.Ending(fixture.Failed)
		end.Outcome.Stats = busyRun()
		end.Failed = &ingest.FailedBatch{No: 2, Pass: 1, PageNo: 2, Error: "HTTP 500"}
		w.Must(w.Store.FinishRun(w.Ctx, end))
		w.Unchanged("finished again", func() { w.Must(w.Store.FinishRun(w.Ctx, end)) })
		want := []view.WorkSum{{
			Source: part.Source, Endpoint: part.Endpoint, Operation: part.Operation, From: fixture.Noon.Add(-time.Hour), To: fixture.Noon.Add(5 * time.Minute),
			Runs: view.RunSums{Failed: 1}, Batches: 3, FailedBatches: 1, Items: view.ItemSums{Seen: 2, Inserted: 2}, Requests: 7, Retries: 2, Throttled: 1,
			BytesIn: 1 << 33, Errors: view.ErrorSums{L1: 2, L3: 4}, Answers: 3, Took: 900 * time.Millisecond, Slowest: 400 * time.Millisecond, Waited: 1500 * time.Millisecond, Latencies: ingest.Latencies{2: 1, 3: 2},
		}}
		if got := w.work(view.SumQuery{}); !reflect.DeepEqual(got, want) {
			w.Errorf("sums\n%+v, want\n%+v", got, want)
		}
		wanted := []view.ErrorSum{
			{Level: fault.Data, Code: "MISSING_ID", Source: part.Source, Endpoint: part.Endpoint, Operation: part.Operation, Times: 4, LastAt: fixture.Noon, RunID: a.Run.ID, BatchNo: 3},
			{Level: fault.Transient, Code: "NETWORK", Source: part.Source, Endpoint: part.Endpoint, Operation: part.Operation, Times: 2, LastAt: fixture.Noon, RunID: a.Run.ID, BatchNo: 2},
		}
		if got := w.errorsMet(view.ErrorQuery{From: fixture.Noon}); !reflect.DeepEqual(got, wanted) {
			w.Errorf("errors\n%+v, want\n%+v", got, wanted)
		}
	})
	s.test(t, "a batch keeps how it was had", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		had := ingest.Exchange{
			Requests: 3, Retries: 2, Throttled: 1, Permits: 3, Rate: 2.5, Quota: gate.Wait, Status: 206, Bytes: 70_000, Took: 20 * time.Millisecond,
			TookAll: 800 * time.Millisecond, HasNext: true, Waits: gate.Waits{Rate: time.Second, Quota: time.Minute}, Actions: health.Tally{ShrinkPage: 1},
		}
		page := a.Page(fixture.Item("a", "x", fixture.Noon))
		page.Exchange = had
		page.Rejects = []record.Reject{{Index: 1, Reason: record.BadItem, Raw: []byte("{}")}}
		page.Seen = 2
		first := a.Store(page)
		again, err := w.Store.CommitBatch(w.Ctx, page)
		w.Must(err)
		if first.Repeated || !again.Repeated {
			w.Errorf("stored: repeated %v, again: %v", first.Repeated, again.Repeated)
		}
		end := a.Ending(fixture.Failed)
		end.Failed = &ingest.FailedBatch{No: 2, Pass: 1, PageNo: 2, Error: "HTTP 500", Exchange: ingest.Exchange{Requests: 1, Permits: 1, Status: 500}}
		w.Must(w.Store.FinishRun(w.Ctx, end))
		batches, err := w.Store.Batches(w.Ctx, view.Filter{RunID: a.Run.ID})
		w.Must(err)
		if len(batches) != 2 || batches[1].Exchange == nil || *batches[1].Exchange != had || batches[1].Stats != first.Stats || batches[0].Exchange == nil || *batches[0].Exchange != end.Failed.Exchange {
			w.Errorf("%+v", batches)
		}
	})
	s.test(t, "runs add up by partition and by how they ended", func(w *world) {
		other := fixture.Harvest{Source: "other", Days: 1}
		w.Plan(h)
		w.Plan(other)
		slow := fixture.Partial
		slow.Stats = ingest.RunStats{SlowestMS: 900, TookMS: 900, Answers: 1, Requests: 1, Latencies: ingest.Latencies{4: 1}}
		quick := fixture.Succeeded
		quick.Stats = ingest.RunStats{SlowestMS: 100, TookMS: 100, Answers: 1, Requests: 2, Latencies: ingest.Latencies{1: 1}}
		w.Work(h, slow, quick, fixture.Failed, fixture.Cancelled)
		w.Work(other, fixture.Succeeded)
		got := w.work(view.SumQuery{Source: part.Source})
		if len(got) != 1 || got[0].Runs != (view.RunSums{Succeeded: 1, Failed: 1, Partial: 1, Cancelled: 1}) || got[0].Requests != 3 ||
			got[0].Slowest != 900*time.Millisecond || got[0].MeanLatency() != 500*time.Millisecond ||
			got[0].Percentile(50) != 100*time.Millisecond || got[0].Percentile(100) != 900*time.Millisecond {
			w.Errorf("%+v", got)
		}
		if got := w.work(view.SumQuery{}); len(got) != 2 || got[0].Source != "other" && got[1].Source != "other" {
			w.Errorf("both sources: %+v", got)
		}
		if got := w.work(view.SumQuery{Operation: ingest.Backfill}); len(got) != 0 {
			w.Errorf("of another operation: %+v", got)
		}
	})
	s.test(t, "a run whose worker died is added by what is known of it", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		page := a.Page(fixture.Item("a", "x", fixture.Noon))
		page.RunStats = ingest.RunStats{Requests: 2, Pages: 1}
		a.Store(page)
		w.Claim(h, 1) // never begun
		w.Clock.Advance(2 * fixture.Lease)
		w.reaps(10, 2)
		w.reaps(10, 0)
		got := w.work(view.SumQuery{})
		if len(got) != 1 || got[0].Runs != (view.RunSums{Failed: 1}) || got[0].Requests != 2 || got[0].Items.Inserted != 1 || got[0].Errors != (view.ErrorSums{L1: 1}) {
			w.Errorf("%+v", got)
		}
		met := w.errorsMet(view.ErrorQuery{From: fixture.Noon, Level: fault.Transient})
		if len(met) != 1 || met[0].Code != ingest.LeaseExpired || met[0].RunID != a.Run.ID {
			w.Errorf("%+v", met)
		}
	})
	s.test(t, "ranges are slots of five minutes, then hours", func(w *world) {
		w.Plan(h)
		w.Work(h, fixture.Succeeded)
		w.Clock.Advance(6 * time.Minute)
		w.Work(h, fixture.Succeeded)
		now := w.Clock.Read()
		if got := w.work(view.SumQuery{From: now.Add(-time.Minute)}); len(got) != 1 || got[0].Runs.Succeeded != 1 || !got[0].From.Equal(fixture.Noon.Add(5*time.Minute)) {
			w.Errorf("the last minute: %+v", got)
		}
		w.Clock.Advance(3 * time.Hour)
		w.Work(h, fixture.Succeeded)
		now = w.Clock.Read()
		got := w.work(view.SumQuery{From: now.Add(-24 * time.Hour), Step: time.Hour})
		if len(got) != 2 || got[0].Runs.Succeeded != 2 || got[1].Runs.Succeeded != 1 || !got[0].From.Equal(fixture.Noon) ||
			!got[0].To.Equal(fixture.Noon.Add(time.Hour)) || !got[1].From.Equal(fixture.Noon.Add(3*time.Hour)) {
			w.Errorf("by hour: %+v", got)
		}
		if got := w.work(view.SumQuery{From: now.Add(-24 * time.Hour)}); len(got) != 1 || got[0].Runs.Succeeded != 3 {
			w.Errorf("a day: %+v", got)
		}
	})
	s.test(t, "short slots are forgotten after two days", func(w *world) {
		w.Plan(fixture.Harvest{Days: 6})
		w.Work(h, fixture.Succeeded)
		w.Clock.Advance(10 * time.Minute)
		w.Work(h, fixture.Succeeded)
		w.Clock.Advance(view.ShortSlotKept)
		for range 3 {
			w.Work(h, fixture.Succeeded)
			w.Clock.Advance(10 * time.Minute)
		}
		if n := w.Number("SELECT COUNT(*) FROM ing_work_sum WHERE slot_seconds = 300"); n != 3 {
			w.Errorf("%d short slots are left, want the 3 of today", n)
		}
		if n := w.Number("SELECT SUM(runs_succeeded) FROM ing_work_sum WHERE slot_seconds = 3600"); n != 5 {
			w.Errorf("hours have %d runs, want all 5", n)
		}
	})
	s.test(t, "hours leave with retention", func(w *world) {
		w.Plan(h)
		w.Work(h, fixture.Failed)
		w.Clock.Advance(time.Hour)
		met := fixture.Failed
		met.Stats = busyRun()
		w.Work(h, met)
		now := w.Clock.Read()
		for _, c := range []struct {
			before time.Time
			rows   int64
		}{{fixture.Noon.Add(59 * time.Minute), 0}, {now, 1}, {now, 0}, {now.Add(time.Hour), 3}, {now.Add(time.Hour), 0}} {
			would, err := w.Store.OldSums(w.Ctx, c.before)
			w.Must(err)
			n, err := w.Store.PruneSums(w.Ctx, c.before)
			w.Must(err)
			if n != c.rows || would != c.rows {
				w.Errorf("before %v: %d rows, foretold %d, want %d", c.before, n, would, c.rows)
			}
		}
	})
	s.test(t, "the newest run is the sample of an error", func(w *world) {
		w.Plan(h)
		fails := func(batch int) (runID int64) {
			a := w.Begin(h)
			o := fixture.Failed
			o.Stats.Errors = ingest.FaultTally{{Level: fault.Fatal, Code: "UNAUTHORIZED", Times: 1, Batch: batch}}
			a.Finish(o)
			return a.Run.ID
		}
		fails(1)
		fails(2)
		w.Clock.Advance(2 * time.Hour)
		last := fails(3)
		met := w.errorsMet(view.ErrorQuery{From: fixture.Noon.Add(-time.Hour), Level: fault.Fatal})
		if len(met) != 1 || met[0].Times != 3 || met[0].RunID != last || met[0].BatchNo != 3 || !met[0].LastAt.Equal(w.Clock.Read()) {
			w.Errorf("%+v", met)
		}
		if met := w.errorsMet(view.ErrorQuery{From: w.Clock.Read().Add(time.Second), To: w.Clock.Read().Add(time.Hour)}); len(met) != 0 {
			w.Errorf("since then: %+v", met)
		}
		if met := w.errorsMet(view.ErrorQuery{From: fixture.Noon, Level: fault.Request}); len(met) != 0 {
			w.Errorf("of another level: %+v", met)
		}
	})
	s.test(t, "runs that end at once are all counted", func(w *world) {
		const runs = 8
		many := fixture.Harvest{Days: runs}
		attempts := w.StartAll(many)
		handles := w.Handles(4)
		o := fixture.Failed
		o.Stats = busyRun()
		w.Together(runs, func(i int) error {
			return handles[i%len(handles)].FinishRun(w.Ctx, attempts[i].Ending(o))
		})
		got, met := w.work(view.SumQuery{}), w.errorsMet(view.ErrorQuery{From: fixture.Noon})
		if len(got) != 1 || got[0].Runs.Failed != runs || got[0].Requests != 7*runs || len(met) != 2 || met[0].Times != 4*runs {
			w.Errorf("%+v, %+v", got, met)
		}
	})
}
