package ledger

import (
	"reflect"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

func (s suite) rateReports(t *testing.T) {
	snapshot := func(key string, rate float64) gate.Snapshot {
		return gate.Snapshot{Key: key, PerSecond: rate, Declared: 50, Burst: 5, Concurrency: 3, InFlight: 1, LoweredBy: gate.Throttled, LoweredAt: fixture.Noon}
	}
	report := func(w *world, id string, all ...gate.Snapshot) {
		w.Helper()
		w.Must(w.Store.ReportRates(w.Ctx, id, all))
	}
	reports := func(w *world) map[string][]view.RateReport {
		w.Helper()
		all, err := w.Store.RateReports(w.Ctx)
		w.Must(err)
		return all
	}
	s.test(t, "what a process reports is seen by others, the newest of it", func(w *world) {
		for _, id := range []string{"a", "b"} {
			_, err := w.Store.Heartbeat(w.Ctx, ingest.Process{ID: id, Roles: "executor", Host: "host", PID: 7}, fixture.Lease)
			w.Must(err)
		}
		report(w, "a", snapshot("crossref", 50), snapshot("pubmed", 3))
		report(w, "b", snapshot("crossref", 40))
		w.Clock.Advance(time.Second)
		report(w, "a", snapshot("crossref", 25))
		want := map[string][]view.RateReport{
			"crossref": {{Process: "a", Host: "host", PID: 7, State: snapshot("crossref", 25), At: fixture.Noon.Add(time.Second)}, {Process: "b", Host: "host", PID: 7, State: snapshot("crossref", 40), At: fixture.Noon}},
			"pubmed":   {{Process: "a", Host: "host", PID: 7, State: snapshot("pubmed", 3), At: fixture.Noon}},
		}
		if got := reports(w); !reflect.DeepEqual(got, want) {
			w.Errorf("\n%+v, want\n%+v", got, want)
		}
	})
	s.test(t, "who is gone reports nothing", func(w *world) {
		for _, id := range []string{"bye", "dead", "late", "buried"} {
			_, err := w.Store.Heartbeat(w.Ctx, ingest.Process{ID: id}, fixture.Lease)
			w.Must(err)
			report(w, id, snapshot("crossref", 1))
		}
		report(w, "nobody", snapshot("crossref", 1))
		w.Must(w.Store.Farewell(w.Ctx, "bye"))
		w.Must(w.Store.Bury(w.Ctx, "buried"))
		report(w, "bye", snapshot("crossref", 1))
		if n := w.Number("SELECT COUNT(*) FROM ing_rate_report"); n != 2 {
			w.Errorf("%d reports are kept", n)
		}
		w.Clock.Advance(2 * fixture.Lease)
		if got := reports(w); len(got) != 0 {
			w.Errorf("%+v", got)
		}
	})
	s.test(t, "breakers and cool-downs are listed with why and since when", func(w *world) {
		h := fixture.Harvest{Days: 4}
		w.Plan(h)
		for range 3 {
			w.Begin(h).Down()
		}
		w.Begin(h).Told(gate.Cooling, "crossref", time.Hour)
		breakers, err := w.Store.BreakerRows(w.Ctx)
		w.Must(err)
		b := breakers[h.Partition().Dataset]
		if b.State != fault.BreakerOpen || b.Failures != 3 || b.Opened != 1 || b.LastError != string(fault.ServerError) || !b.At.Equal(fixture.Noon) || !b.Until.After(fixture.Noon) || len(breakers) != 1 {
			w.Errorf("%+v", breakers)
		}
		pauses, err := w.Store.RatePauses(w.Ctx)
		w.Must(err)
		if want := map[string]time.Time{"crossref": fixture.Noon.Add(time.Hour)}; !reflect.DeepEqual(pauses, want) {
			w.Errorf("%+v", pauses)
		}
	})
	s.test(t, "sources that were planned are known", func(w *world) {
		w.Plan(fixture.Harvest{})
		w.Plan(fixture.Harvest{Operation: ingest.Backfill, Trigger: "old"})
		w.Plan(fixture.Harvest{Source: "another"})
		codes, err := w.Store.HarvestedSources(w.Ctx)
		w.Must(err)
		if !reflect.DeepEqual(codes, []string{"another", "crossref"}) {
			w.Errorf("%v", codes)
		}
	})
}

func lossyRates() []lossy {
	return []lossy{
		{"report rates", "report rates", func(w *world) func() (answer, error) {
			_, err := w.Store.Heartbeat(w.Ctx, ingest.Process{ID: "me"}, fixture.Lease)
			w.Must(err)
			return func() (answer, error) {
				return nil, w.Store.ReportRates(w.Ctx, "me", []gate.Snapshot{{Key: "crossref", PerSecond: 2}})
			}
		}},
	}
}
