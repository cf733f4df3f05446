package storetest

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store"
)

// lookalikes are ids that a careless comparison takes for the same.
var lookalikes = []string{
	"10.1/abc", "10.1/ABC", "10.1/Abc", // case
	"10.1/abc ", "10.1/abc  ", " 10.1/abc", "10.1/abc\t", // blanks
	"10.1/ábc", "10.1/a\u0301bc", "10.1/äbc", // accents, composed and not
	"10.1/straße", "10.1/strasse", // expansion
	"10.1/😀", "10.1/😁", // outside the first plane
	"10.1/abc\x00", "10.1/abc\x00d", "\x00", // NUL ends a C string
	"10.1/abc\xff", "10.1/abc\xfe", // not text at all
	"10.1/%", "10.1/_", `10.1/'"\`, "10.1/\n", // syntax
}

func (s suite) foreignText(t *testing.T) {
	h := harvest{days: 1}
	s.test(t, "ids that look alike are different records", func(w *world) {
		w.plan(h)
		a := w.begin(h)
		var page []record.Incoming
		for i, id := range lookalikes {
			page = append(page, item(id, fmt.Sprint(i), noon))
		}
		if got := a.commit(page...); got.Stats.Inserted != len(lookalikes) || got.Stats.Quarantined != 0 {
			w.Errorf("stats %+v, want %d inserted", got.Stats, len(lookalikes))
		}
		for i, id := range lookalikes {
			if got, ok := w.record(id); !ok || got.id != id || string(got.payload) != fmt.Sprint(i) {
				w.Errorf("%q came back as %q with %q", id, got.id, got.payload)
			}
		}
		if got := a.commit(page...); got.Stats.Unchanged != len(lookalikes) {
			w.Errorf("the same page again: %+v", got.Stats)
		}
	})
	s.test(t, "ids up to 1024 bytes", func(w *world) {
		w.plan(h)
		a := w.begin(h)
		longest := []string{long("x", 1024), long("é", 512), long("😀", 256), long("\x00", 1024), long("\xff", 1024)}
		for _, id := range longest {
			a.commit(item(id, "x", noon))
			if got, ok := w.record(id); !ok || got.id != id {
				w.Errorf("an id of 1024 bytes came back with %d", len(got.id))
			}
		}
		for _, id := range []string{long("x", 1025), long("é", 513), ""} {
			w.unchanged("refused id", func() {
				_, err := w.store.CommitBatch(w.ctx, a.page(item("fine", "x", noon), item(id, "x", noon)))
				w.refuses(err, fault.ErrInvalid, fmt.Sprintf("id of %d bytes", len(id)))
			})
		}
	})
	s.test(t, "a token may be the same on every page", func(w *world) {
		w.plan(h)
		a := w.begin(h)
		for range 3 {
			page := a.page()
			page.BeforeToken, page.AfterToken = "DnF1ZXJ5", "DnF1ZXJ5"
			a.store(page)
		}
		if n := w.number("SELECT COUNT(*) FROM ing_task_run_batch WHERE status_code = 'SUCCEEDED'"); n != 3 {
			w.Errorf("%d batches, want 3", n)
		}
		if n := w.number("SELECT COUNT(DISTINCT before_token_hash) FROM ing_task_run_batch"); n != 1 {
			w.Errorf("%d hashes of one token", n)
		}
	})
	s.test(t, "tokens come back byte by byte", func(w *world) {
		w.plan(h)
		a := w.begin(h)
		for _, token := range append(slices.Clone(lookalikes), long("x", 4096), long("é", 2048)) {
			page := a.page()
			page.BeforeToken, page.AfterToken = token, token
			got, err := w.store.Batch(w.ctx, a.store(page).BatchID)
			w.must(err)
			if got.BeforeToken != token || got.AfterToken != token {
				w.Errorf("%q came back as %q and %q", token, got.BeforeToken, got.AfterToken)
			}
		}
		for _, spoil := range []func(*ingest.BatchCommit){
			func(p *ingest.BatchCommit) { p.BeforeToken = long("x", 4097) },
			func(p *ingest.BatchCommit) { p.AfterToken = long("é", 2049) },
		} {
			page := a.page()
			spoil(&page)
			w.unchanged("long token", func() {
				_, err := w.store.CommitBatch(w.ctx, page)
				w.refuses(err, fault.ErrInvalid, "token over 4096 bytes")
			})
		}
	})
	s.test(t, "our own texts are measured in characters", func(w *world) {
		fits := harvest{source: long("é", 64)}
		w.plan(fits)
		got, err := w.store.Plans(w.ctx, view.Filter{Source: fits.source})
		w.must(err)
		if len(got) != 1 || got[0].Source != fits.source {
			w.Errorf("plans of a source with 64 characters: %+v", got)
		}
		for _, source := range []string{long("x", 65), long("é", 65)} {
			h := harvest{source: source}
			w.unchanged("long source", func() {
				_, err := w.store.RecordTrigger(w.ctx, h.newTrigger())
				w.refuses(err, fault.ErrInvalid, "trigger of a source with 65 characters")
				_, _, err = w.store.OpenPlan(w.ctx, h.newPlan(1))
				w.refuses(err, fault.ErrInvalid, "plan of a source with 65 characters")
			})
		}
		w.unchanged("long names", func() {
			_, err := w.store.Heartbeat(w.ctx, store.ExecutorInfo{ID: long("x", 129)}, lease)
			w.refuses(err, fault.ErrInvalid, "executor id of 129 characters")
			request := w.request(fits, 1)
			request.Owner = long("x", 129)
			_, err = w.store.Claim(w.ctx, request)
			w.refuses(err, fault.ErrInvalid, "owner of 129 characters")
		})
	})
	s.test(t, "source codes differ by case and accent", func(w *world) {
		codes := []string{"Crossref", "crossref", "crossref.", "crössref"}
		for _, code := range codes {
			w.plan(harvest{source: code, days: 1})
		}
		for _, code := range codes {
			got, err := w.store.Plans(w.ctx, view.Filter{Source: code})
			w.must(err)
			if len(got) != 1 || got[0].Source != code {
				w.Errorf("plans of %q: %+v", code, got)
			}
		}
		cursors, err := w.store.Cursors(w.ctx, "")
		w.must(err)
		var sources []string
		for _, c := range cursors {
			sources = append(sources, c.Source)
		}
		slices.Sort(codes)
		slices.Sort(sources)
		if !reflect.DeepEqual(sources, codes) {
			w.Errorf("cursors of %q, want %q", sources, codes)
		}
	})
}
