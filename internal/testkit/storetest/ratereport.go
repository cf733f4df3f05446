package storetest

import (
	"reflect"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store"
)

func (s suite) rateReports(t *testing.T) {
	snapshot := func(key string, rate float64) gate.Snapshot {
		return gate.Snapshot{Key: key, PerSecond: rate, Declared: 50, Burst: 5, Concurrency: 3, InFlight: 1, LoweredBy: gate.Throttled, LoweredAt: noon}
	}
	report := func(w *world, id string, all ...gate.Snapshot) {
		w.Helper()
		w.must(w.store.ReportRates(w.ctx, id, all))
	}
	reports := func(w *world) map[string][]view.RateReport {
		w.Helper()
		all, err := w.store.RateReports(w.ctx)
		w.must(err)
		return all
	}
	s.test(t, "what a process reports is seen by others, the newest of it", func(w *world) {
		for _, id := range []string{"a", "b"} {
			_, err := w.store.Heartbeat(w.ctx, store.ExecutorInfo{ID: id, Roles: "executor", Host: "host", PID: 7}, lease)
			w.must(err)
		}
		report(w, "a", snapshot("crossref", 50), snapshot("pubmed", 3))
		report(w, "b", snapshot("crossref", 40))
		w.clock.advance(time.Second)
		report(w, "a", snapshot("crossref", 25))
		want := map[string][]view.RateReport{
			"crossref": {{Process: "a", Host: "host", PID: 7, State: snapshot("crossref", 25), At: noon.Add(time.Second)}, {Process: "b", Host: "host", PID: 7, State: snapshot("crossref", 40), At: noon}},
			"pubmed":   {{Process: "a", Host: "host", PID: 7, State: snapshot("pubmed", 3), At: noon}},
		}
		if got := reports(w); !reflect.DeepEqual(got, want) {
			w.Errorf("\n%+v, want\n%+v", got, want)
		}
	})
	s.test(t, "who is gone reports nothing", func(w *world) {
		for _, id := range []string{"bye", "dead", "late", "buried"} {
			_, err := w.store.Heartbeat(w.ctx, store.ExecutorInfo{ID: id}, lease)
			w.must(err)
			report(w, id, snapshot("crossref", 1))
		}
		report(w, "nobody", snapshot("crossref", 1))
		w.must(w.store.Farewell(w.ctx, "bye"))
		w.must(w.store.Bury(w.ctx, "buried"))
		report(w, "bye", snapshot("crossref", 1))
		if n := w.number("SELECT COUNT(*) FROM ing_rate_report"); n != 2 {
			w.Errorf("%d reports are kept", n)
		}
		w.clock.advance(2 * lease)
		if got := reports(w); len(got) != 0 {
			w.Errorf("%+v", got)
		}
	})
	s.test(t, "breakers and cool-downs are listed with why and since when", func(w *world) {
		h := harvest{days: 4}
		w.plan(h)
		for range 3 {
			w.begin(h).down()
		}
		w.begin(h).told(gate.Cooling, "crossref", time.Hour)
		breakers, err := w.store.BreakerRows(w.ctx)
		w.must(err)
		b := breakers[h.partition().Dataset]
		if b.State != fault.BreakerOpen || b.Failures != 3 || b.Opened != 1 || b.LastError != string(fault.ServerError) || !b.At.Equal(noon) || !b.Until.After(noon) || len(breakers) != 1 {
			w.Errorf("%+v", breakers)
		}
		pauses, err := w.store.RatePauses(w.ctx)
		w.must(err)
		if want := map[string]time.Time{"crossref": noon.Add(time.Hour)}; !reflect.DeepEqual(pauses, want) {
			w.Errorf("%+v", pauses)
		}
	})
	s.test(t, "sources that were planned are known", func(w *world) {
		w.plan(harvest{})
		w.plan(harvest{operation: ingest.Backfill, trigger: "old"})
		w.plan(harvest{source: "another"})
		codes, err := w.store.HarvestedSources(w.ctx)
		w.must(err)
		if !reflect.DeepEqual(codes, []string{"another", "crossref"}) {
			w.Errorf("%v", codes)
		}
	})
}

func lossyRates() []lossy {
	return []lossy{
		{"report rates", "report rates", func(w *world) func() (answer, error) {
			_, err := w.store.Heartbeat(w.ctx, store.ExecutorInfo{ID: "me"}, lease)
			w.must(err)
			return func() (answer, error) {
				return nil, w.store.ReportRates(w.ctx, "me", []gate.Snapshot{{Key: "crossref", PerSecond: 2}})
			}
		}},
	}
}
