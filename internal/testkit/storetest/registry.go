package storetest

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/registry"
)

// sourceText is a small source file with a value at each level.
const sourceText = `source: tiny
name: Tiny
http:
  baseUrl: https://tiny.example
  timeout: PT90S
rate:
  perSecond: 3
endpoints:
  works:
    role: SEARCH
    request:
      path: /works
    filter:
      field: indexed
      precision: DAY
    paging:
      type: TOKEN
      size: 500
    slicing:
      strategy: TIME
      step: P1D
    response:
      items: $.items
      id: $.id
      fields:
        title: $.title
    auth:
      credential: main
    params:
      query: {name: term, required: false}
      sort: {name: order, default: asc}
    operations:
      BACKFILL:
        paging:
          size: 1000
credentials:
  main:
    type: API_KEY
    name: X-Key
    value: env:TINY_KEY
operations:
  UPDATE:
    rate:
      perSecond: 1
`

func (w *world) source(replace ...string) *registry.Source {
	w.Helper()
	src, _, err := registry.Decode("tiny.yaml", []byte(strings.NewReplacer(replace...).Replace(sourceText)))
	w.must(err)
	return src
}

// apply applies a source at once and gives the number of rows it changed.
func (w *world) apply(src *registry.Source) int {
	w.Helper()
	return w.applyFrom(src, time.Time{}).Rows
}

func (w *world) applyFrom(src *registry.Source, from time.Time) registry.Applied {
	w.Helper()
	done, err := w.store.ApplySource(w.ctx, src, registry.ApplyOptions{From: from, Actor: "tester", Reason: "because"})
	w.must(err)
	return done
}

// cancelFrom applies a source and takes back what is scheduled for later.
func (w *world) cancelFrom(src *registry.Source, from time.Time) registry.Applied {
	w.Helper()
	done, err := w.store.ApplySource(w.ctx, src, registry.ApplyOptions{From: from, Actor: "tester", Reason: "because", CancelScheduled: true})
	w.must(err)
	return done
}

// loads checks that a source comes back as it was applied.
func (w *world) loads(want *registry.Source) {
	w.Helper()
	got, ok, err := w.store.LoadSource(w.ctx, want.Code)
	w.must(err)
	w.isSource("now", got, ok, want)
}

// loadsAt checks a source as of an instant; nil stands for none.
func (w *world) loadsAt(at time.Time, want *registry.Source) {
	w.Helper()
	got, ok, err := w.store.LoadSourceAt(w.ctx, "tiny", at)
	w.must(err)
	w.isSource(at.Format(time.RFC3339), got, ok, want)
}

func (w *world) isSource(what string, got *registry.Source, ok bool, want *registry.Source) {
	w.Helper()
	if ok != (want != nil) {
		w.Errorf("%s: found=%v", what, ok)
		return
	}
	if !ok {
		return
	}
	for _, c := range registry.Diff(want, got) {
		w.Errorf("%s: %s %s: %s, want %s", what, c.Path, c.Kind, c.New, c.Old)
	}
	if !reflect.DeepEqual(registry.Rows(got), registry.Rows(want)) {
		w.Errorf("%s: other rows", what)
	}
}

func (s suite) sources(t *testing.T) {
	s.test(t, "a source comes back as applied", func(w *world) {
		src := w.source()
		if n := w.apply(src); n != len(registry.Rows(src)) {
			w.Errorf("a new source changed %d rows, want %d", n, len(registry.Rows(src)))
		}
		w.loads(src)
		all, err := w.store.AppliedSources(w.ctx)
		w.must(err)
		if len(all) != 1 || !all["tiny"].Equal(noon) {
			w.Errorf("applied sources %v", all)
		}
	})
	s.test(t, "the same file twice writes nothing", func(w *world) {
		w.apply(w.source())
		w.clock.advance(day)
		w.unchanged("second time", func() {
			if n := w.apply(w.source("timeout: PT90S", "timeout: 90s")); n != 0 {
				w.Errorf("%d rows changed", n)
			}
		})
	})
	s.test(t, "a changed file closes old rows and opens new ones", func(w *world) {
		first, second := w.source(), w.source("size: 500", "size: 200", "name: Tiny", "name: Tiny & Co")
		w.apply(first)
		w.clock.advance(day)
		if n := w.apply(second); n != 4 { // the source's own row and one paging row, each closed and opened
			w.Errorf("%d rows changed, want 4", n)
		}
		w.loads(second)
		w.oneRowInForceEach()
		w.loadsAt(noon, first) // the past stays as it was
		w.loadsAt(noon.Add(day-time.Microsecond), first)
		w.loadsAt(noon.Add(-time.Microsecond), nil)
		w.clock.advance(2 * day)
		w.apply(first)
		w.loads(first)
		w.loadsAt(noon.Add(day), second)
	})
	s.test(t, "what a file no longer says is closed", func(w *world) {
		w.apply(w.source())
		w.clock.advance(day)
		shorter := w.source("rate:\n  perSecond: 3\n", "", "      sort: {name: order, default: asc}\n", "")
		if n := w.apply(shorter); n != 2 {
			w.Errorf("%d rows changed, want 2", n)
		}
		w.loads(shorter)
	})
	s.test(t, "a clock that was set back leaves no two in force", func(w *world) {
		w.apply(w.source())
		w.clock.advance(-time.Hour)
		w.loads(w.source()) // a source in use does not vanish
		w.unchanged("the same file", func() { w.apply(w.source()) })
		second := w.source("size: 500", "size: 200")
		if done := w.applyFrom(second, time.Time{}); !done.From.Equal(noon) {
			w.Errorf("in force from %v, want %v", done.From, noon)
		}
		w.oneRowInForceEach()
		w.loads(second)
		w.clock.advance(2 * time.Hour)
		w.loads(second)
	})
	s.test(t, "an unknown source is not there", func(w *world) {
		if src, ok, err := w.store.LoadSource(w.ctx, "nobody"); ok || err != nil || src != nil {
			w.Errorf("%v %v %v", src, ok, err)
		}
		if stamp, ok, err := w.store.SourceStamp(w.ctx, "nobody"); ok || err != nil {
			w.Errorf("stamp %v %v %v", stamp, ok, err)
		}
		if versions, err := w.store.SourceHistory(w.ctx, "nobody"); err != nil || len(versions) != 0 {
			w.Errorf("history %v %v", versions, err)
		}
	})
	s.test(t, "a source that is switched off is not there", func(w *world) {
		w.apply(w.source())
		w.exec("UPDATE reg_provenance SET is_active = 0")
		if _, ok, err := w.store.LoadSource(w.ctx, "tiny"); ok || err != nil {
			w.Errorf("%v %v", ok, err)
		}
		if _, ok, err := w.store.SourceStamp(w.ctx, "tiny"); ok || err != nil {
			w.Errorf("stamp %v %v", ok, err)
		}
	})
	s.test(t, "two sources do not share rows", func(w *world) {
		other := w.source("source: tiny", "source: other", "size: 500", "size: 7", "perSecond: 3", "perSecond: 9")
		w.apply(w.source())
		w.apply(other)
		w.clock.advance(day)
		w.apply(w.source("size: 500", "size: 200"))
		w.loads(other)
	})
	s.test(t, "damaged rows are an error and are repaired by applying", func(w *world) {
		w.apply(w.source())
		w.exec("UPDATE reg_prov_http_cfg SET timeout_total_millis = -1")
		if _, ok, err := w.store.LoadSource(w.ctx, "tiny"); ok || err == nil || !strings.Contains(err.Error(), "timeout_total_millis") {
			w.Errorf("%v %v", ok, err)
		}
		w.clock.advance(day)
		w.apply(w.source())
		w.loads(w.source())
	})
}

// oneRowInForceEach checks that no level of a source has two rows that overlap.
func (w *world) oneRowInForceEach() {
	w.Helper()
	for _, table := range registry.RowTables() {
		slot := "a.provenance_id = b.provenance_id"
		if table != registry.SourceTable {
			slot += " AND a.endpoint_name = b.endpoint_name AND a.operation_type = b.operation_type"
		}
		if key := registry.KeyColumn(table); key != "" {
			slot += " AND a." + key + " = b." + key
		}
		n := w.number("SELECT COUNT(*) FROM " + table + " a JOIN " + table + " b ON " + slot + " AND a.id < b.id" +
			" WHERE a.active_1 = 'Y' AND b.active_1 = 'Y' AND (a.effective_to IS NULL OR a.effective_to > b.effective_from)" +
			" AND (b.effective_to IS NULL OR b.effective_to > a.effective_from)")
		if n != 0 {
			w.Errorf("%s: %d pairs of rows are in force at once", table, n)
		}
		if n := w.number("SELECT COUNT(*) FROM " + table + " WHERE (lifecycle_status_code = 'ACTIVE') <> (active_1 IS NOT NULL)"); n != 0 {
			w.Errorf("%s: %d rows with a wrong active_1", table, n)
		}
		if n := w.number("SELECT COUNT(*) FROM " + table + " WHERE active_1 = 'Y' AND effective_to <= effective_from"); n != 0 {
			w.Errorf("%s: %d rows are never in force", table, n)
		}
	}
}
