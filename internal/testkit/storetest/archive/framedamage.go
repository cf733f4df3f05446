package archive

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/event"
	"github.com/patra-ingest/patra/internal/core/export"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/integrity"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store/bodies"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// frameDamage are changes to a frame behind the store's back.
var frameDamage = map[string]string{
	"a byte of the content":  "UPDATE ing_body_frame SET content = ? WHERE frame_id = ?",
	"a byte of the entries":  "UPDATE ing_body_frame SET entries = ? WHERE frame_id = ?",
	"a byte of the hash":     "UPDATE ing_body_frame SET hash = ? WHERE frame_id = ?",
	"another codec":          "UPDATE ing_body_frame SET codec = 'plain' WHERE frame_id = ?",
	"another count":          "UPDATE ing_body_frame SET version_count = version_count + 1 WHERE frame_id = ?",
	"an end before it":       "UPDATE ing_body_frame SET last_body_id = frame_id - 1 WHERE frame_id = ?",
	"an end far behind it":   "UPDATE ing_body_frame SET last_body_id = last_body_id * 1000 WHERE frame_id = ?",
	"the content of another": "UPDATE ing_body_frame SET content = (SELECT y.content FROM (SELECT content FROM ing_body_frame ORDER BY frame_id DESC LIMIT 1) y) WHERE frame_id = ?",
}

// damagedFrames: what is in a damaged frame is never handed out, what is beside it is, and
// the check names it.
func (s suite) damagedFrames(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(frameDamage)) {
		s.test(t, "damage: "+name, func(w *world) {
			a, want := w.twoFrames()
			w.holds(want, "before")
			frame := w.Number("SELECT MIN(frame_id) FROM ing_body_frame")
			w.damage(name, frame)
			w.refusesFrame(a, frame)
		})
	}
}

// twoFrames stores two records in one frame and a third in another.
func (w *world) twoFrames() (a *fixture.Attempt, want history) {
	w.Helper()
	h := fixture.Harvest{Days: 1}
	w.FrameLeast(1)
	w.Plan(h)
	a, want = w.Begin(h), history{}
	a.Commit(want.item("a", 0, 500, fixture.Noon), want.item("b", 0, 600, fixture.Noon))
	a.Commit(want.item("c", 0, 700, fixture.Noon))
	return a, want
}

// damage changes a frame behind the store's back.
func (w *world) damage(name string, frame int64) {
	w.Helper()
	args := []any{frame}
	if query := frameDamage[name]; strings.Contains(query, " = ? WHERE") {
		column := strings.Fields(query)[3]
		var bytes []byte
		w.Must(w.DB.SQL.QueryRow("SELECT "+column+" FROM ing_body_frame WHERE frame_id = ?", frame).Scan(&bytes))
		bytes[len(bytes)/2] ^= 4
		args = []any{bytes, frame}
	}
	if w.Exec(frameDamage[name], args...) != 1 {
		w.Fatal("nothing was changed")
	}
}

// damagedPrune: a damaged frame is left alone and told, what is beside it is pruned, and
// what was held back goes once the frame is whole again.
func (s suite) damagedPrune(t *testing.T) {
	h := fixture.Harvest{Days: 1}
	for _, name := range slices.Sorted(maps.Keys(frameDamage)) {
		s.test(t, "pruning goes on beside damage: "+name, func(w *world) {
			w.FrameLeast(1)
			w.Plan(h)
			a := w.Begin(h)
			want := history{}
			for round := range 4 { // a frame each, and every one replaces what is in the one before
				at := fixture.Noon.Add(time.Duration(round) * time.Hour)
				page := []record.Incoming{want.item("a", round, 500, at), want.item("b", round, 600, at)}
				if round != 1 {
					page = append(page, want.item("beside", round, 100, at))
				}
				a.Commit(page...)
			}
			w.Exec("DELETE FROM ing_outbox_message")
			frame := w.Number("SELECT frame_id FROM ing_body_frame ORDER BY frame_id LIMIT 1 OFFSET 1")
			before := w.frameRow(frame)
			w.damage(name, frame)
			damaged := w.frameRow(frame)
			at, named := fixture.Noon.Add(fixture.Day), fmt.Sprintf("frame %d ", frame)
			for run := range 2 {
				done := w.PruneVersions(at, 1)
				if len(done.Damaged) != 1 || !strings.Contains(done.Damaged[0], named) || !strings.Contains(done.Damaged[0], "patra db check") {
					w.Errorf("run %d tells of %q", run, done.Damaged)
				}
				if run == 1 && done.Versions != 0 {
					w.Errorf("the second run removes %d more", done.Versions)
				}
			}
			if got := w.frameRow(frame); !reflect.DeepEqual(got, damaged) {
				w.Error("the damaged frame was changed")
			}
			if key := record.KeyOf("beside"); w.Number("SELECT version FROM ing_record WHERE id_hash = ?", key[:]) != 3 || w.readable(key) != 1 {
				w.Errorf("%d versions are left of a record that has none in the frame", w.readable(key))
			}
			w.Exec("DELETE FROM ing_body_frame WHERE frame_id = ?", frame)
			w.Exec("INSERT INTO ing_body_frame (frame_id, last_body_id, version_count, codec, hash, entries, content) VALUES (?,?,?,?,?,?,?)", before...)
			if done := w.PruneVersions(at, 1); len(done.Damaged) > 0 || done.Versions < 2 {
				w.Errorf("after it was healed: %+v", done)
			}
			for id, versions := range want {
				want[id] = versions[len(versions)-1:]
			}
			w.holds(want, "after all")
		})
	}
}

// readable counts the versions of a record that are not in damaged frames.
func (w *world) readable(key record.Key) (n int) {
	w.Helper()
	for after, end := int64(-1), false; !end; {
		var page []bodies.Stored
		var err error
		page, after, end, err = bodies.ReadRange(w.Ask, bodies.Range{After: after, Upto: math.MaxInt64 - 1, Most: 7, Damaged: true})
		w.Must(err)
		for i := range page {
			if page[i].Unreadable() == nil && page[i].Record == key {
				n++
			}
		}
	}
	return n
}

// frameRow returns all that stands in a row.
func (w *world) frameRow(frame int64) []any {
	w.Helper()
	var id, last, count int64
	var codec string
	var hash, entries, content []byte
	w.Must(w.DB.SQL.QueryRow("SELECT frame_id, last_body_id, version_count, codec, hash, entries, content FROM ing_body_frame WHERE frame_id = ?", frame).
		Scan(&id, &last, &count, &codec, &hash, &entries, &content))
	return []any{id, last, count, codec, hash, entries, content}
}

func (w *world) refusesFrame(a *fixture.Attempt, frame int64) {
	w.Helper()
	named := fmt.Sprintf("frame %d ", frame)
	damaged := func(what string, err error) {
		w.Helper()
		if !errors.Is(err, fault.ErrDamaged) || !strings.Contains(err.Error(), named) {
			w.Errorf("%s: %v", what, err)
		}
	}
	for _, id := range []string{"a", "b", "c"} {
		_, body, err := w.Store.Head(w.Ctx, view.Dataset{ID: 1}, id)
		w.Must(err)
		if _, err = w.Store.VersionsOf(w.Ctx, body, 10); id == "c" {
			w.Must(err)
		} else {
			damaged("versions of "+id, err)
		}
	}
	for _, payload := range []bool{false, true} {
		_, _, err := w.Store.ExportPage(w.Ctx, export.Range{DatasetID: 1, Upto: 100, Payload: payload}, 0, func(*export.Row) error { return nil })
		damaged("export", err)
	}
	_, err := w.Store.Records(w.Ctx, "crossref", "works", nil, 10)
	damaged("records", err)
	events, err := w.Store.PendingEvents(w.Ctx, event.DatasetQueue{DatasetID: 1, Source: "crossref", Endpoint: "works"}, 10, 1<<20, &event.Room{})
	w.Must(err)
	if len(events) != 3 {
		w.Errorf("%d events", len(events))
	}
	for _, e := range events {
		if e.RecordID == "c" {
			if e.NoBody || e.Damaged != nil {
				w.Errorf("the event of c: %+v", e)
			}
			continue
		}
		if damaged("event of "+e.RecordID, e.Damaged); !e.NoBody || len(e.Payload)+len(e.Fields) > 0 {
			w.Errorf("the event of %s is handed out", e.RecordID)
		}
	}
	w.Unchanged("a fill from a damaged version", func() {
		_, err := w.Store.CommitBatch(w.Ctx, a.Page(fixture.Filler("a", `{"more":"x"}`, fixture.Noon.Add(fixture.Day))))
		damaged("fill", err)
	})
	found := w.checked()
	if !slices.ContainsFunc(found, func(d integrity.Damage) bool { return d.Kind == integrity.Body && strings.Contains(d.Text, named) }) {
		w.Errorf("the check does not name the frame: %+v", found)
	}
	if slices.ContainsFunc(found, func(d integrity.Damage) bool { return strings.HasPrefix(d.Where, "c ") || d.Where == "c" }) {
		w.Errorf("the check blames what is beside it: %+v", found)
	}
}
