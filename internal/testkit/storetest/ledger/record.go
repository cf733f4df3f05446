package ledger

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/klauspost/compress/s2"

	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// beforeShortRows is the schema of programs that stored all 32 bytes of the hash of a content.
const beforeShortRows = 50

func (s suite) recordHistory(t *testing.T) {
	h := fixture.Harvest{Days: 1}
	s.bare(t, "records of older programs are known by the hash of their content after the upgrade", func(w *world) {
		older := w.DB.Open(w.T, store.Options{Clock: w.Clock.Read, Schema: beforeShortRows})
		if _, err := older.Migrate(w.Ctx); err != nil {
			w.Fatal(err)
		}
		sum := sha256.Sum256([]byte("x"))
		for i, id := range []string{"same", "changed", "later"} {
			key := record.KeyOf(id)
			w.Exec(`INSERT INTO ing_record (dataset_id, id_hash, provider_id, updated_at, source_version, content_hash, fetch_at, version, body_id, state_code, expr_id, mapping_id, merged_into,
  refresh_checked_at, missing_since, opened_at, changed_at) VALUES (1,?,?,?,7,?,?,4,?,'ACTIVE',1,1,'into',11,12,13,14)`, key[:], id, fixture.Noon.UnixMicro(), sum[:], fixture.Noon.Add(time.Hour).UnixMicro(), i+1)
		}
		rows := fixture.TableRows(w.T, w.DB.SQL, "ing_record")
		if _, err := w.Store.Migrate(w.Ctx); err != nil {
			w.Fatal(err)
		}
		key := record.KeyOf("later") // a process of an older program may still store one
		w.Exec("UPDATE ing_record SET content_hash = ?", sum[:])
		if lost := fixture.Only(rows, fixture.TableRows(w.T, w.DB.SQL, "ing_record")); len(lost) > 0 {
			w.Errorf("the upgrade changed %v", lost)
		}
		w.Exec("UPDATE ing_record SET content_hash = ? WHERE id_hash <> ?", sum[:16], key[:])
		w.Plan(h)
		got := w.Begin(h).Commit(fixture.Item("same", "x", fixture.Noon), fixture.Item("changed", "y", fixture.Noon.Add(fixture.Day)), fixture.Item("later", "x", fixture.Noon)).Stats
		if got.Unchanged != 2 || got.Updated != 1 || got.Inserted != 0 {
			w.Errorf("%+v", got)
		}
		if n := w.Number("SELECT COUNT(*) FROM ing_record WHERE LENGTH(content_hash) = 16"); n != 2 {
			w.Errorf("%d hashes are short", n)
		}
	})
	s.test(t, "a record is stored as it came", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		in := fixture.Item("10.1/a", "content", fixture.Noon)
		in.SourceVersion = 7
		a.Commit(in)
		got, ok := w.Record("10.1/a")
		if !ok || got.Id != "10.1/a" || !got.Stamp().Equal(fixture.Noon) || got.Fetched != in.FetchAt.UnixMicro() || !bytes.Equal(got.Content, in.ContentHash[:]) ||
			got.Version != 1 || got.State != "ACTIVE" || got.Prev.Valid || string(got.Payload) != "content" || got.Fields.String != `{"title":"content"}` {
			w.Errorf("stored %+v", got)
		}
		if n := w.Number("SELECT source_version FROM ing_record"); n != 7 {
			w.Errorf("source version %d", n)
		}
		if n := w.Number("SELECT expr_id FROM ing_record"); n != a.Work.ExprID {
			w.Errorf("expression %d, want %d", n, a.Work.ExprID)
		}
		want := record.EventKey("crossref", "works", "10.1/a", 1)
		if n := w.Number("SELECT COUNT(*) FROM ing_outbox_message WHERE dedup_key = ? AND channel = 'records' AND status_code = 'PENDING'", want[:]); n != 1 {
			w.Errorf("%d events with the record's key", n)
		}
	})
	s.test(t, "records of one page keep the instant and the mapping that each came with", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		var page []record.Incoming
		for i := range 130 {
			in := fixture.Item(fmt.Sprintf("id %d", i), "content", fixture.Noon)
			in.FetchAt, in.MappingID = fixture.Noon.Add(time.Duration(i%2)*time.Second), int64(1+i%3)
			page = append(page, in)
		}
		a.Commit(page...)
		alike := fixture.Item("alike", "content", fixture.Noon)
		a.Commit(alike, fixture.Item("alike too", "content", fixture.Noon))
		for _, in := range append(page, alike) {
			if got, ok := w.Record(in.ProviderID); !ok || got.Fetched != in.FetchAt.UnixMicro() {
				w.Errorf("%s was fetched at %d, want %d", in.ProviderID, got.Fetched, in.FetchAt.UnixMicro())
			}
			if n := w.Number("SELECT mapping_id FROM ing_record WHERE provider_id = ?", in.ProviderID); n != in.MappingID {
				w.Errorf("%s has mapping %d, want %d", in.ProviderID, n, in.MappingID)
			}
		}
		if n := w.Number("SELECT COUNT(*) FROM ing_record WHERE dataset_id = ? AND expr_id = ? AND opened_at = ? AND state_code = 'ACTIVE' AND version = 1", a.Work.DatasetID, a.Work.ExprID, w.Clock.Read().UnixMicro()); n != 132 {
			w.Errorf("%d records have what all have in common", n)
		}
	})
	s.test(t, "versions form a chain down to the first", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		var contents []string
		for v := range 5 {
			content := fmt.Sprintf("content %d", v+1)
			contents = append(contents, content)
			a.Commit(fixture.Item("other", "x", fixture.Noon), fixture.Item("id", content, fixture.Noon.Add(time.Duration(v)*fixture.Day)))
		}
		head, _ := w.Record("id")
		if head.Version != 5 || head.BodyVersion != 5 {
			w.Errorf("head %+v", head)
		}
		body := head.Body
		for v := 5; v >= 1; v-- {
			stored := w.Version(body)
			payload, _, err := stored.Open()
			w.Must(err)
			if string(payload) != contents[v-1] || int(stored.Version) != v {
				w.Errorf("version %d: body %d %q", v, stored.Version, payload)
			}
			body = stored.Prev
		}
		if body != 0 {
			w.Errorf("the first version points at body %d", body)
		}
		w.eventsMatchBodies()
	})
	s.test(t, "older content never comes back", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		a.Commit(fixture.Item("id", "new", fixture.Noon.Add(fixture.Day)))
		a.Commit(fixture.Item("id", "old", fixture.Noon))
		if got, _ := w.Record("id"); string(got.Payload) != "new" || got.Version != 1 {
			w.Errorf("stored %+v", got)
		}
	})
	s.test(t, "an unchanged record follows its stamp and nothing else", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		a.Commit(fixture.Item("id", "x", fixture.Noon))
		before, _ := w.Record("id")
		a.Commit(fixture.Item("id", "x", fixture.Noon.Add(fixture.Day)))
		after, _ := w.Record("id")
		if !after.Stamp().Equal(fixture.Noon.Add(fixture.Day)) {
			w.Errorf("stamp %v", after.Stamp())
		}
		if after.Fetched <= before.Fetched {
			w.Errorf("asked for at %d, then at %d: the later answer is not remembered", before.Fetched, after.Fetched)
		}
		after.Updated, after.Fetched = before.Updated, before.Fetched
		if fmt.Sprint(after) != fmt.Sprint(before) {
			w.Errorf("the touch rewrote %+v as %+v", before, after)
		}
	})
	s.test(t, "without a date the answer that was asked for last wins", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		undated := func(text string, asked time.Time) record.Incoming {
			in := fixture.Item("id", text, fixture.Noon)
			in.UpdatedAt, in.FetchAt = time.Time{}, asked
			return in
		}
		a.Commit(undated("x", fixture.Noon))
		a.Commit(undated("x", fixture.Noon.Add(3*time.Hour))) // unchanged, but known to hold then
		a.Commit(undated("late", fixture.Noon.Add(time.Hour)))
		if got, _ := w.Record("id"); string(got.Payload) != "x" || got.Version != 1 {
			w.Errorf("an answer that came late overwrote a newer one: %+v", got)
		}
		a.Commit(undated("y", fixture.Noon.Add(4*time.Hour)))
		if got, _ := w.Record("id"); string(got.Payload) != "y" || got.Version != 2 || got.Updated.Valid {
			w.Errorf("stored %+v", got)
		}
	})
	s.test(t, "a removed record is a tombstone that may come back", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		a.Commit(fixture.Item("id", "x", fixture.Noon))
		a.Commit(fixture.Gone("id", fixture.Noon.Add(fixture.Day)))
		if got, _ := w.Record("id"); got.State != "GONE" || got.Version != 2 || len(got.Payload) != 0 || !got.Prev.Valid {
			w.Errorf("removed: %+v", got)
		}
		a.Commit(fixture.Item("id", "x", fixture.Noon)) // an older page
		if got, _ := w.Record("id"); got.State != "GONE" {
			w.Errorf("an older page brought it back: %+v", got)
		}
		a.Commit(fixture.Item("id", "x", fixture.Noon.Add(2*fixture.Day)))
		if got, _ := w.Record("id"); got.State != "ACTIVE" || got.Version != 3 || string(got.Payload) != "x" {
			w.Errorf("back: %+v", got)
		}
		a.Commit(fixture.Gone("unknown", fixture.Noon))
		if got, ok := w.Record("unknown"); !ok || got.State != "GONE" || got.Version != 1 {
			w.Errorf("the deletion of something never stored: %+v", got)
		}
		w.eventsMatchBodies()
	})
	s.test(t, "datasets have ids of their own", func(w *world) {
		for _, source := range []string{"one", "two"} {
			h := fixture.Harvest{Source: source, Days: 1}
			w.Plan(h)
			if got := w.Begin(h).Commit(fixture.Item("id", source, fixture.Noon)); got.Stats.Inserted != 1 {
				w.Errorf("%s: %+v", source, got.Stats)
			}
		}
		w.eventsMatchBodies()
	})
	s.test(t, "a record without a stamp is stored without one", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		in := fixture.Item("id", "x", time.Time{})
		in.FetchAt = fixture.Noon
		a.Commit(in)
		if got, _ := w.Record("id"); got.Updated.Valid {
			w.Errorf("stamp %v, want none", got.Stamp())
		}
		in = fixture.Item("id", "y", time.Time{})
		in.FetchAt = fixture.Noon.Add(time.Second)
		if got := a.Commit(in); got.Stats.Updated != 1 {
			w.Errorf("later reading: %+v", got.Stats)
		}
	})
	s.test(t, "long payloads come back byte by byte", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		noise := rand.NewChaCha8([32]byte{1})
		for _, size := range []int{0, 1, 255, 256, 257, 5000, 1 << 20} {
			id := fmt.Sprintf("size-%d", size)
			in := fixture.Item(id, id, fixture.Noon)
			in.Payload = make([]byte, size)
			_, _ = noise.Read(in.Payload[:size/2])
			a.Commit(in)
			got, _ := w.Record(id)
			if !bytes.Equal(plain(w, got), in.Payload) {
				w.Errorf("%d bytes came back as %d, stored with codec %s", size, len(got.Payload), got.Codec)
			}
		}
	})
	// A store may look at the heads before it compresses; whatever it guesses
	// there, each version has its own payload.
	s.test(t, "payloads are right after pages that changed nothing", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		version := func(id string, v int) record.Incoming {
			return fixture.Item(id, fixture.Long(fmt.Sprintf("%s %d ", id, v), 100), fixture.Noon.Add(time.Duration(v)*fixture.Day))
		}
		for _, v := range []int{1, 1, 1} { // stored, then quiet
			a.Commit(version("a", v), version("b", v), version("c", v), version("d", v))
		}
		a.Commit(version("a", 1), version("b", 2), fixture.Gone("c", fixture.Noon.Add(3*fixture.Day)), version("d", 0), version("e", 1), version("f", 1))
		for id, v := range map[string]int{"a": 1, "b": 2, "d": 1, "e": 1, "f": 1} {
			if got, ok := w.Record(id); !ok || !bytes.Equal(plain(w, got), version(id, v).Payload) {
				w.Errorf("%s is not what its version %d was", id, v)
			}
		}
		w.eventsMatchBodies()
	})
	s.test(t, "a page larger than the server's packets fits", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		noise := rand.NewChaCha8([32]byte{2})
		var page []record.Incoming
		for i := range 120 {
			in := fixture.Item(fmt.Sprintf("large-%d", i), "", fixture.Noon)
			in.Payload = make([]byte, 200_000) // 24 MB together, and noise does not compress
			_, _ = noise.Read(in.Payload)
			in.ContentHash = record.DigestOf(in.Payload)
			page = append(page, in)
		}
		a.Commit(page...)
		last := page[len(page)-1]
		if got, ok := w.Record(last.ProviderID); !ok || !bytes.Equal(plain(w, got), last.Payload) {
			w.Error("the last record did not come back as sent")
		}
	})
}

func plain(w *world, r fixture.Stored) []byte {
	w.Helper()
	if r.Codec == "plain" {
		return r.Payload
	}
	out, err := s2.Decode(nil, r.Payload)
	w.Must(err)
	return out
}
