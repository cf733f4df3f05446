package archive

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/patra-ingest/patra/internal/core/event"
	"github.com/patra-ingest/patra/internal/core/export"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/integrity"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// Damage tries every way in which stored content may have been changed behind our
// back: it is never handed out as good.
func Damage(t *testing.T, of fixture.Suite) {
	s := suite{of}
	s.damagedBodies(t)
	s.damagedHeads(t)
	s.damagedRejects(t)
	s.damagedCounts(t)
	s.unsealedAtOnce(t)
}

// tampering are ways to change the body of the record "b"; its neighbours stay.
var tampering = map[string]string{
	"a byte of the item":       "SELECT payload FROM ing_record_body WHERE id_hash = ?",
	"the fields":               "UPDATE ing_record_body SET fields = REPLACE(fields, 'b-content', 'b-cuntent') WHERE id_hash = ?",
	"no fields":                "UPDATE ing_record_body SET fields = NULL WHERE id_hash = ?",
	"the date":                 "UPDATE ing_record_body SET updated_at = updated_at + 1 WHERE id_hash = ?",
	"when it was fetched":      "UPDATE ing_record_body SET fetch_at = fetch_at + 1 WHERE id_hash = ?",
	"the version":              "UPDATE ing_record_body SET version = version + 1 WHERE id_hash = ?",
	"the checksum":             "UPDATE ing_record_body SET codec = CONCAT(SUBSTR(codec, 1, 2), 'AAAAAA') WHERE id_hash = ?",
	"an unknown codec":         "UPDATE ing_record_body SET codec = 'x2AAAAAA' WHERE id_hash = ?",
	"the item of another body": "UPDATE ing_record_body SET payload = (SELECT y.payload FROM (SELECT payload FROM ing_record_body WHERE id_hash <> ? ORDER BY body_id LIMIT 1) y) WHERE id_hash = ?",
	"the fields of another":    "UPDATE ing_record_body SET fields = (SELECT y.fields FROM (SELECT fields FROM ing_record_body WHERE id_hash <> ? ORDER BY body_id LIMIT 1) y) WHERE id_hash = ?",
}

// fieldsStay names what changes the item only: who reads fields cannot see it.
var fieldsStay = map[string]bool{"a byte of the item": true, "the item of another body": true}

func (w *world) tamper(query, id string) {
	w.Helper()
	key := record.KeyOf(id)
	args := make([]any, strings.Count(query, "?"))
	for i := range args {
		args[i] = key[:]
	}
	if strings.HasPrefix(query, "SELECT") { // what it finds gets another byte
		var content []byte
		w.Must(w.DB.SQL.QueryRow(query, args...).Scan(&content))
		content[len(content)/2] ^= 1
		query, args = "UPDATE ing_record_body SET payload = ? WHERE id_hash = ?", []any{content, key[:]}
	}
	if w.Exec(query, args...) == 0 {
		w.Fatal("nothing was changed")
	}
}

func (s suite) damagedBodies(t *testing.T) {
	h := fixture.Harvest{Days: 1}
	for name, query := range tampering {
		for _, size := range []int{1, 100} { // plain and packed
			s.test(t, fmt.Sprintf("%s, length %d", name, size), func(w *world) {
				w.Plan(h)
				a := w.Begin(h)
				content := func(id string) string { return fixture.Long(id+"-content ", size) }
				a.Commit(fixture.Item("a", content("a"), fixture.Noon), fixture.Item("b", content("b"), fixture.Noon), fixture.Item("c", content("c"), fixture.Noon))
				w.waysOut("before", "", false)
				w.tamper(query, "b")
				w.waysOut(name, "b", fieldsStay[name])
				w.intoFields(a, name, fieldsStay[name])
			})
		}
	}
}

// damagedOr holds an error to be about damage, and to name the record and what to do.
func (w *world) damagedOr(err error, what, id string) {
	w.Helper()
	if id == "" {
		if err != nil {
			w.Errorf("%s: %v", what, err)
		}
		return
	}
	if !errors.Is(err, fault.ErrDamaged) {
		w.Errorf("%s: %v, expected damage", what, err)
		return
	}
	if text := err.Error(); !strings.Contains(text, "patra db check") {
		w.Errorf("%s does not say what to do: %s", what, text)
	}
}

// waysOut reads all records every way there is. damaged is the one that must fail,
// itemOnly says that only readers of the item can know.
func (w *world) waysOut(what, damaged string, itemOnly bool) {
	w.Helper()
	for _, id := range []string{"a", "b", "c"} {
		bad := ""
		if id == damaged {
			bad = id
		}
		_, body, err := w.Store.Head(w.Ctx, view.Dataset{ID: 1}, id)
		w.Must(err)
		_, err = w.Store.VersionsOf(w.Ctx, body, 10)
		w.damagedOr(err, what+": versions of "+id, bad)
	}
	inFields := damaged
	if itemOnly {
		inFields = ""
	}
	upto := w.Mark()
	for _, payload := range []bool{false, true} {
		bad := damaged
		if !payload {
			bad = inFields
		}
		_, _, err := w.Store.ExportPage(w.Ctx, export.Range{DatasetID: upto.DatasetID, Upto: upto.Batch, Payload: payload}, 0, func(*export.Row) error { return nil })
		w.damagedOr(err, fmt.Sprintf("%s: export, payload %v", what, payload), bad)
		if bad != "" && err != nil && !strings.Contains(err.Error(), `"b"`) {
			w.Errorf("%s: the export does not name the record: %v", what, err)
		}
	}
	events, err := w.Store.PendingEvents(w.Ctx, event.DatasetQueue{DatasetID: 1, Source: "crossref", Endpoint: "works"}, 10, 1<<20, &event.Room{})
	w.Must(err)
	for _, e := range events {
		bad := ""
		if e.RecordID == damaged {
			bad = damaged
		}
		w.damagedOr(e.Damaged, what+": event of "+e.RecordID, bad)
		if e.NoBody != (bad != "") {
			w.Errorf("%s: event of %s: no body %v", what, e.RecordID, e.NoBody)
		}
	}
	_, err = w.Store.Records(w.Ctx, "crossref", "works", nil, 10)
	w.damagedOr(err, what+": records", damaged)
	_, err = w.Store.Box(w.Ctx, w.Number("SELECT MAX(id) FROM ing_task_run_batch"))
	w.damagedOr(err, what+": black box", inFields)
}

// intoFields lets items be merged with what is stored: nothing must be built on damage.
func (w *world) intoFields(a *fixture.Attempt, what string, itemOnly bool) {
	w.Helper()
	want := "b"
	if itemOnly {
		want = ""
	}
	page := a.Page(fixture.Filler("b", `{"abstract":"more"}`, fixture.Noon.Add(fixture.Day)))
	_, err := w.Store.CommitBatch(w.Ctx, page)
	w.damagedOr(err, what+": fill", want)
}

func (s suite) damagedHeads(t *testing.T) {
	h := fixture.Harvest{Days: 1}
	for name, query := range map[string]string{
		"the id":            "UPDATE ing_record SET provider_id = 'bb' WHERE id_hash = ?",
		"the state":         "UPDATE ing_record SET state_code = 'ACTIVD' WHERE id_hash = ?",
		"no head":           "DELETE FROM ing_record WHERE id_hash = ?",
		"a head too old":    "UPDATE ing_record SET body_id = 1 WHERE id_hash = ?",
		"a body less":       "DELETE FROM ing_record_body WHERE id_hash = ?",
		"of another source": "UPDATE ing_record_body SET dataset_id = 77 WHERE id_hash = ?",
		"a head of another": "UPDATE ing_record SET body_id = (SELECT MAX(body_id) FROM ing_record_body) WHERE id_hash = ?",
	} {
		s.test(t, "head: "+name, func(w *world) {
			w.Plan(h)
			a := w.Begin(h)
			a.Commit(fixture.Item("a", "x", fixture.Noon), fixture.Item("b", "y", fixture.Noon), fixture.Item("c", "z", fixture.Noon))
			w.tamper(query, "b")
			upto := w.Mark()
			in := export.Range{DatasetID: upto.DatasetID, Upto: upto.Batch}
			var n int64
			_, _, err := w.Store.ExportPage(w.Ctx, in, 0, func(*export.Row) error { n++; return nil })
			if err == nil {
				var heads int64
				if heads, err = w.Store.CountExported(w.Ctx, in); err == nil && heads != n {
					err = fmt.Errorf("%w: counted; patra db check", fault.ErrDamaged)
				}
			}
			w.damagedOr(err, "export", "b")
			if found := w.checked(); len(found) == 0 {
				w.Error("a check finds nothing")
			}
		})
	}
	s.test(t, "a version of two records", func(w *world) {
		w.Plan(h)
		w.Begin(h).Commit(fixture.Item("a", "x", fixture.Noon), fixture.Item("b", "y", fixture.Noon), fixture.Item("c", "z", fixture.Noon))
		if found := w.checked(); len(found) > 0 {
			w.Fatalf("%+v", found)
		}
		w.Exec("UPDATE ing_record SET body_id = (SELECT body_id FROM ing_record_body WHERE body_id & 1048575 = 1)")
		if found := w.checked(); len(found) < 2 {
			w.Errorf("three records have one version, and a check finds %+v", found)
		}
	})
	s.test(t, "an export is counted also while records change", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		a.Commit(fixture.Item("a", "x", fixture.Noon), fixture.Item("b", "y", fixture.Noon), fixture.Item("c", "z", fixture.Noon))
		first := w.Mark()
		a.Commit(fixture.Item("b", "y2", fixture.Noon.Add(fixture.Day)), fixture.Item("d", "new", fixture.Noon), fixture.Gone("c", fixture.Noon.Add(fixture.Day)))
		second := w.Mark()
		a.Commit(fixture.Item("b", "y3", fixture.Noon.Add(2*fixture.Day)), fixture.Item("e", "new", fixture.Noon))
		for _, c := range []struct {
			after, upto int64
			want        int64
		}{{0, first.Batch, 3}, {first.Batch, second.Batch, 3}, {0, second.Batch, 4}, {second.Batch, w.Mark().Batch, 2}, {0, w.Mark().Batch, 5}} {
			in := export.Range{DatasetID: first.DatasetID, After: c.after, Upto: c.upto}
			n, err := w.Store.CountExported(w.Ctx, in)
			w.Must(err)
			out, err := fixture.ExportRange(w.World, w.Store, c.after, export.Mark{DatasetID: first.DatasetID, Batch: c.upto}, nil)
			w.Must(err)
			if n != c.want || int64(len(out)) != c.want {
				w.Errorf("(%d, %d]: counted %d, exported %d, want %d", c.after, c.upto, n, len(out), c.want)
			}
		}
	})
}

// unsealedAtOnce: bodies from before there were checksums are looked at once more. Many
// readers at once must not wait for each other's connections for ever.
func (s suite) unsealedAtOnce(t *testing.T) {
	h := fixture.Harvest{Days: 1}
	s.test(t, "many read bodies without checksums at once", func(w *world) {
		w.Plan(h)
		w.Begin(h).Commit(fixture.Item("a", "x", fixture.Noon), fixture.Item("b", "y", fixture.Noon), fixture.Item("c", "z", fixture.Noon))
		for _, id := range []string{"a", "b", "c"} {
			key := record.KeyOf(id)
			var payload []byte
			w.Must(w.DB.SQL.QueryRow("SELECT payload FROM ing_record_body WHERE id_hash = ?", key[:]).Scan(&payload))
			w.Exec("UPDATE ing_record_body SET payload = ?, codec = 'plain' WHERE id_hash = ?", payload[:len(payload)-4], key[:])
		}
		upto := w.Mark()
		var readers sync.WaitGroup
		for range 64 {
			readers.Go(func() {
				events, err := w.Store.PendingEvents(w.Ctx, event.DatasetQueue{DatasetID: 1, Source: "crossref", Endpoint: "works"}, 10, 1<<20, &event.Room{})
				if err != nil || len(events) != 3 {
					w.Errorf("%d events, %v", len(events), err)
				}
				rows := 0
				_, _, err = w.Store.ExportPage(w.Ctx, export.Range{DatasetID: upto.DatasetID, Upto: upto.Batch}, 0, func(*export.Row) error { rows++; return nil })
				if err != nil || rows != 3 {
					w.Errorf("%d rows, %v", rows, err)
				}
				if _, err := w.Store.Records(w.Ctx, "crossref", "works", nil, 10); err != nil {
					w.Error(err)
				}
				if _, err := w.Store.Box(w.Ctx, upto.Batch); err != nil {
					w.Error(err)
				}
				if _, _, err := w.Store.CheckBodies(w.Ctx, -1, new(integrity.Proven)); err != nil {
					w.Error(err)
				}
			})
		}
		readers.Wait()
	})
}

func (s suite) damagedRejects(t *testing.T) {
	h := fixture.Harvest{Days: 1}
	s.test(t, "an item of quarantine", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		page := a.Page()
		page.Rejects, page.Seen = []record.Reject{{Reason: record.MissingID, Raw: []byte(`{"title":"x"}`), FetchAt: fixture.Noon}}, 1
		_, err := w.Store.CommitBatch(w.Ctx, page)
		w.Must(err)
		id := w.Number("SELECT MAX(id) FROM ing_quarantine")
		_, err = w.Store.RejectItem(w.Ctx, id)
		w.Must(err)
		w.Exec("UPDATE ing_quarantine SET raw = ?", []byte(`{"title":"y"}`))
		if _, err = w.Store.RejectItem(w.Ctx, id); !errors.Is(err, fault.ErrDamaged) {
			w.Errorf("show: %v", err)
		}
		if _, err = w.Store.Quarantine(w.Ctx, "crossref", 0, 10); !errors.Is(err, fault.ErrDamaged) {
			w.Errorf("list: %v", err)
		}
	})
}
