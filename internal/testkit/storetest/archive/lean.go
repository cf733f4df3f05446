package archive

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store/bodies"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// answerPage makes a page whose answer is to be kept without its items.
func (w *world) answerPage(a *fixture.Attempt, records ...record.Incoming) (page ingest.BatchCommit, answer []byte) {
	w.Helper()
	answer = []byte(`{"total":3,"items":[`)
	for i := range records {
		if i > 0 {
			answer = append(answer, ',')
		}
		records[i].Offset = len(answer)
		answer = append(answer, records[i].Payload...)
	}
	answer = append(answer, `],"next":"x"}`...)
	page = a.Page(records...)
	sum := sha256.Sum256(answer)
	page.Raw, page.Rest, page.AnswerBytes = hex.EncodeToString(sum[:]), w.Store.LeaveOutItems(records, answer), len(answer)
	if page.Rest == nil {
		w.Fatal("the items lie in the answer, and were not found there")
	}
	return page, answer
}

// leanItems are records of an answer. Their keys are in another order than their places.
func leanItems(n int, stamp time.Time) (out []record.Incoming) {
	for i := range n {
		out = append(out, fixture.Item(fmt.Sprint("id-", i), fmt.Sprintf(`{"id":%d,"text":%q}`, i, fixture.Long(fmt.Sprint(i), 40+i)), stamp))
	}
	return out
}

// joins holds an answer against what comes of it.
func (w *world) joins(hash string, want []byte, when string) {
	w.Helper()
	if got, err := w.Store.LeanAnswer(w.Ctx, hash); err != nil || !bytes.Equal(got, want) {
		w.Errorf("%s: %.200q, %v; want %.200q", when, got, err, want)
	}
}

// leanAnswers: an answer that is kept without its items comes back to the last byte, wherever these are stored
// meanwhile, or not at all.
func (s suite) leanAnswers(t *testing.T) {
	h := fixture.Harvest{Days: 1}
	for name, least := range map[string]int{"in frames": 1, "in rows": -1} {
		s.test(t, "comes back from items "+name, func(w *world) {
			w.FrameLeast(least)
			w.Plan(h)
			a := w.Begin(h)
			page, answer := w.answerPage(a, leanItems(7, fixture.Noon)...)
			batch := a.Store(page).BatchID
			w.joins(page.Raw, answer, "stored")
			if n, err := w.Store.LeanAnswerBytes(w.Ctx, page.Raw); err != nil || n != int64(len(page.Rest)) {
				w.Errorf("%d bytes, %v", n, err)
			}
			if b, err := w.Store.Batch(w.Ctx, batch); err != nil || b.Raw != page.Raw {
				w.Errorf("the batch refers to %q, %v", b.Raw, err)
			}
			a.Commit(leanItems(7, fixture.Noon.Add(fixture.Day))[2:4]...) // newer versions of some
			w.joins(page.Raw, answer, "with newer versions")
			upto, err := w.Store.FoldUpto(w.Ctx, time.Second)
			w.Must(err)
			_, err = w.Store.FoldBodies(w.Ctx, upto, 3)
			w.Must(err)
			w.joins(page.Raw, answer, "folded in part")
			_, err = w.Store.FoldBodies(w.Ctx, upto, 100)
			w.Must(err)
			_, err = w.Store.RepackFrames(w.Ctx, upto, 100)
			w.Must(err)
			w.joins(page.Raw, answer, "repacked")
		})
	}
	s.test(t, "is refused where an item was stored before", func(w *world) {
		w.FrameLeast(1)
		w.Plan(h)
		a := w.Begin(h)
		items := leanItems(3, fixture.Noon)
		a.Commit(items[1])
		page, _ := w.answerPage(a, items...)
		w.Unchanged("an item is known", func() {
			_, err := w.Store.CommitBatch(w.Ctx, page)
			w.Refuses(err, ingest.ErrItemsStored, "an item is known")
		})
		page.Rest = nil // it is kept whole then
		redone := w.Store.Redone()
		a.Store(page)
		if n := w.Store.Redone() - redone; n != 0 {
			w.Errorf("the batch was redone %d times: what was expected of it had proved wrong before", n)
		}
		_, err := w.Store.LeanAnswer(w.Ctx, page.Raw)
		w.Refuses(err, fault.ErrNotFound, "it was kept whole")
	})
	s.test(t, "is refused where an id belongs to another record", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		items := leanItems(3, fixture.Noon)
		a.Commit(items[1])
		w.Exec("UPDATE ing_record SET provider_id = 'other'")
		page, _ := w.answerPage(a, items...)
		_, err := w.Store.CommitBatch(w.Ctx, page)
		w.Refuses(err, ingest.ErrItemsStored, "a collision")
	})
	s.test(t, "is missing when an item was removed", func(w *world) {
		w.FrameLeast(-1)
		w.Plan(h)
		a := w.Begin(h)
		for i, at := range []int{0, 1, 2} {
			items := leanItems(3, fixture.Noon.Add(time.Duration(i)*time.Hour))
			for n := range items {
				items[n].ProviderID = fmt.Sprint(i, "-", n)
			}
			page, _ := w.answerPage(a, items...)
			batch := a.Store(page).BatchID
			if w.Exec("DELETE FROM ing_record_body WHERE body_id = ?", bodies.ID(batch, at)) != 1 {
				w.Fatal("nothing was removed")
			}
			_, err := w.Store.LeanAnswer(w.Ctx, page.Raw)
			w.Refuses(err, fault.ErrNotFound, fmt.Sprint("item ", at))
		}
	})
	s.test(t, "is missing when a version of a frame was pruned", func(w *world) {
		w.FrameLeast(1)
		w.Plan(h)
		a := w.Begin(h)
		page, answer := w.answerPage(a, leanItems(5, fixture.Noon)...)
		a.Store(page)
		w.Exec("DELETE FROM ing_outbox_message") // nothing holds a version any more
		newer := leanItems(5, fixture.Noon.Add(time.Hour))[3]
		newer.ContentHash = record.DigestOf([]byte("newer"))
		a.Commit(newer)
		w.Exec("DELETE FROM ing_outbox_message")
		w.joins(page.Raw, answer, "before")
		for after, end := int64(-1), false; !end; {
			var err error
			_, after, end, err = w.Store.PruneVersions(w.Ctx, fixture.Noon.Add(100*fixture.Day), 1, after, 100)
			w.Must(err)
		}
		_, err := w.Store.LeanAnswer(w.Ctx, page.Raw)
		w.Refuses(err, view.ErrItemsRemoved, "the answer")
		w.Refuses(err, fault.ErrNotFound, "the answer")
		_, err = w.Store.LeanAnswerBytes(w.Ctx, page.Raw)
		w.Refuses(err, view.ErrItemsRemoved, "its size")
	})
	s.test(t, "is stored once by those who commit its batch at the same time", func(w *world) {
		w.FrameLeast(1)
		w.Plan(h)
		a := w.Begin(h)
		page, answer := w.answerPage(a, leanItems(40, fixture.Noon)...)
		stores := w.Handles(3)
		results := make([]ingest.BatchResult, 6)
		w.Together(len(results), func(i int) (err error) {
			results[i], err = stores[i%len(stores)].CommitBatch(w.Ctx, page)
			return err
		})
		for _, r := range results {
			if r.BatchID != results[0].BatchID || r.Stats != results[0].Stats {
				w.Errorf("%+v and %+v", r, results[0])
			}
		}
		w.joins(page.Raw, answer, "stored")
	})
	s.test(t, "is not tried where the last batch had items that were stored before", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		items := leanItems(4, fixture.Noon)
		a.Commit(items[0])
		a.Commit(items[:2]...)
		if rest := w.Store.LeaveOutItems(items[:1], items[0].Payload); rest != nil {
			w.Errorf("%q is left", rest)
		}
		a.Commit(items[2:]...)
		if rest := w.Store.LeaveOutItems(items[:1], items[0].Payload); rest == nil {
			w.Error("it is not tried any more, although all items were new")
		}
	})
	s.test(t, "is damaged, not something else", func(w *world) {
		w.FrameLeast(1)
		w.Plan(h)
		a := w.Begin(h)
		page, answer := w.answerPage(a, leanItems(3, fixture.Noon)...)
		batch := a.Store(page).BatchID
		wrong := append(slices.Clone(page.Rest[:5]), append([]byte{page.Rest[5] ^ 1}, page.Rest[6:]...)...)
		for _, change := range []struct {
			name  string
			value any
		}{{"byte_count", len(answer) + 1}, {"byte_count", -1}, {"byte_count", 1 << 40}, {"item_count", 2}, {"item_count", -1}, {"rest", wrong}, {"rest", []byte{}}} {
			name, value := change.name, change.value
			var before any
			w.Must(w.DB.SQL.QueryRow("SELECT "+name+" FROM ing_lean_answer WHERE batch_id = ?", batch).Scan(&before))
			w.Exec("UPDATE ing_lean_answer SET "+name+" = ?", value)
			_, err := w.Store.LeanAnswer(w.Ctx, page.Raw)
			w.Refuses(err, fault.ErrDamaged, name)
			w.Exec("UPDATE ing_lean_answer SET "+name+" = ?", before)
			w.joins(page.Raw, answer, "as it was")
		}
		w.damage("a byte of the content", w.Number("SELECT MIN(frame_id) FROM ing_body_frame"))
		_, err := w.Store.LeanAnswer(w.Ctx, page.Raw)
		w.Refuses(err, fault.ErrDamaged, "the frame of its items")
	})
	s.test(t, "goes when it is old, and its items stay", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		old, _ := w.answerPage(a, leanItems(2, fixture.Noon)...)
		a.Store(old)
		w.Clock.Advance(20 * time.Second)
		items := leanItems(3, fixture.Noon)[2:]
		young, answer := w.answerPage(a, items...)
		a.Store(young)
		for range 2 {
			_, err := w.Store.RemoveLeanAnswers(w.Ctx, 10*time.Second)
			w.Must(err)
		}
		_, err := w.Store.LeanAnswer(w.Ctx, old.Raw)
		w.Refuses(err, fault.ErrNotFound, "the old one")
		w.joins(young.Raw, answer, "the young one")
		if n := len(w.Versions()); n != 3 {
			w.Errorf("%d versions are left", n)
		}
	})
	s.test(t, "no hash is no answer", func(w *world) {
		for _, hash := range []string{"", "x", "0f", "../../etc"} {
			_, err := w.Store.LeanAnswer(w.Ctx, hash)
			w.Refuses(err, fault.ErrInvalid, hash)
		}
	})
}
