package daemon

import (
	"time"

	"github.com/patra-ingest/patra/internal/core/extract"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/upsim"
)

// chains are causes with consequences that would be findings of their own.
func chains() []trouble {
	return []trouble{
		{ // items are rejected, the slice is given up, and a gap is left
			code: view.FoundGap, about: ofEndpoint, fact: func(f view.Finding) bool { return f.Rejected > 0 && f.Task != nil },
			bring: func(w *world) {
				w.apply(func(src *registry.Source) { src.Response.MaxRejectRate = 0.01 })
				w.fault(upsim.Fault{Kind: upsim.FaultMissingID})
				w.fire()
			},
			mend: func(w *world) {
				w.fault()
				w.apply(nil)
				w.retry()
				w.discardRejects()
			},
		},
		{ // the mapping breaks while a backfill reads: the source stops itself, and ranges are left
			code: view.FoundPaused, about: ofEndpoint, raised: view.Critical, fact: func(f view.Finding) bool { return f.Count > 0 && f.Pause.Actor == ingest.ByItself },
			bring: func(w *world) {
				none, err := extract.ParseSelector("$.nothing")
				w.must(err)
				w.apply(func(src *registry.Source) { src.Response.ID = none })
				w.backfillDay()
			},
			mend: func(w *world) {
				w.apply(nil)
				_, err := w.app.Operator.Resume(w.Context(), ingest.Scope{Source: "crossref", Endpoint: "works"}, byAnn)
				w.must(err)
				w.backfillDay()
				w.discardRejects()
			},
		},
		{ // the upstream fails for hours: ticks go on and fail
			code: view.FoundGap, about: ofEndpoint, after: 3*time.Hour + 15*time.Minute, fact: func(f view.Finding) bool { return f.Task != nil },
			bring: func(w *world) { w.fault(upsim.Fault{Kind: upsim.FaultHTML200}) },
			mend: func(w *world) {
				w.fault()
				w.retry()
			},
		},
		{ // the only process is killed: no tick fires any more, and tasks wait
			code: view.FoundGone, about: view.Subject{Process: "attic"}, after: 3*time.Hour + 15*time.Minute, fact: func(f view.Finding) bool { return f.Gone.Tasks > 0 },
			bring: func(w *world) {
				w.begun = w.plan()
				w.killed = true
			},
			mend: func(w *world) {
				w.killed, w.process = false, w.process+"'"
				w.work(w.begun)
				w.fire()
			},
		},
		{ // a clock was ahead, and two ticks are refused
			code: view.FoundAhead, about: ofEndpoint, after: 2*time.Hour + 15*time.Minute,
			bring: func(w *world) { w.harvestAhead(12 * time.Hour) },
			mend:  func(w *world) { w.readAgain() },
		},
		{ // a person pauses the source over two ticks, which are refused
			code: view.FoundPaused, about: ofSource, after: 2*time.Hour + 15*time.Minute,
			bring: func(w *world) {
				_, err := w.app.Operator.Pause(w.Context(), ingest.Scope{Source: "crossref"}, byAnn)
				w.must(err)
			},
			mend: func(w *world) {
				_, err := w.app.Operator.Resume(w.Context(), ingest.Scope{Source: "crossref"}, byAnn)
				w.must(err)
			},
		},
		{ // a definition that cannot be planned is applied over two ticks, which are refused
			code: view.FoundUnplannable, about: ofSource, after: 2*time.Hour + 15*time.Minute,
			bring: func(w *world) {
				w.apply(forgetDates)
			},
			mend: func(w *world) { w.apply(nil) },
		},
		{ // bodies of answers fill the disk
			code: view.FoundDiskLow, about: view.Subject{Path: "/var/lib/patra"}, fact: func(f view.Finding) bool { return f.Raw != nil },
			bring: func(w *world) { w.full, w.bodies = true, 95 },
			mend:  func(w *world) { w.full, w.bodies = false, 50 },
		},
	}
}

// discardRejects decides about what is in quarantine.
func (w *world) discardRejects() {
	w.Helper()
	_, err := w.app.Quarantine.Discard(w.Context(), ingest.RejectPick{Dataset: works.Dataset}, byAnn)
	w.must(err)
}
