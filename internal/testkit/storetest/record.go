package storetest

import (
	"bytes"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/klauspost/compress/s2"

	"github.com/patra-ingest/patra/internal/core/record"
)

// stored is a head with the body it points at.
type stored struct {
	id          string
	updated     sql.NullInt64
	fetched     int64
	content     []byte
	version     int
	body        int64
	state       string
	prev        sql.NullInt64
	payload     []byte
	fields      sql.NullString
	codec       string
	bodyVersion int
}

func (w *world) record(id string) (r stored, found bool) {
	w.Helper()
	key := record.KeyOf(id)
	err := w.db.SQL.QueryRowContext(w.ctx, `SELECT r.provider_id, r.updated_at, r.fetch_at, r.content_hash, r.version, r.body_id, r.state_code,
  b.prev_body_id, b.payload, b.fields, b.codec, b.version FROM ing_record r JOIN ing_record_body b ON b.body_id = r.body_id WHERE r.id_hash = ?`, key[:]).
		Scan(&r.id, &r.updated, &r.fetched, &r.content, &r.version, &r.body, &r.state, &r.prev, &r.payload, &r.fields, &r.codec, &r.bodyVersion)
	if err == sql.ErrNoRows {
		return r, false
	}
	w.must(err)
	r.payload, r.codec = unsealed(r.payload, r.codec)
	return r, true
}

// unsealed takes the checksums off a body: its payload ends with one, its codec with
// another.
func unsealed(payload []byte, codec string) ([]byte, string) {
	kind, sealed := map[string]string{"pl": "plain", "s2": "s2", "zs": "zstd"}[codec[:2]]
	if len(codec) != 8 || !sealed {
		return payload, codec
	}
	return payload[:len(payload)-4], kind
}

func (r stored) stamp() time.Time { return time.UnixMicro(r.updated.Int64).UTC() }

func (s suite) recordHistory(t *testing.T) {
	h := harvest{days: 1}
	s.test(t, "a record is stored as it came", func(w *world) {
		w.plan(h)
		a := w.begin(h)
		in := item("10.1/a", "content", noon)
		in.SourceVersion = 7
		a.commit(in)
		got, ok := w.record("10.1/a")
		if !ok || got.id != "10.1/a" || !got.stamp().Equal(noon) || got.fetched != in.FetchAt.UnixMicro() || !bytes.Equal(got.content, in.ContentHash[:]) ||
			got.version != 1 || got.state != "ACTIVE" || got.prev.Valid || string(got.payload) != "content" || got.fields.String != `{"title":"content"}` {
			w.Errorf("stored %+v", got)
		}
		if n := w.number("SELECT source_version FROM ing_record"); n != 7 {
			w.Errorf("source version %d", n)
		}
		if n := w.number("SELECT expr_id FROM ing_record"); n != a.work.ExprID {
			w.Errorf("expression %d, want %d", n, a.work.ExprID)
		}
		want, err := hex.DecodeString(record.EventKey("crossref", "works", "10.1/a", 1))
		w.must(err)
		if n := w.number("SELECT COUNT(*) FROM ing_outbox_message WHERE dedup_key = ? AND channel = 'records' AND status_code = 'PENDING'", want); n != 1 {
			w.Errorf("%d events with the record's key", n)
		}
	})
	s.test(t, "versions form a chain down to the first", func(w *world) {
		w.plan(h)
		a := w.begin(h)
		var contents []string
		for v := range 5 {
			content := fmt.Sprintf("content %d", v+1)
			contents = append(contents, content)
			a.commit(item("other", "x", noon), item("id", content, noon.Add(time.Duration(v)*day)))
		}
		head, _ := w.record("id")
		if head.version != 5 || head.bodyVersion != 5 {
			w.Errorf("head %+v", head)
		}
		body := sql.NullInt64{Int64: head.body, Valid: true}
		for v := 5; v >= 1; v-- {
			var payload []byte
			var codec string
			var version int
			err := w.db.SQL.QueryRow("SELECT payload, codec, version, prev_body_id FROM ing_record_body WHERE body_id = ?", body.Int64).Scan(&payload, &codec, &version, &body)
			w.must(err)
			if payload, _ = unsealed(payload, codec); string(payload) != contents[v-1] || version != v {
				w.Errorf("version %d: body %d %q", v, version, payload)
			}
		}
		if body.Valid {
			w.Errorf("the first version points at body %d", body.Int64)
		}
		w.eventsMatchBodies()
	})
	s.test(t, "older content never comes back", func(w *world) {
		w.plan(h)
		a := w.begin(h)
		a.commit(item("id", "new", noon.Add(day)))
		a.commit(item("id", "old", noon))
		if got, _ := w.record("id"); string(got.payload) != "new" || got.version != 1 {
			w.Errorf("stored %+v", got)
		}
	})
	s.test(t, "an unchanged record follows its stamp and nothing else", func(w *world) {
		w.plan(h)
		a := w.begin(h)
		a.commit(item("id", "x", noon))
		before, _ := w.record("id")
		a.commit(item("id", "x", noon.Add(day)))
		after, _ := w.record("id")
		if !after.stamp().Equal(noon.Add(day)) {
			w.Errorf("stamp %v", after.stamp())
		}
		if after.fetched <= before.fetched {
			w.Errorf("asked for at %d, then at %d: the later answer is not remembered", before.fetched, after.fetched)
		}
		after.updated, after.fetched = before.updated, before.fetched
		if fmt.Sprint(after) != fmt.Sprint(before) {
			w.Errorf("the touch rewrote %+v as %+v", before, after)
		}
	})
	s.test(t, "without a date the answer that was asked for last wins", func(w *world) {
		w.plan(h)
		a := w.begin(h)
		undated := func(text string, asked time.Time) record.Incoming {
			in := item("id", text, noon)
			in.UpdatedAt, in.FetchAt = time.Time{}, asked
			return in
		}
		a.commit(undated("x", noon))
		a.commit(undated("x", noon.Add(3*time.Hour))) // unchanged, but known to hold then
		a.commit(undated("late", noon.Add(time.Hour)))
		if got, _ := w.record("id"); string(got.payload) != "x" || got.version != 1 {
			w.Errorf("an answer that came late overwrote a newer one: %+v", got)
		}
		a.commit(undated("y", noon.Add(4*time.Hour)))
		if got, _ := w.record("id"); string(got.payload) != "y" || got.version != 2 || got.updated.Valid {
			w.Errorf("stored %+v", got)
		}
	})
	s.test(t, "a removed record is a tombstone that may come back", func(w *world) {
		w.plan(h)
		a := w.begin(h)
		a.commit(item("id", "x", noon))
		a.commit(gone("id", noon.Add(day)))
		if got, _ := w.record("id"); got.state != "GONE" || got.version != 2 || len(got.payload) != 0 || !got.prev.Valid {
			w.Errorf("removed: %+v", got)
		}
		a.commit(item("id", "x", noon)) // an older page
		if got, _ := w.record("id"); got.state != "GONE" {
			w.Errorf("an older page brought it back: %+v", got)
		}
		a.commit(item("id", "x", noon.Add(2*day)))
		if got, _ := w.record("id"); got.state != "ACTIVE" || got.version != 3 || string(got.payload) != "x" {
			w.Errorf("back: %+v", got)
		}
		a.commit(gone("unknown", noon))
		if got, ok := w.record("unknown"); !ok || got.state != "GONE" || got.version != 1 {
			w.Errorf("the deletion of something never stored: %+v", got)
		}
		w.eventsMatchBodies()
	})
	s.test(t, "datasets have ids of their own", func(w *world) {
		for _, source := range []string{"one", "two"} {
			h := harvest{source: source, days: 1}
			w.plan(h)
			if got := w.begin(h).commit(item("id", source, noon)); got.Stats.Inserted != 1 {
				w.Errorf("%s: %+v", source, got.Stats)
			}
		}
		w.eventsMatchBodies()
	})
	s.test(t, "a record without a stamp is stored without one", func(w *world) {
		w.plan(h)
		a := w.begin(h)
		in := item("id", "x", time.Time{})
		in.FetchAt = noon
		a.commit(in)
		if got, _ := w.record("id"); got.updated.Valid {
			w.Errorf("stamp %v, want none", got.stamp())
		}
		in = item("id", "y", time.Time{})
		in.FetchAt = noon.Add(time.Second)
		if got := a.commit(in); got.Stats.Updated != 1 {
			w.Errorf("later reading: %+v", got.Stats)
		}
	})
	s.test(t, "long payloads come back byte by byte", func(w *world) {
		w.plan(h)
		a := w.begin(h)
		noise := rand.NewChaCha8([32]byte{1})
		for _, size := range []int{0, 1, 255, 256, 257, 5000, 1 << 20} {
			id := fmt.Sprintf("size-%d", size)
			in := item(id, id, noon)
			in.Payload = make([]byte, size)
			_, _ = noise.Read(in.Payload[:size/2])
			a.commit(in)
			got, _ := w.record(id)
			if !bytes.Equal(plain(w, got), in.Payload) {
				w.Errorf("%d bytes came back as %d, stored with codec %s", size, len(got.payload), got.codec)
			}
		}
	})
	// A store may look at the heads before it compresses; whatever it guesses
	// there, each version has its own payload.
	s.test(t, "payloads are right after pages that changed nothing", func(w *world) {
		w.plan(h)
		a := w.begin(h)
		version := func(id string, v int) record.Incoming {
			return item(id, long(fmt.Sprintf("%s %d ", id, v), 100), noon.Add(time.Duration(v)*day))
		}
		for _, v := range []int{1, 1, 1} { // stored, then quiet
			a.commit(version("a", v), version("b", v), version("c", v), version("d", v))
		}
		a.commit(version("a", 1), version("b", 2), gone("c", noon.Add(3*day)), version("d", 0), version("e", 1), version("f", 1))
		for id, v := range map[string]int{"a": 1, "b": 2, "d": 1, "e": 1, "f": 1} {
			if got, ok := w.record(id); !ok || !bytes.Equal(plain(w, got), version(id, v).Payload) {
				w.Errorf("%s is not what its version %d was", id, v)
			}
		}
		w.eventsMatchBodies()
	})
	s.test(t, "a page larger than the server's packets fits", func(w *world) {
		w.plan(h)
		a := w.begin(h)
		noise := rand.NewChaCha8([32]byte{2})
		var page []record.Incoming
		for i := range 120 {
			in := item(fmt.Sprintf("large-%d", i), "", noon)
			in.Payload = make([]byte, 200_000) // 24 MB together, and noise does not compress
			_, _ = noise.Read(in.Payload)
			in.ContentHash = sha256.Sum256(in.Payload)
			page = append(page, in)
		}
		a.commit(page...)
		last := page[len(page)-1]
		if got, ok := w.record(last.ProviderID); !ok || !bytes.Equal(plain(w, got), last.Payload) {
			w.Error("the last record did not come back as sent")
		}
	})
}

func plain(w *world, r stored) []byte {
	w.Helper()
	if r.codec == "plain" {
		return r.payload
	}
	out, err := s2.Decode(nil, r.payload)
	w.must(err)
	return out
}
