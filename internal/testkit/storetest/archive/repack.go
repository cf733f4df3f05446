package archive

import (
	"fmt"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// repacking holds a store to this: small frames are joined, and what they hold reads the
// same before, between and after any two steps.
func (s suite) repacking(t *testing.T) {
	h := fixture.Harvest{Days: 1}
	// Frames of 40 batches, most of whose versions were replaced and pruned.
	pruned := func(w *world) history {
		w.Helper()
		w.FrameLeast(1)
		w.Plan(h)
		a := w.Begin(h)
		want := history{}
		for round := range 40 {
			at := fixture.Noon.Add(time.Duration(round) * time.Minute)
			page := []record.Incoming{want.item(fmt.Sprintf("stays%02d", round), round, 5000, at)}
			for i := range 5 {
				page = append(page, want.item(fmt.Sprintf("r%d", i), round, 8000, at))
			}
			a.Commit(page...)
		}
		w.Exec("DELETE FROM ing_outbox_message")
		w.PruneVersions(fixture.Noon.Add(100*fixture.Day), 1)
		for id, versions := range want {
			want[id] = versions[len(versions)-1:]
		}
		w.holds(want, "pruned")
		return want
	}
	s.test(t, "frames that pruning made small are joined step by step and always read the same", func(w *world) {
		want := pruned(w)
		small, err := w.Store.RepackWaiting(w.Ctx)
		w.Must(err)
		if frames := w.Number("SELECT COUNT(*) FROM ing_body_frame"); frames != 40 || small < 39 {
			w.Fatalf("%d frames, %d of them made small", frames, small)
		}
		upto, err := w.Store.FoldUpto(w.Ctx, time.Minute)
		w.Must(err)
		joined := int64(0)
		for end := false; !end; {
			done, err := w.Store.RepackFrames(w.Ctx, upto, 8)
			w.Must(err)
			if joined, end = joined+done.Joined, done.End; done.After > done.Before {
				w.Errorf("%d bytes became %d", done.Before, done.After)
			}
			w.holds(want, fmt.Sprintf("after %d were joined", joined))
			w.apart()
		}
		if frames := w.Number("SELECT COUNT(*) FROM ing_body_frame"); frames > 5 || frames+joined != 40 {
			w.Errorf("%d frames are left of 235 KB, %d were joined", frames, joined)
		}
		if small, err := w.Store.RepackWaiting(w.Ctx); small != 0 || err != nil {
			w.Errorf("%d frames are said to be small, %v", small, err)
		}
		w.Unchanged("joining once more", func() { w.repack(50) })
		w.Exec("UPDATE ing_upkeep_mark SET position = 0 WHERE name = 'repack'")
		if done := w.repack(50); done.Joined != 0 {
			w.Errorf("from the beginning: %+v", done)
		}
	})
	s.test(t, "an export that is under way when frames are joined has each record once", func(w *world) {
		want := pruned(w)
		upto, err := w.Store.FoldUpto(w.Ctx, time.Minute)
		w.Must(err)
		got, err := fixture.ExportRange(w.World, w.Store, 0, w.Mark(), func() {
			_, err := w.Store.RepackFrames(w.Ctx, upto, 8)
			w.Must(err)
		})
		w.Must(err)
		if len(got) != len(want) {
			w.Errorf("%d records of %d", len(got), len(want))
		}
		w.holds(want, "after")
	})
	s.test(t, "a damaged frame stays between those that are joined", func(w *world) {
		pruned(w)
		frame := w.Number("SELECT frame_id FROM ing_body_frame ORDER BY frame_id LIMIT 1 OFFSET 20")
		for _, name := range []string{"a byte of the content", "a byte of the entries"} {
			w.damage(name, frame)
			before := w.frameRow(frame)
			w.Exec("UPDATE ing_upkeep_mark SET position = 0 WHERE name = 'repack'")
			if done := w.repack(8); len(done.Damaged) == 0 {
				w.Errorf("%s: the damage is not told: %+v", name, done)
			}
			if fmt.Sprint(w.frameRow(frame)) != fmt.Sprint(before) {
				w.Errorf("%s: the damaged frame was changed", name)
			}
		}
		if frames := w.Number("SELECT COUNT(*) FROM ing_body_frame"); frames > 8 {
			w.Errorf("%d frames are left", frames)
		}
		w.apart()
	})
}
