package registry

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// cancelFrom applies a source and takes back what is scheduled for later.
func (w *world) cancelFrom(src *registry.Source, from time.Time) registry.Applied {
	w.Helper()
	done, err := w.Store.ApplySource(w.Ctx, src, registry.ApplyOptions{From: from, Actor: "tester", Reason: "because", CancelScheduled: true})
	w.Must(err)
	return done
}

// loads checks that a source comes back as it was applied.
func (w *world) loads(want *registry.Source) {
	w.Helper()
	got, ok, err := w.Store.LoadSource(w.Ctx, want.Code)
	w.Must(err)
	w.isSource("now", got, ok, want)
	many, err := w.Store.LoadSources(w.Ctx, []string{"nobody", want.Code})
	w.Must(err)
	if one, ok := many[want.Code]; len(many) != 1 || one.Err != nil {
		w.Errorf("read with others: %+v", many)
	} else {
		w.isSource("with others", one.Source, ok, want)
	}
}

// loadsAt checks a source as of an instant; nil stands for none.
func (w *world) loadsAt(at time.Time, want *registry.Source) {
	w.Helper()
	got, ok, err := w.Store.LoadSourceAt(w.Ctx, "tiny", at)
	w.Must(err)
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
		src := w.Source()
		if n := w.Apply(src); n != len(registry.Rows(src)) {
			w.Errorf("a new source changed %d rows, want %d", n, len(registry.Rows(src)))
		}
		w.loads(src)
		all, err := w.Store.AppliedSources(w.Ctx)
		w.Must(err)
		if len(all) != 1 || !all["tiny"].Equal(fixture.Noon) {
			w.Errorf("applied sources %v", all)
		}
	})
	s.test(t, "the same file twice writes nothing", func(w *world) {
		w.Apply(w.Source())
		w.Clock.Advance(fixture.Day)
		w.Unchanged("second time", func() {
			if n := w.Apply(w.Source("timeout: PT90S", "timeout: 90s")); n != 0 {
				w.Errorf("%d rows changed", n)
			}
		})
	})
	s.test(t, "a changed file closes old rows and opens new ones", func(w *world) {
		first, second := w.Source(), w.Source("size: 500", "size: 200", "name: Tiny", "name: Tiny & Co")
		w.Apply(first)
		w.Clock.Advance(fixture.Day)
		if n := w.Apply(second); n != 4 { // the source's own row and one paging row, each closed and opened
			w.Errorf("%d rows changed, want 4", n)
		}
		w.loads(second)
		w.oneRowInForceEach()
		w.loadsAt(fixture.Noon, first) // the past stays as it was
		w.loadsAt(fixture.Noon.Add(fixture.Day-time.Microsecond), first)
		w.loadsAt(fixture.Noon.Add(-time.Microsecond), nil)
		w.Clock.Advance(2 * fixture.Day)
		w.Apply(first)
		w.loads(first)
		w.loadsAt(fixture.Noon.Add(fixture.Day), second)
	})
	s.test(t, "what a file no longer says is closed", func(w *world) {
		w.Apply(w.Source())
		w.Clock.Advance(fixture.Day)
		shorter := w.Source("rate:\n  perSecond: 3\n", "", "      sort: {name: order, default: asc}\n", "")
		if n := w.Apply(shorter); n != 2 {
			w.Errorf("%d rows changed, want 2", n)
		}
		w.loads(shorter)
	})
	s.test(t, "a clock that was set back leaves no two in force", func(w *world) {
		w.Apply(w.Source())
		w.Clock.Advance(-time.Hour)
		w.loads(w.Source()) // a source in use does not vanish
		w.Unchanged("the same file", func() { w.Apply(w.Source()) })
		second := w.Source("size: 500", "size: 200")
		if done := w.ApplyFrom(second, time.Time{}); !done.From.Equal(fixture.Noon) {
			w.Errorf("in force from %v, want %v", done.From, fixture.Noon)
		}
		w.oneRowInForceEach()
		w.loads(second)
		w.Clock.Advance(2 * time.Hour)
		w.loads(second)
	})
	s.test(t, "an unknown source is not there", func(w *world) {
		if src, ok, err := w.Store.LoadSource(w.Ctx, "nobody"); ok || err != nil || src != nil {
			w.Errorf("%v %v %v", src, ok, err)
		}
		if stamp, ok, err := w.Store.SourceStamp(w.Ctx, "nobody"); ok || err != nil {
			w.Errorf("stamp %v %v %v", stamp, ok, err)
		}
		if versions, err := w.Store.SourceHistory(w.Ctx, "nobody"); err != nil || len(versions) != 0 {
			w.Errorf("history %v %v", versions, err)
		}
	})
	s.test(t, "a source that is switched off is not there", func(w *world) {
		w.Apply(w.Source())
		w.Exec("UPDATE reg_provenance SET is_active = 0")
		if _, ok, err := w.Store.LoadSource(w.Ctx, "tiny"); ok || err != nil {
			w.Errorf("%v %v", ok, err)
		}
		if _, ok, err := w.Store.SourceStamp(w.Ctx, "tiny"); ok || err != nil {
			w.Errorf("stamp %v %v", ok, err)
		}
		if many, err := w.Store.LoadSources(w.Ctx, []string{"tiny"}); len(many) > 0 || err != nil {
			w.Errorf("with others: %v %v", many, err)
		}
		if stamps, err := w.Store.SourceStamps(w.Ctx); len(stamps) > 0 || err != nil {
			w.Errorf("stamps %v %v", stamps, err)
		}
	})
	s.test(t, "one source that cannot be read does not keep others from being read", func(w *world) {
		w.Apply(w.Source())
		w.Apply(w.Source("source: tiny", "source: other"))
		w.Exec("UPDATE reg_prov_http_cfg SET default_headers_json = '[1' WHERE provenance_id = (SELECT id FROM reg_provenance WHERE provenance_code = 'other')")
		many, err := w.Store.LoadSources(w.Ctx, []string{"other", "tiny"})
		w.Must(err)
		w.isSource("the other", many["tiny"].Source, true, w.Source())
		if broken := many["other"]; broken.Err == nil || broken.Source != nil {
			w.Errorf("%+v", broken)
		}
	})
	s.test(t, "two sources do not share rows", func(w *world) {
		other := w.Source("source: tiny", "source: other", "size: 500", "size: 7", "perSecond: 3", "perSecond: 9")
		w.Apply(w.Source())
		w.Apply(other)
		w.Clock.Advance(fixture.Day)
		w.Apply(w.Source("size: 500", "size: 200"))
		w.loads(other)
	})
	s.test(t, "damaged rows are an error and are repaired by applying", func(w *world) {
		w.Apply(w.Source())
		w.Exec("UPDATE reg_prov_http_cfg SET timeout_total_millis = -1")
		if _, ok, err := w.Store.LoadSource(w.Ctx, "tiny"); ok || err == nil || !strings.Contains(err.Error(), "timeout_total_millis") {
			w.Errorf("%v %v", ok, err)
		}
		w.Clock.Advance(fixture.Day)
		w.Apply(w.Source())
		w.loads(w.Source())
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
		n := w.Number("SELECT COUNT(*) FROM " + table + " a JOIN " + table + " b ON " + slot + " AND a.id < b.id" +
			" WHERE a.active_1 = 'Y' AND b.active_1 = 'Y' AND (a.effective_to IS NULL OR a.effective_to > b.effective_from)" +
			" AND (b.effective_to IS NULL OR b.effective_to > a.effective_from)")
		if n != 0 {
			w.Errorf("%s: %d pairs of rows are in force at once", table, n)
		}
		if n := w.Number("SELECT COUNT(*) FROM " + table + " WHERE (lifecycle_status_code = 'ACTIVE') <> (active_1 IS NOT NULL)"); n != 0 {
			w.Errorf("%s: %d rows with a wrong active_1", table, n)
		}
		if n := w.Number("SELECT COUNT(*) FROM " + table + " WHERE active_1 = 'Y' AND effective_to <= effective_from"); n != 0 {
			w.Errorf("%s: %d rows are never in force", table, n)
		}
	}
}
