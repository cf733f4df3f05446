package storetest

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/registry"
)

func (s suite) sourceVersions(t *testing.T) {
	s.test(t, "a scheduled version begins when its time comes", func(w *world) {
		first, second := w.source(), w.source("size: 500", "size: 200", "name: Tiny", "name: Later")
		w.apply(first)
		begin := noon.Add(3 * day)
		if done := w.applyFrom(second, begin); !done.From.Equal(begin) || done.Rows != 4 || done.Superseded != 0 {
			w.Errorf("applied %+v", done)
		}
		w.loads(first)
		if name := w.text("SELECT provenance_name FROM reg_provenance"); name != "Tiny" {
			w.Errorf("reg_provenance already shows %q", name)
		}
		w.loadsAt(begin.Add(-time.Microsecond), first)
		w.loadsAt(begin, second)
		w.oneRowInForceEach()
		w.clock.set(begin.Add(-time.Microsecond))
		w.loads(first)
		w.clock.set(begin)
		w.loads(second)
		w.unchanged("the file in force", func() { w.apply(second) })
		w.unchanged("what was scheduled, again", func() { w.applyFrom(second, begin) })
	})
	s.test(t, "a change before a scheduled one leaves it whole", func(w *world) {
		first, later := w.source(), w.source("size: 500", "size: 200")
		sooner := w.source("perSecond: 3", "perSecond: 7", "default: asc", "default: desc", "name: Tiny", "name: Sooner")
		w.apply(first)
		w.applyFrom(later, noon.Add(3*day))
		if done := w.applyFrom(sooner, noon.Add(2*day)); done.Superseded != 0 || done.Rows != 6 { // three rows end, three begin
			w.Errorf("applied %+v, want none superseded", done)
		}
		w.oneRowInForceEach()
		w.loadsAt(noon.Add(2*day-time.Microsecond), first)
		w.loadsAt(noon.Add(2*day), sooner)
		w.loadsAt(noon.Add(3*day-time.Microsecond), sooner)
		w.loadsAt(noon.Add(30*day), later) // nothing of the one between them
		w.superseded(0)
		got := w.history()
		if len(got) != 3 || !got[1].To.Equal(noon.Add(3*day)) || !got[2].To.IsZero() {
			w.Fatalf("history %+v", got)
		}
		want := []string{"endpoints.works.paging.size", "endpoints.works.params.sort.default", "name", "rate.perSecond"}
		if paths := got[2].Paths; !slices.Equal(paths, want) { // against what is before it now
			w.Errorf("the scheduled version changes %v, want %v", paths, want)
		}
		w.clock.set(noon.Add(3 * day))
		w.loads(later)
	})
	s.test(t, "a change at once leaves what is scheduled", func(w *world) {
		first, later, now := w.source(), w.source("size: 500", "size: 200"), w.source("perSecond: 3", "perSecond: 7")
		w.apply(first)
		w.applyFrom(later, noon.Add(3*day))
		w.clock.advance(day)
		if done := w.applyFrom(now, time.Time{}); done.Superseded != 0 {
			w.Errorf("applied %+v", done)
		}
		w.loads(now)
		w.loadsAt(noon.Add(3*day), later)
		w.unchanged("again", func() { w.apply(now) })
		w.oneRowInForceEach()
	})
	s.test(t, "a change that cancels takes back all that is later", func(w *world) {
		first, sooner := w.source(), w.source("perSecond: 3", "perSecond: 7")
		w.apply(first)
		w.applyFrom(w.source("size: 500", "size: 100"), noon.Add(day))
		w.applyFrom(w.source("size: 500", "size: 200"), noon.Add(3*day))
		w.applyFrom(w.source("size: 500", "size: 300", "name: Tiny", "name: Later"), noon.Add(4*day))
		if done := w.cancelFrom(sooner, noon.Add(2*day)); done.Superseded != 2 {
			w.Errorf("applied %+v, want two versions superseded", done)
		}
		w.oneRowInForceEach()
		w.loadsAt(noon.Add(2*day-time.Microsecond), w.source("size: 500", "size: 100"))
		w.loadsAt(noon.Add(2*day), sooner)
		w.loadsAt(noon.Add(30*day), sooner)
		w.superseded(2)
		if got := w.text("SELECT detail FROM ing_audit_log ORDER BY id DESC LIMIT 1"); !strings.Contains(got, `"cancelScheduled":true`) || !strings.Contains(got, `"superseded":2`) {
			w.Errorf("the log says %s", got)
		}
	})
	s.test(t, "a change at the instant of a scheduled one replaces it", func(w *world) {
		first, wrong, right := w.source(), w.source("size: 500", "size: 200", "perSecond: 3", "perSecond: 7"), w.source("size: 500", "size: 300", "perSecond: 3", "perSecond: 7")
		w.apply(first)
		begin := noon.Add(day)
		w.applyFrom(wrong, begin)
		if done := w.applyFrom(right, begin); done.Superseded != 1 || done.Rows != 2 { // the rate row is kept
			w.Errorf("applied %+v", done)
		}
		w.oneRowInForceEach()
		w.loadsAt(begin, right)
		w.loadsAt(begin.Add(-time.Microsecond), first)
		w.superseded(1)
	})
	s.test(t, "a change after a scheduled one follows it", func(w *world) {
		first, second, third := w.source(), w.source("size: 500", "size: 200"), w.source("size: 500", "size: 300")
		w.apply(first)
		w.applyFrom(second, noon.Add(day))
		if done := w.applyFrom(third, noon.Add(2*day)); done.Superseded != 0 {
			w.Errorf("applied %+v", done)
		}
		w.oneRowInForceEach()
		for i, want := range []*registry.Source{first, second, third} {
			w.loadsAt(noon.Add(time.Duration(i)*day), want)
		}
	})
	s.test(t, "the file in force leaves what is scheduled, unless it is to cancel", func(w *world) {
		first, later := w.source(), w.source("size: 500", "size: 200", "name: Tiny", "name: Later")
		w.apply(first)
		w.applyFrom(later, noon.Add(day))
		w.unchanged("every night", func() {
			if done := w.applyFrom(first, time.Time{}); done.Rows != 0 || done.Superseded != 0 {
				w.Errorf("applied %+v", done)
			}
		})
		w.unchanged("what is scheduled, for later", func() { w.applyFrom(later, noon.Add(2*day)) })
		w.unchanged("what is scheduled, and nothing to cancel", func() { w.cancelFrom(later, noon.Add(2*day)) })
		if done := w.cancelFrom(first, time.Time{}); done.Superseded != 1 || done.Rows == 0 {
			w.Errorf("applied %+v", done)
		}
		w.unchanged("there is nothing left to cancel", func() { w.cancelFrom(first, time.Time{}) })
		w.onlyVersion(first)
		w.superseded(1)
	})
	s.test(t, "the file before a scheduled version, at its instant, replaces it", func(w *world) {
		first, last := w.source(), w.source("size: 500", "size: 300")
		w.apply(first)
		w.applyFrom(w.source("size: 500", "size: 200", "perSecond: 3", "perSecond: 7"), noon.Add(day))
		w.applyFrom(last, noon.Add(2*day))
		if done := w.applyFrom(first, noon.Add(day)); done.Superseded != 1 || done.Rows == 0 {
			w.Errorf("applied %+v", done)
		}
		w.oneRowInForceEach()
		w.loadsAt(noon.Add(2*day-time.Microsecond), first)
		w.loadsAt(noon.Add(2*day), last)
		w.superseded(1)
		if done := w.applyFrom(first, noon.Add(2*day)); done.Superseded != 1 {
			w.Errorf("applied %+v", done)
		}
		w.onlyVersion(first)
	})
	s.test(t, "a new source may be scheduled", func(w *world) {
		src := w.source()
		w.applyFrom(src, noon.Add(day))
		if _, ok, err := w.store.LoadSource(w.ctx, "tiny"); ok || err != nil {
			w.Errorf("before its time: %v %v", ok, err)
		}
		if all, err := w.store.AppliedSources(w.ctx); err != nil || len(all) != 0 {
			w.Errorf("before its time: %v %v", all, err)
		}
		w.clock.advance(day)
		w.loads(src)
	})
	s.test(t, "the past is not rewritten", func(w *world) {
		w.apply(w.source())
		w.clock.advance(day)
		w.unchanged("refused", func() {
			_, err := w.store.ApplySource(w.ctx, w.source("size: 500", "size: 200"), registry.ApplyOptions{From: noon.Add(day - time.Microsecond)})
			w.refuses(err, fault.ErrInvalid, "a begin in the past")
			if err != nil && !strings.Contains(err.Error(), "2025-03-21T11:59:59.999999Z lies in the past") {
				w.Errorf("message %q", err)
			}
		})
		_, err := w.store.ApplySource(w.ctx, w.source("size: 500", "size: 200"), registry.ApplyOptions{From: noon.Add(day)})
		w.must(err)
		w.unchanged("refused, although it was in force then", func() {
			for _, cancel := range []bool{false, true} {
				_, err := w.store.ApplySource(w.ctx, w.source(), registry.ApplyOptions{From: noon, CancelScheduled: cancel})
				w.refuses(err, fault.ErrInvalid, "a begin in the past")
			}
		})
	})
	s.test(t, "any schedule gives what was applied last for each instant", func(w *world) { w.anySchedule() })
	s.test(t, "the history tells who, why and what", func(w *world) {
		w.apply(w.source())
		w.clock.advance(day)
		w.apply(w.source("size: 500", "size: 200"))
		w.applyFrom(w.source("size: 500", "size: 300"), noon.Add(5*day))
		got := w.history()
		if len(got) != 3 || len(got[0].Paths) != len(registry.Diff(nil, w.source())) || got[0].Fingerprint == got[1].Fingerprint {
			w.Fatalf("history %+v", got)
		}
		want := registry.SourceVersion{
			From: noon.Add(day), To: noon.Add(5 * day), AppliedAt: noon.Add(day), Actor: "tester", Reason: "because", Fingerprint: got[1].Fingerprint,
			Rows: 2, Tables: []string{"reg_prov_pagination_cfg"}, Paths: []string{"endpoints.works.paging.size"},
		}
		if !reflect.DeepEqual(got[1], want) {
			w.Errorf("%+v, want\n%+v", got[1], want)
		}
		if !got[0].To.Equal(want.From) || !got[2].From.Equal(want.To) || !got[2].To.IsZero() || !got[2].AppliedAt.Equal(noon.Add(day)) {
			w.Errorf("history %+v", got)
		}
	})
	s.test(t, "every apply is in the log once", func(w *world) {
		w.apply(w.source())
		w.apply(w.source())
		w.clock.advance(day)
		_, err := w.store.ApplySource(w.ctx, w.source("size: 500", "size: 200"), registry.ApplyOptions{Reason: long("é", 600)})
		w.must(err)
		w.apply(w.source("source: tiny", "source: other"))
		if n := w.number("SELECT COUNT(*) FROM ing_audit_log"); n != 3 {
			w.Errorf("%d rows in the log, want 3", n)
		}
		if n := w.number("SELECT COUNT(*) FROM ing_audit_log a JOIN ing_audit_log b ON b.prev_hash = a.row_hash"); n != 2 {
			w.Errorf("%d rows follow another, want 2", n)
		}
		if got := w.text("SELECT CONCAT(actor, ' ', action, ' ', object, ' ', reason) FROM ing_audit_log WHERE id = 1"); got != "tester source.apply source/tiny because" {
			w.Errorf("the log says %q", got)
		}
		if got := w.text("SELECT detail FROM ing_audit_log WHERE id = 2"); !strings.Contains(got, `"rows":2`) || !strings.Contains(got, `"effectiveFrom":"2025-03-21T12:00:00Z"`) {
			w.Errorf("detail %s", got)
		}
		if got := w.text("SELECT actor FROM ing_audit_log WHERE id = 2"); got != "unknown" {
			w.Errorf("actor %q", got)
		}
	})
	s.test(t, "a stamp changes with every apply and ends with the next version", func(w *world) {
		w.apply(w.source())
		first := w.stamp()
		w.clock.advance(time.Hour)
		w.apply(w.source())
		if got := w.stamp(); got != first || !got.Until.IsZero() {
			w.Errorf("stamp %+v, want %+v", got, first)
		}
		w.applyFrom(w.source("size: 500", "size: 200"), noon.Add(2*day))
		w.applyFrom(w.source("size: 500", "size: 300"), noon.Add(3*day))
		second := w.stamp()
		if second.Version == first.Version || !second.Until.Equal(noon.Add(2*day)) {
			w.Errorf("stamp %+v after %+v", second, first)
		}
		w.clock.set(noon.Add(2 * day))
		if got := w.stamp(); got.Version != second.Version || !got.Until.Equal(noon.Add(3*day)) {
			w.Errorf("stamp %+v", got)
		}
		w.apply(w.source("size: 500", "size: 400"))
		if got := w.stamp(); got.Version == second.Version || !got.Until.Equal(noon.Add(3*day)) {
			w.Errorf("stamp %+v", got)
		}
		w.cancelFrom(w.source("size: 500", "size: 400"), time.Time{})
		if got := w.stamp(); !got.Until.IsZero() {
			w.Errorf("stamp %+v after all was cancelled", got)
		}
	})
}

func (w *world) stamp() registry.Stamp {
	w.Helper()
	stamp, ok, err := w.store.SourceStamp(w.ctx, "tiny")
	w.must(err)
	if !ok {
		w.Fatal("no stamp")
	}
	return stamp
}

func (w *world) history() []registry.SourceVersion {
	w.Helper()
	versions, err := w.store.SourceHistory(w.ctx, "tiny")
	w.must(err)
	return versions
}

// superseded checks how many versions never begin; nothing is deleted.
func (w *world) superseded(want int) {
	w.Helper()
	n := 0
	for _, v := range w.history() {
		if v.Superseded {
			n++
		}
	}
	if n != want {
		w.Errorf("%d versions are superseded, want %d", n, want)
	}
}
