package outboxtest

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/event"
	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/driver/store/sqlite"
	"github.com/patra-ingest/patra/internal/engine/outbox"
)

// testRelayed runs the real relay over a real database into the publisher, with a
// receiver that is away in between.
func testRelayed(w *world) {
	s, err := sqlite.Open(w.Context(), sqlite.Config{Path: filepath.Join(w.TempDir(), "patra.db"), Relaxed: true}, store.Options{})
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = s.Close() })
	if _, err := s.Migrate(w.Context()); err != nil {
		w.Fatal(err)
	}
	f := NewFixture(w.T, s, "crossref")
	relay := func() *outbox.Relay { // a new one each time: it forgets how long it was to wait
		return outbox.New(s, func(string, string, event.Op) (string, bool) { return "to", true },
			map[string]outbox.Destination{"to": {Form: event.Form{}, Publisher: w.openPublisher()}}, outbox.Config{Owner: "relay", Chunk: 7}, slog.New(slog.DiscardHandler))
	}
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for round := range 4 {
		for range 3 {
			f.Commit(10)
		}
		if round%2 == 1 {
			w.Down(w.T)
			if _, err := relay().Once(w.Context()); err != nil {
				w.Fatal(err)
			}
			w.Up(w.T)
		}
		for waits := true; waits; <-again.C {
			if _, err := relay().Once(w.Context()); err != nil {
				w.Fatal(err)
			}
			lanes, err := s.OutboxLanes(w.Context())
			if err != nil {
				w.Fatal(err)
			}
			waits = len(lanes) > 0
		}
	}
	Delivered(w.T, w.Received(w.T), f.Events())
}

// Delivered holds what a receiver got to the rule: every event, equal keys with
// equal bytes, and the first deliveries of a record with growing versions.
func Delivered(t *testing.T, got []Message, want []string) {
	t.Helper()
	seen, version := map[string][]byte{}, map[string]int{}
	for _, m := range got {
		if first, twice := seen[m.ID]; twice {
			if !bytes.Equal(first, m.Bytes) {
				t.Errorf("%s came twice, with other bytes:\n%s\n%s", m.ID, first, m.Bytes)
			}
			continue
		}
		seen[m.ID] = m.Bytes
		var e struct {
			ID, Source, Subject string
			PatraVersion        string `json:"patraversion"`
		}
		if err := json.Unmarshal(m.Bytes, &e); err != nil || e.ID != m.ID {
			t.Fatalf("%s: %v", m.Bytes, err)
		}
		v, err := strconv.Atoi(e.PatraVersion)
		record := e.Source + " " + e.Subject
		if err != nil || v != version[record]+1 {
			t.Errorf("version %s of %s came after version %d", e.PatraVersion, record, version[record])
		}
		version[record] = v
	}
	lost := 0
	for _, id := range want {
		if _, there := seen[id]; !there {
			lost++
		}
	}
	if lost > 0 || len(seen) != len(want) {
		t.Errorf("%d different events arrived, want %d; %d are lost", len(seen), len(want), lost)
	}
}
