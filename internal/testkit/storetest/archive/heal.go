package archive

import (
	"errors"
	"maps"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/integrity"
	"github.com/patra-ingest/patra/internal/driver/store/bodies"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// contents reads what every version holds.
func (w *world) contents() map[int64]integrity.Content {
	w.Helper()
	out := map[int64]integrity.Content{}
	for after, end := int64(-1), false; !end; {
		var page []bodies.Stored
		var err error
		page, after, end, err = bodies.ReadRange(w.Ask, bodies.Range{After: after, Upto: math.MaxInt64 - 1, Most: 100, Part: bodies.WholePart})
		w.Must(err)
		for i := range page {
			item, _, err := page[i].Open()
			w.Must(err)
			out[page[i].ID] = integrity.Content{Item: item, Fields: page[i].Fields}
		}
	}
	return out
}

// brokenFrame makes a database of one frame and damages its content.
func (w *world) brokenFrame(h fixture.Harvest) (frame int64, content map[int64]integrity.Content) {
	w.Helper()
	w.FrameLeast(1)
	w.Plan(h)
	want := history{}
	w.Begin(h).Commit(want.item("a", 0, 500, fixture.Noon), want.item("b", 0, 600, fixture.Noon))
	content = w.contents()
	frame = w.Number("SELECT MIN(frame_id) FROM ing_body_frame")
	w.damage("a byte of the content", frame)
	return frame, content
}

// healing holds a store to this: a frame is healed to the last byte or not at all, and
// what is given up is asked for again.
func (s suite) healing(t *testing.T) {
	h := fixture.Harvest{Days: 1}
	mended := map[string]integrity.Remedy{
		"a byte of the content": integrity.Healed, "the content of another": integrity.Healed, "a byte of the hash": integrity.Mended, "another codec": integrity.Mended,
		"another count": integrity.Mended, "an end before it": integrity.Mended, "an end far behind it": integrity.Mended,
	}
	for _, name := range slices.Sorted(maps.Keys(frameDamage)) {
		s.test(t, "healing: "+name, func(w *world) {
			_, want := w.twoFrames()
			content := w.contents()
			frame := w.Number("SELECT MIN(frame_id) FROM ing_body_frame")
			before := w.frameRow(frame)
			w.damage(name, frame)
			found, _, _, err := w.Store.BrokenFrames(w.Ctx, -1)
			w.Must(err)
			remedy, healable := mended[name]
			if len(found) != 1 || found[0].ID != frame || found[0].Mendable != (remedy == integrity.Mended) || (len(found[0].Versions) == 2) != healable {
				w.Fatalf("found %+v", found)
			}
			other := maps.Clone(content)
			for id, c := range other {
				c.Item = append([]byte(" "), c.Item[1:]...)
				other[id] = c
			}
			if remedy != integrity.Mended {
				w.Unchanged("other content, or none", func() {
					for _, wrong := range []map[int64]integrity.Content{other, nil} {
						if _, err := w.Store.HealFrame(w.Ctx, frame, wrong, fixture.Tester); !errors.Is(err, fault.ErrInvalid) {
							w.Errorf("healed from what it was not: %v", err)
						}
					}
				})
			}
			got, err := w.Store.HealFrame(w.Ctx, frame, content, fixture.Tester)
			if !healable {
				if !errors.Is(err, fault.ErrInvalid) {
					w.Errorf("%v, %v", got, err)
				}
				return
			}
			w.Must(err)
			if got != remedy || !reflect.DeepEqual(w.frameRow(frame), before) {
				w.Errorf("it was %s, and is not what it was", got)
			}
			w.holds(want, "after")
			if n := w.Number("SELECT COUNT(*) FROM ing_audit_log WHERE action = 'db.heal'"); n != 1 {
				w.Errorf("%d rows of the audit log", n)
			}
			w.Unchanged("healing once more", func() {
				_, err := w.Store.HealFrame(w.Ctx, frame, content, fixture.Tester)
				w.Must(err)
			})
		})
	}
	s.test(t, "what is given up is stored again, and then its frame goes", func(w *world) {
		w.FrameLeast(1)
		w.Plan(h)
		a := w.Begin(h)
		want := history{}
		one, two := want.item("a", 0, 500, fixture.Noon), want.item("b", 0, 600, fixture.Noon)
		a.Commit(one, two)
		a.Commit(want.item("c", 0, 700, fixture.Noon))
		frame := w.Number("SELECT MIN(frame_id) FROM ing_body_frame")
		w.damage("a byte of the entries", frame)
		for range 2 {
			current, sources, remedy, err := w.Store.AskFrameAgain(w.Ctx, frame, fixture.Tester)
			w.Must(err)
			if current != 2 || remedy != integrity.AskAgain || len(sources) != 1 || sources[0] != "crossref" {
				w.Errorf("%d of %v: %s", current, sources, remedy)
			}
		}
		one.FetchAt, two.FetchAt = one.FetchAt.Add(time.Hour), two.FetchAt.Add(time.Hour)
		a.Commit(one, two) // the source says the same as before
		_, _, remedy, err := w.Store.AskFrameAgain(w.Ctx, frame, fixture.Tester)
		w.Must(err)
		if remedy != integrity.GivenUp || w.Number("SELECT COUNT(*) FROM ing_body_frame WHERE frame_id = ?", frame) != 0 {
			w.Errorf("%s, and the frame is still there", remedy)
		}
		for _, id := range []string{"a", "b"} {
			versions := want[id]
			want.add(id, versions[0].lived)
			want[id] = want[id][1:]
		}
		w.holds(want, "after")
		if n := w.Number("SELECT COUNT(*) FROM ing_audit_log WHERE action = 'db.heal'"); n != 2 {
			w.Errorf("%d rows of the audit log", n)
		}
	})
}
