package registry

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

func (s suite) sourceVersions(t *testing.T) {
	s.test(t, "a scheduled version begins when its time comes", func(w *world) {
		first, second := w.Source(), w.Source("size: 500", "size: 200", "name: Tiny", "name: Later")
		w.Apply(first)
		begin := fixture.Noon.Add(3 * fixture.Day)
		if done := w.ApplyFrom(second, begin); !done.From.Equal(begin) || done.Rows != 4 || done.Superseded != 0 {
			w.Errorf("applied %+v", done)
		}
		w.loads(first)
		w.loadsAt(begin.Add(-time.Microsecond), first)
		w.loadsAt(begin, second)
		w.oneRowInForceEach()
		w.Clock.Set(begin.Add(-time.Microsecond))
		w.loads(first)
		w.Clock.Set(begin)
		w.loads(second)
		w.Unchanged("the file in force", func() { w.Apply(second) })
		w.Unchanged("what was scheduled, again", func() { w.ApplyFrom(second, begin) })
	})
	s.test(t, "a change before a scheduled one leaves it whole", func(w *world) {
		first, later := w.Source(), w.Source("size: 500", "size: 200")
		sooner := w.Source("perSecond: 3", "perSecond: 7", "default: asc", "default: desc", "name: Tiny", "name: Sooner")
		w.Apply(first)
		w.ApplyFrom(later, fixture.Noon.Add(3*fixture.Day))
		if done := w.ApplyFrom(sooner, fixture.Noon.Add(2*fixture.Day)); done.Superseded != 0 || done.Rows != 6 { // three rows end, three begin
			w.Errorf("applied %+v, want none superseded", done)
		}
		w.oneRowInForceEach()
		w.loadsAt(fixture.Noon.Add(2*fixture.Day-time.Microsecond), first)
		w.loadsAt(fixture.Noon.Add(2*fixture.Day), sooner)
		w.loadsAt(fixture.Noon.Add(3*fixture.Day-time.Microsecond), sooner)
		w.loadsAt(fixture.Noon.Add(30*fixture.Day), later) // nothing of the one between them
		w.superseded(0)
		got := w.history()
		if len(got) != 3 || !got[1].To.Equal(fixture.Noon.Add(3*fixture.Day)) || !got[2].To.IsZero() {
			w.Fatalf("history %+v", got)
		}
		want := []string{"endpoints.works.paging.size", "endpoints.works.params.sort.default", "name", "rate.perSecond"}
		if paths := got[2].Paths; !slices.Equal(paths, want) { // against what is before it now
			w.Errorf("the scheduled version changes %v, want %v", paths, want)
		}
		w.Clock.Set(fixture.Noon.Add(3 * fixture.Day))
		w.loads(later)
	})
	s.test(t, "a change at once leaves what is scheduled", func(w *world) {
		first, later, now := w.Source(), w.Source("size: 500", "size: 200"), w.Source("perSecond: 3", "perSecond: 7")
		w.Apply(first)
		w.ApplyFrom(later, fixture.Noon.Add(3*fixture.Day))
		w.Clock.Advance(fixture.Day)
		if done := w.ApplyFrom(now, time.Time{}); done.Superseded != 0 {
			w.Errorf("applied %+v", done)
		}
		w.loads(now)
		w.loadsAt(fixture.Noon.Add(3*fixture.Day), later)
		w.Unchanged("again", func() { w.Apply(now) })
		w.oneRowInForceEach()
	})
	s.test(t, "a change that cancels takes back all that is later", func(w *world) {
		first, sooner := w.Source(), w.Source("perSecond: 3", "perSecond: 7")
		w.Apply(first)
		w.ApplyFrom(w.Source("size: 500", "size: 100"), fixture.Noon.Add(fixture.Day))
		w.ApplyFrom(w.Source("size: 500", "size: 200"), fixture.Noon.Add(3*fixture.Day))
		w.ApplyFrom(w.Source("size: 500", "size: 300", "name: Tiny", "name: Later"), fixture.Noon.Add(4*fixture.Day))
		if done := w.cancelFrom(sooner, fixture.Noon.Add(2*fixture.Day)); done.Superseded != 2 {
			w.Errorf("applied %+v, want two versions superseded", done)
		}
		w.oneRowInForceEach()
		w.loadsAt(fixture.Noon.Add(2*fixture.Day-time.Microsecond), w.Source("size: 500", "size: 100"))
		w.loadsAt(fixture.Noon.Add(2*fixture.Day), sooner)
		w.loadsAt(fixture.Noon.Add(30*fixture.Day), sooner)
		w.superseded(2)
		if got := w.Text("SELECT detail FROM ing_audit_log ORDER BY id DESC LIMIT 1"); !strings.Contains(got, `"cancelScheduled":true`) || !strings.Contains(got, `"superseded":2`) {
			w.Errorf("the log says %s", got)
		}
	})
	s.test(t, "a change at the instant of a scheduled one replaces it", func(w *world) {
		first, wrong, right := w.Source(), w.Source("size: 500", "size: 200", "perSecond: 3", "perSecond: 7"), w.Source("size: 500", "size: 300", "perSecond: 3", "perSecond: 7")
		w.Apply(first)
		begin := fixture.Noon.Add(fixture.Day)
		w.ApplyFrom(wrong, begin)
		if done := w.ApplyFrom(right, begin); done.Superseded != 1 || done.Rows != 2 { // the rate row is kept
			w.Errorf("applied %+v", done)
		}
		w.oneRowInForceEach()
		w.loadsAt(begin, right)
		w.loadsAt(begin.Add(-time.Microsecond), first)
		w.superseded(1)
	})
	s.test(t, "a change after a scheduled one follows it", func(w *world) {
		first, second, third := w.Source(), w.Source("size: 500", "size: 200"), w.Source("size: 500", "size: 300")
		w.Apply(first)
		w.ApplyFrom(second, fixture.Noon.Add(fixture.Day))
		if done := w.ApplyFrom(third, fixture.Noon.Add(2*fixture.Day)); done.Superseded != 0 {
			w.Errorf("applied %+v", done)
		}
		w.oneRowInForceEach()
		for i, want := range []*registry.Source{first, second, third} {
			w.loadsAt(fixture.Noon.Add(time.Duration(i)*fixture.Day), want)
		}
	})
	s.test(t, "the file in force leaves what is scheduled, unless it is to cancel", func(w *world) {
		first, later := w.Source(), w.Source("size: 500", "size: 200", "name: Tiny", "name: Later")
		w.Apply(first)
		w.ApplyFrom(later, fixture.Noon.Add(fixture.Day))
		w.Unchanged("every night", func() {
			if done := w.ApplyFrom(first, time.Time{}); done.Rows != 0 || done.Superseded != 0 {
				w.Errorf("applied %+v", done)
			}
		})
		w.Unchanged("what is scheduled, for later", func() { w.ApplyFrom(later, fixture.Noon.Add(2*fixture.Day)) })
		w.Unchanged("what is scheduled, and nothing to cancel", func() { w.cancelFrom(later, fixture.Noon.Add(2*fixture.Day)) })
		if done := w.cancelFrom(first, time.Time{}); done.Superseded != 1 || done.Rows == 0 {
			w.Errorf("applied %+v", done)
		}
		w.Unchanged("there is nothing left to cancel", func() { w.cancelFrom(first, time.Time{}) })
		w.onlyVersion(first)
		w.superseded(1)
	})
	s.test(t, "the file before a scheduled version, at its instant, replaces it", func(w *world) {
		first, last := w.Source(), w.Source("size: 500", "size: 300")
		w.Apply(first)
		w.ApplyFrom(w.Source("size: 500", "size: 200", "perSecond: 3", "perSecond: 7"), fixture.Noon.Add(fixture.Day))
		w.ApplyFrom(last, fixture.Noon.Add(2*fixture.Day))
		if done := w.ApplyFrom(first, fixture.Noon.Add(fixture.Day)); done.Superseded != 1 || done.Rows == 0 {
			w.Errorf("applied %+v", done)
		}
		w.oneRowInForceEach()
		w.loadsAt(fixture.Noon.Add(2*fixture.Day-time.Microsecond), first)
		w.loadsAt(fixture.Noon.Add(2*fixture.Day), last)
		w.superseded(1)
		if done := w.ApplyFrom(first, fixture.Noon.Add(2*fixture.Day)); done.Superseded != 1 {
			w.Errorf("applied %+v", done)
		}
		w.onlyVersion(first)
	})
	s.test(t, "a new source may be scheduled", func(w *world) {
		src := w.Source()
		w.ApplyFrom(src, fixture.Noon.Add(fixture.Day))
		if _, ok, err := w.Store.LoadSource(w.Ctx, "tiny"); ok || err != nil {
			w.Errorf("before its time: %v %v", ok, err)
		}
		if all, err := w.Store.AppliedSources(w.Ctx); err != nil || len(all) != 0 {
			w.Errorf("before its time: %v %v", all, err)
		}
		w.Clock.Advance(fixture.Day)
		w.loads(src)
	})
	s.test(t, "the past is not rewritten", func(w *world) {
		w.Apply(w.Source())
		w.Clock.Advance(fixture.Day)
		w.Unchanged("refused", func() {
			_, err := w.Store.ApplySource(w.Ctx, w.Source("size: 500", "size: 200"), registry.ApplyOptions{From: fixture.Noon.Add(fixture.Day - time.Microsecond)})
			w.Refuses(err, fault.ErrInvalid, "a begin in the past")
			if err != nil && !strings.Contains(err.Error(), "2025-03-21T11:59:59.999999Z lies in the past") {
				w.Errorf("message %q", err)
			}
		})
		_, err := w.Store.ApplySource(w.Ctx, w.Source("size: 500", "size: 200"), registry.ApplyOptions{From: fixture.Noon.Add(fixture.Day)})
		w.Must(err)
		w.Unchanged("refused, although it was in force then", func() {
			for _, cancel := range []bool{false, true} {
				_, err := w.Store.ApplySource(w.Ctx, w.Source(), registry.ApplyOptions{From: fixture.Noon, CancelScheduled: cancel})
				w.Refuses(err, fault.ErrInvalid, "a begin in the past")
			}
		})
	})
	s.test(t, "any schedule gives what was applied last for each instant", func(w *world) { w.anySchedule() })
	s.test(t, "the history tells who, why and what", func(w *world) {
		w.Apply(w.Source())
		w.Clock.Advance(fixture.Day)
		w.Apply(w.Source("size: 500", "size: 200"))
		w.ApplyFrom(w.Source("size: 500", "size: 300"), fixture.Noon.Add(5*fixture.Day))
		got := w.history()
		if len(got) != 3 || len(got[0].Paths) != len(registry.Diff(nil, w.Source())) || got[0].Fingerprint == got[1].Fingerprint {
			w.Fatalf("history %+v", got)
		}
		want := registry.SourceVersion{
			From: fixture.Noon.Add(fixture.Day), To: fixture.Noon.Add(5 * fixture.Day), AppliedAt: fixture.Noon.Add(fixture.Day), Actor: "tester", Reason: "because", Fingerprint: got[1].Fingerprint,
			Rows: 2, Tables: []string{"reg_prov_pagination_cfg"}, Paths: []string{"endpoints.works.paging.size"},
		}
		if !reflect.DeepEqual(got[1], want) {
			w.Errorf("%+v, want\n%+v", got[1], want)
		}
		if !got[0].To.Equal(want.From) || !got[2].From.Equal(want.To) || !got[2].To.IsZero() || !got[2].AppliedAt.Equal(fixture.Noon.Add(fixture.Day)) {
			w.Errorf("history %+v", got)
		}
	})
	s.test(t, "every apply is in the log once", func(w *world) {
		w.Apply(w.Source())
		w.Apply(w.Source())
		w.Clock.Advance(fixture.Day)
		_, err := w.Store.ApplySource(w.Ctx, w.Source("size: 500", "size: 200"), registry.ApplyOptions{Reason: fixture.Long("é", 600)})
		w.Must(err)
		w.Apply(w.Source("source: tiny", "source: other"))
		if n := w.Number("SELECT COUNT(*) FROM ing_audit_log"); n != 3 {
			w.Errorf("%d rows in the log, want 3", n)
		}
		if n := w.Number("SELECT COUNT(*) FROM ing_audit_log a JOIN ing_audit_log b ON b.prev_hash = a.row_hash"); n != 2 {
			w.Errorf("%d rows follow another, want 2", n)
		}
		if got := w.Text("SELECT CONCAT(actor, ' ', action, ' ', object, ' ', reason) FROM ing_audit_log WHERE id = 1"); got != "tester source.apply source/tiny because" {
			w.Errorf("the log says %q", got)
		}
		if got := w.Text("SELECT detail FROM ing_audit_log WHERE id = 2"); !strings.Contains(got, `"rows":2`) || !strings.Contains(got, `"effectiveFrom":"2025-03-21T12:00:00Z"`) {
			w.Errorf("detail %s", got)
		}
		if got := w.Text("SELECT actor FROM ing_audit_log WHERE id = 2"); got != "unknown" {
			w.Errorf("actor %q", got)
		}
	})
	s.test(t, "a stamp changes with every apply and ends with the next version", func(w *world) {
		w.Apply(w.Source())
		first := w.stamp()
		w.Clock.Advance(time.Hour)
		w.Apply(w.Source())
		if got := w.stamp(); got != first || !got.Until.IsZero() {
			w.Errorf("stamp %+v, want %+v", got, first)
		}
		w.ApplyFrom(w.Source("size: 500", "size: 200"), fixture.Noon.Add(2*fixture.Day))
		w.ApplyFrom(w.Source("size: 500", "size: 300"), fixture.Noon.Add(3*fixture.Day))
		second := w.stamp()
		if second.Version == first.Version || !second.Until.Equal(fixture.Noon.Add(2*fixture.Day)) {
			w.Errorf("stamp %+v after %+v", second, first)
		}
		w.Clock.Set(fixture.Noon.Add(2 * fixture.Day))
		if got := w.stamp(); got.Version != second.Version || !got.Until.Equal(fixture.Noon.Add(3*fixture.Day)) {
			w.Errorf("stamp %+v", got)
		}
		w.Apply(w.Source("size: 500", "size: 400"))
		if got := w.stamp(); got.Version == second.Version || !got.Until.Equal(fixture.Noon.Add(3*fixture.Day)) {
			w.Errorf("stamp %+v", got)
		}
		w.cancelFrom(w.Source("size: 500", "size: 400"), time.Time{})
		if got := w.stamp(); !got.Until.IsZero() {
			w.Errorf("stamp %+v after all was cancelled", got)
		}
	})
}

func (w *world) stamp() registry.Stamp {
	w.Helper()
	stamp, ok, err := w.Store.SourceStamp(w.Ctx, "tiny")
	w.Must(err)
	if !ok {
		w.Fatal("no stamp")
	}
	all, err := w.Store.SourceStamps(w.Ctx)
	w.Must(err)
	if all["tiny"] != stamp {
		w.Errorf("stamp %+v, among all %+v", stamp, all["tiny"])
	}
	return stamp
}

func (w *world) history() []registry.SourceVersion {
	w.Helper()
	versions, err := w.Store.SourceHistory(w.Ctx, "tiny")
	w.Must(err)
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
