package ledger

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
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
	h := fixture.Harvest{Days: 1}
	s.test(t, "ids that look alike are different records", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		var page []record.Incoming
		for i, id := range lookalikes {
			page = append(page, fixture.Item(id, fmt.Sprint(i), fixture.Noon))
		}
		if got := a.Commit(page...); got.Stats.Inserted != len(lookalikes) || got.Stats.Quarantined != 0 {
			w.Errorf("stats %+v, want %d inserted", got.Stats, len(lookalikes))
		}
		for i, id := range lookalikes {
			if got, ok := w.Record(id); !ok || got.Id != id || string(got.Payload) != fmt.Sprint(i) {
				w.Errorf("%q came back as %q with %q", id, got.Id, got.Payload)
			}
		}
		if got := a.Commit(page...); got.Stats.Unchanged != len(lookalikes) {
			w.Errorf("the same page again: %+v", got.Stats)
		}
	})
	s.test(t, "ids up to 1024 bytes", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		longest := []string{fixture.Long("x", 1024), fixture.Long("é", 512), fixture.Long("😀", 256), fixture.Long("\x00", 1024), fixture.Long("\xff", 1024)}
		for _, id := range longest {
			a.Commit(fixture.Item(id, "x", fixture.Noon))
			if got, ok := w.Record(id); !ok || got.Id != id {
				w.Errorf("an id of 1024 bytes came back with %d", len(got.Id))
			}
		}
		for _, id := range []string{fixture.Long("x", 1025), fixture.Long("é", 513), ""} {
			w.Unchanged("refused id", func() {
				_, err := w.Store.CommitBatch(w.Ctx, a.Page(fixture.Item("fine", "x", fixture.Noon), fixture.Item(id, "x", fixture.Noon)))
				w.Refuses(err, fault.ErrInvalid, fmt.Sprintf("id of %d bytes", len(id)))
			})
		}
		moved := fixture.Gone("moved", fixture.Noon)
		moved.MergedInto = fixture.Long("é", 513)
		w.Unchanged("refused id of another record", func() {
			_, err := w.Store.CommitBatch(w.Ctx, a.Page(moved))
			w.Refuses(err, fault.ErrInvalid, "merged into an id of 1026 bytes")
		})
	})
	s.test(t, "a token may be the same on every page", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		for range 3 {
			page := a.Page()
			page.BeforeToken, page.AfterToken = "DnF1ZXJ5", "DnF1ZXJ5"
			a.Store(page)
		}
		if n := w.Number("SELECT COUNT(*) FROM ing_task_run_batch WHERE status_code = 'SUCCEEDED'"); n != 3 {
			w.Errorf("%d batches, want 3", n)
		}
		if n := w.Number("SELECT COUNT(DISTINCT before_token_hash) FROM ing_task_run_batch"); n != 1 {
			w.Errorf("%d hashes of one token", n)
		}
	})
	s.test(t, "tokens come back byte by byte", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		for _, token := range append(slices.Clone(lookalikes), fixture.Long("x", 4096), fixture.Long("é", 2048)) {
			page := a.Page()
			page.BeforeToken, page.AfterToken = token, token
			got, err := w.Store.Batch(w.Ctx, a.Store(page).BatchID)
			w.Must(err)
			if got.BeforeToken != token || got.AfterToken != token {
				w.Errorf("%q came back as %q and %q", token, got.BeforeToken, got.AfterToken)
			}
		}
		for _, spoil := range []func(*ingest.BatchCommit){
			func(p *ingest.BatchCommit) { p.BeforeToken = fixture.Long("x", 4097) },
			func(p *ingest.BatchCommit) { p.AfterToken = fixture.Long("é", 2049) },
		} {
			page := a.Page()
			spoil(&page)
			w.Unchanged("long token", func() {
				_, err := w.Store.CommitBatch(w.Ctx, page)
				w.Refuses(err, fault.ErrInvalid, "token over 4096 bytes")
			})
		}
	})
	s.test(t, "our own texts are measured in characters", func(w *world) {
		fits := fixture.Harvest{Source: fixture.Long("é", 64)}
		w.Plan(fits)
		got, err := w.Store.Plans(w.Ctx, view.Filter{Source: fits.Source})
		w.Must(err)
		if len(got) != 1 || got[0].Source != fits.Source {
			w.Errorf("plans of a source with 64 characters: %+v", got)
		}
		for _, source := range []string{fixture.Long("x", 65), fixture.Long("é", 65)} {
			h := fixture.Harvest{Source: source}
			w.Unchanged("long source", func() {
				_, err := w.Store.RecordTrigger(w.Ctx, h.NewTrigger())
				w.Refuses(err, fault.ErrInvalid, "trigger of a source with 65 characters")
				_, _, err = w.Store.OpenPlan(w.Ctx, h.NewPlan(1))
				w.Refuses(err, fault.ErrInvalid, "plan of a source with 65 characters")
			})
		}
		w.Unchanged("long names", func() {
			_, err := w.Store.Heartbeat(w.Ctx, ingest.Process{ID: fixture.Long("x", 129)}, fixture.Lease)
			w.Refuses(err, fault.ErrInvalid, "executor id of 129 characters")
			request := w.Request(fits, 1)
			request.Owner = fixture.Long("x", 129)
			_, err = w.Store.Claim(w.Ctx, request)
			w.Refuses(err, fault.ErrInvalid, "owner of 129 characters")
		})
	})
	s.test(t, "source codes differ by case and accent", func(w *world) {
		codes := []string{"Crossref", "crossref", "crossref.", "crössref"}
		for _, code := range codes {
			w.Plan(fixture.Harvest{Source: code, Days: 1})
		}
		for _, code := range codes {
			got, err := w.Store.Plans(w.Ctx, view.Filter{Source: code})
			w.Must(err)
			if len(got) != 1 || got[0].Source != code {
				w.Errorf("plans of %q: %+v", code, got)
			}
		}
		cursors, err := w.Store.Cursors(w.Ctx, "")
		w.Must(err)
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
