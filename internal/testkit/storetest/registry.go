package storetest

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/driver/store"
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
    operations:
      BACKFILL:
        paging:
          size: 1000
`

func (w *world) source(replace ...string) *registry.Source {
	w.Helper()
	src, _, err := registry.Decode("tiny.yaml", []byte(strings.NewReplacer(replace...).Replace(sourceText)))
	w.must(err)
	return src
}

func (w *world) apply(src *registry.Source) int {
	w.Helper()
	n, err := w.store.ApplySource(w.ctx, src)
	w.must(err)
	return n
}

// loads checks that a source comes back as it was applied.
func (w *world) loads(want *registry.Source) {
	w.Helper()
	got, ok, err := w.store.LoadSource(w.ctx, want.Code)
	w.must(err)
	if !ok || !reflect.DeepEqual(registry.Rows(got), registry.Rows(want)) {
		w.Errorf("found=%v\n%+v, want\n%+v", ok, got, want)
	}
}

func (s suite) sources(t *testing.T) {
	s.test(t, "a source comes back as applied", func(w *world) {
		src := w.source()
		if n := w.apply(src); n == 0 {
			w.Error("a new source changed nothing")
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
			if n := w.apply(w.source()); n != 0 {
				w.Errorf("%d rows changed", n)
			}
		})
	})
	s.test(t, "a changed file closes old rows and opens new ones", func(w *world) {
		first, second := w.source(), w.source("size: 500", "size: 200", "name: Tiny", "name: Tiny & Co")
		w.apply(first)
		w.clock.advance(day)
		if n := w.apply(second); n != 3 { // the name in place; one paging row closed, one opened
			w.Errorf("%d rows changed, want 3", n)
		}
		w.loads(second)
		w.oneCurrentRowEach()
		w.clock.advance(-day) // the past stays as it was
		if got, _, err := w.store.LoadSource(w.ctx, "tiny"); err != nil || got.Endpoints["works"].Paging.Size != 500 {
			w.Errorf("a day before: %+v %v", got, err)
		}
		w.clock.advance(2 * day)
		w.apply(first)
		w.loads(first)
	})
	s.test(t, "what a file no longer says is closed", func(w *world) {
		w.apply(w.source())
		w.clock.advance(day)
		shorter := w.source("rate:\n  perSecond: 3\n", "")
		w.apply(shorter)
		w.loads(shorter)
	})
	s.test(t, "a clock that was set back leaves no two in force", func(w *world) {
		w.apply(w.source())
		w.clock.advance(-time.Hour)
		second := w.source("size: 500", "size: 200")
		w.apply(second)
		w.oneCurrentRowEach()
		w.clock.advance(2 * time.Hour)
		w.loads(second)
	})
	s.test(t, "an unknown source is not there", func(w *world) {
		if src, ok, err := w.store.LoadSource(w.ctx, "nobody"); ok || err != nil || src != nil {
			w.Errorf("%v %v %v", src, ok, err)
		}
	})
	s.test(t, "files applied at the same time leave one in force", func(w *world) {
		const writers = 4
		handles := make([]*store.Store, writers)
		for i := range handles {
			handles[i] = w.db.Open(w.T, store.Options{}) // the real clock: each has an instant of its own
		}
		for round := range 3 {
			var files []*registry.Source
			for i := range writers {
				files = append(files, w.source("size: 500", fmt.Sprintf("size: %d", 100*round+i+1), "perSecond: 3", fmt.Sprintf("perSecond: %d", 1+i)))
			}
			w.together(writers, func(i int) error {
				_, err := handles[i].ApplySource(w.ctx, files[i])
				return err
			})
			w.oneCurrentRowEach()
			got, ok, err := handles[0].LoadSource(w.ctx, "tiny")
			w.must(err)
			if size := got.Endpoints["works"].Paging.Size - 100*round; !ok || size < 1 || size > writers || got.Rate.PerSecond != float64(size) {
				w.Errorf("a mixture is in force: size %d, rate %v", got.Endpoints["works"].Paging.Size, got.Rate.PerSecond)
			}
		}
	})
}

// oneCurrentRowEach checks that no level of a source has two rows in force.
func (w *world) oneCurrentRowEach() {
	w.Helper()
	for _, table := range registry.RowTables() {
		if table == "reg_provenance" {
			continue
		}
		n := w.number("SELECT COUNT(*) FROM (SELECT provenance_id, endpoint_name, operation_type FROM " + table +
			" WHERE effective_to IS NULL GROUP BY provenance_id, endpoint_name, operation_type HAVING COUNT(*) > 1) twice")
		if n != 0 {
			w.Errorf("%s: %d levels have two rows in force", table, n)
		}
	}
}
